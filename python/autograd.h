// Nodes of the autograd graph as Python objects.
#pragma once
#include "autograd/node.h"
#include "python/binding.h"

namespace fb::py {

struct PyNode {
  PyObject_HEAD
  Node* node;  // one reference
  PyObject* weakrefs;
  PyObject* dict;
};
extern PyTypeObject NodeType;
PyObject* wrap_node(const Ref<Node>& n);  // None for no node
PyObject* next_functions(const Node& n);  // ((node, input number), ...)
PyObject* register_node_hook(Node& n, PyObject* hook, bool before);  // a RemovableHandle
// Visits what only t holds of Python's objects, for the collector of cycles: its hooks, and those of the node that made it.
int visit_autograd(const TensorImpl& t, visitproc visit, void* arg);
// The context of a node of torch.autograd.Function; null for other nodes.
PyObject* context_of(const Node& n);

}  // namespace fb::py
