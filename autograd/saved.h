// A tensor kept for backward: its version is checked when it is taken out, and a result that is kept does not keep
// its own node alive.
#pragma once
#include "autograd/node.h"

namespace fb {

class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(const Tensor& t, bool is_output);
  SavedTensor(SavedTensor&& o) noexcept;
  SavedTensor& operator=(SavedTensor&& o) noexcept;
  ~SavedTensor();
  bool defined() const { return tensor_.defined() || handle_; }
  // `owner` is the node that holds this; `result` its number where an output was saved.
  Tensor unpack(Node& owner) const;
  void reset();
  // A saved result's tangent becomes known after it was saved.
  void set_tangent(const Tensor& tangent);

 private:
  Tensor tensor_;
  void* handle_ = nullptr;  // what a saved-tensor hook packed
  uint32_t version_ = 0, output_nr_ = 0;
  bool is_output_ = false, requires_grad_ = false;
  Ref<Node> grad_fn_;       // of a packed input
};

}  // namespace fb
