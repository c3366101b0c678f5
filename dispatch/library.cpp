#include "dispatch/library.h"

#include <atomic>
#include <map>
#include <mutex>

#include "dispatch/below_autograd.h"
#include "dispatch/invoke.h"
#include "dispatch/layers.h"
#include "dispatch/trace.h"
#include "dispatch/levels.h"
#include "dispatch/library_load.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

constexpr int kKeys = int(LibraryKey::count);

struct Registered {
  int64_t number;
  LibraryKernel kernel;
};

// What was registered for one entry: its own operators, and aten's where a kernel replaces a card's.
struct Overrides {
  std::vector<Registered> stack[kKeys];  // the last one counts
  Invoke card_invoke = nullptr, card_run = nullptr;
  const LibraryKernel* top(LibraryKey k) const {
    const auto& s = stack[int(k)];
    return s.empty() ? nullptr : &s.back().kernel;
  }
};

struct LibraryOp : OpEntry {
  CardRecord record{};
  std::string text;
  Overrides overrides;
};

std::mutex lock;
std::atomic<uint64_t> generation{1};
std::atomic<int64_t> next_number{1};

std::map<const OpEntry*, Overrides*>& replaced() {
  static auto* m = new std::map<const OpEntry*, Overrides*>;
  return *m;
}

Overrides* find_overrides(const OpEntry& op) {
  if (op.card->forms & form::library) return &const_cast<LibraryOp&>(static_cast<const LibraryOp&>(op)).overrides;
  std::lock_guard<std::mutex> guard(lock);
  const auto i = replaced().find(&op);
  return i == replaced().end() ? nullptr : i->second;
}

void call(const LibraryKernel& k, const OpEntry& op, const Value* args, Results& out) { k.run(k.context, op, args, out); }

LibraryKey key_of(Device d) { return d.is_cpu() ? LibraryKey::cpu : d.is_meta() ? LibraryKey::meta : LibraryKey::cuda; }

Device device_of_call(const OpEntry& op, const Value* args) {
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (args[i].tag == Tag::tensors)
      for (const Tensor& t : args[i].tensor_list())
        if (t.defined() && t.is_meta()) return t.device();
  return common_device(op, args);
}

// ---- operators of libraries ----

void run_library(const OpEntry& op, const Value* args, Results& out) {
  const Overrides& o = static_cast<const LibraryOp&>(op).overrides;
  const Device d = device_of_call(op, args);
  for (LibraryKey k : {key_of(d), LibraryKey::composite_explicit, LibraryKey::composite_implicit})
    if (const LibraryKernel* kernel = o.top(k)) return call(*kernel, op, args, out);
  std::string has;
  const char* names[] = {"CPU", "CUDA", "Meta", "Autograd", "CompositeExplicitAutograd", "CompositeImplicitAutograd"};
  for (int k = 0; k < kKeys; ++k)
    if (!o.stack[k].empty()) has += text(has.empty() ? "" : ", ", names[k]);
  raise_not_implemented("operator ", op.schema.full_name(), " has no kernel for device ", d, d.is_meta() ? " (no fake implementation was registered)" : "",
                        "; it has ", has.empty() ? "none" : has);
}

void invoke_library(const OpEntry& op, const Value* args, Results& out) {
  const Overrides& o = static_cast<const LibraryOp&>(op).overrides;
  const Flags f = argument_flags(op, args);
  if ((f & kWrapped) && run_at_level(op, args, out)) return;
  if (f & kTraced) raise_not_implemented(op.schema.full_name(), ": an operator of a library is not followed by the compiler");
  if (!below_autograd)
    if (const LibraryKernel* k = o.top(LibraryKey::autograd)) return call(*k, op, args, out);
  // Defined by other operators alone: expanded above the layers.
  const LibraryKernel* implicit = o.top(LibraryKey::composite_implicit);
  if (implicit && !o.top(LibraryKey::cpu) && !o.top(LibraryKey::cuda) && !o.top(LibraryKey::composite_explicit)) return call(*implicit, op, args, out);
  // Without a rule of its own autograd follows what the kernel does.
  if (f & kLayered) return run_layered(op, args, out, f);
  run_library(op, args, out);
}

// ---- kernels in place of a card's ----

void run_replaced(const OpEntry& op, const Value* args, Results& out) {
  const Overrides& o = *find_overrides(op);
  const Device d = op.schema.writes && args[0].tag == Tag::tensor ? args[0].tensor().device() : common_device(op, args);
  if (const LibraryKernel* k = o.top(key_of(d))) {
    BelowAutograd below;
    return call(*k, op, args, out);
  }
  o.card_run(op, args, out);
}

void invoke_replaced(const OpEntry& op, const Value* args, Results& out) {
  const Overrides& o = *find_overrides(op);
  if (const LibraryKernel* k = o.top(LibraryKey::composite_implicit)) return call(*k, op, args, out);
  if (!below_autograd)
    if (const LibraryKernel* k = o.top(LibraryKey::autograd)) return call(*k, op, args, out);
  o.card_invoke(op, args, out);
}

}  // namespace

LibraryKey library_key(std::string_view name) {
  const struct { const char* name; LibraryKey key; } known[] = {
      {"CPU", LibraryKey::cpu}, {"CUDA", LibraryKey::cuda}, {"Meta", LibraryKey::meta}, {"Autograd", LibraryKey::autograd},
      {"AutogradCPU", LibraryKey::autograd}, {"AutogradCUDA", LibraryKey::autograd}, {"CompositeExplicitAutograd", LibraryKey::composite_explicit},
      {"CompositeImplicitAutograd", LibraryKey::composite_implicit}};
  for (auto& k : known)
    if (name == k.name) return k.key;
  for (const char* other : {"ADInplaceOrView", "AutocastCPU", "AutocastCUDA", "Autocast", "BackendSelect", "Functionalize", "Python", "PythonTLSSnapshot",
                            "FuncTorchBatched", "SparseCPU", "SparseCUDA", "QuantizedCPU", "NestedTensorCPU", "XPU", "MPS", "XLA", "HPU", "PrivateUse1",
                            "MkldnnCPU", "Conjugate", "Negative", "ZeroTensor", "Batched", "VmapMode", "PreDispatch", "SparseCsrCPU", "Tracer",
                            "AutogradOther", "AutogradMeta", "AutogradXPU", "AutogradMPS", "CompositeExplicitAutogradNonFunctional",
                            "CompositeImplicitAutogradNestedTensor"})
    if (name == other) raise_not_implemented("kernels for dispatch key ", name, " cannot be registered yet");
  raise_runtime("there is no dispatch key '", name, "'");
}

const OpEntry& library_define(std::string_view schema) {
  const size_t sep = schema.find("::"), paren = schema.find('(');
  FB_CHECK(sep != std::string_view::npos && sep > 0 && (paren == std::string_view::npos || sep < paren), "schema '", schema, "' names no namespace before '::'");
  auto* op = new LibraryOp;
  std::unique_ptr<LibraryOp> owner(op);
  op->text = std::string(schema);
  op->schema = parse_schema(schema.substr(sep + 2));
  const size_t arrow = schema.rfind("->");
  FB_CHECK(arrow != std::string_view::npos && schema.find_first_not_of(" \n", arrow + 2) != std::string_view::npos, "schema '", schema, "' says nothing after '->'; "
           "'()' stands for no result");
  FB_CHECK(!op->schema.name.empty(), "schema '", schema, "' names no operator");
  const std::string ns(schema.substr(0, sep));
  if (ns != "aten") op->schema.name = ns + "::" + op->schema.name;
  else op->text = op->text.substr(6);
  FB_CHECK(!find_op(op->schema.full_name()), "operator ", op->schema.full_name(), " is defined already, as ",
           find_op(op->schema.full_name()) ? find_op(op->schema.full_name())->schema.print() : "", "; an overload can be defined once");
  op->record.schema = op->text.c_str();
  op->record.kind = CardKind::direct;
  op->record.forms = form::library | form::hidden;
  op->record.aliases = "";
  op->record.doc = "";
  op->record.lazy_bits = true;
  op->card = &op->record;
  op->invoke = &invoke_library;
  op->run = &run_library;
  op->functional = op;
  registry_add(owner.release());
  ++generation;
  try {
    library_impl_waiting(*op);
  } catch (...) {  // a kernel that waited does not fit: the operator is not there, and may be defined again
    library_undefine(*op);
    throw;
  }
  return *op;
}

void library_undefine(const OpEntry& op) {
  FB_CHECK(op.card->forms & form::library, op.schema.full_name(), " was not defined by a library");
  registry_remove(op);
  ++generation;
}

int64_t library_impl(const OpEntry& op, LibraryKey key, LibraryKernel kernel) {
  const int64_t number = next_number++;
  Overrides* o = find_overrides(op);
  if (!(op.card->forms & form::library)) {
    const bool composite = op.card->kind == CardKind::composite;
    if (key == LibraryKey::composite_implicit && !composite)
      raise_not_implemented("operator ", op.schema.full_name(), " is a primitive: a kernel for CompositeImplicitAutograd would never run");
    if (key == LibraryKey::composite_explicit) raise_not_implemented("a kernel for CompositeExplicitAutograd in place of that of ", op.schema.full_name());
    if (composite && (key == LibraryKey::cpu || key == LibraryKey::cuda || key == LibraryKey::meta))
      raise_not_implemented("operator ", op.schema.full_name(), " is expanded into others before a device is chosen: a kernel of its own for one device");
    if (!o) {
      o = new Overrides;
      OpEntry& e = const_cast<OpEntry&>(op);
      o->card_invoke = e.invoke;
      o->card_run = e.run;
      std::lock_guard<std::mutex> guard(lock);
      replaced().emplace(&op, o);
    }
    OpEntry& e = const_cast<OpEntry&>(op);
    if (key == LibraryKey::cpu || key == LibraryKey::cuda || key == LibraryKey::meta) e.run = &run_replaced;
    else e.invoke = &invoke_replaced;
  }
  o->stack[int(key)].push_back({number, kernel});
  ++generation;
  return number;
}

namespace {
bool remove_from(Overrides& o, int64_t number) {
  for (auto& s : o.stack)
    for (size_t i = 0; i < s.size(); ++i)
      if (s[i].number == number) {
        const LibraryKernel k = s[i].kernel;
        s.erase(s.begin() + int64_t(i));
        if (k.drop) k.drop(k.context);
        return true;
      }
  return false;
}
}  // namespace

void library_remove(int64_t number) {
  ++generation;
  for (const Packet* p : all_packets())
    for (OpEntry* e : p->overloads)
      if (e->card->forms & form::library)
        if (remove_from(static_cast<LibraryOp*>(e)->overrides, number)) return;
  for (auto& [op, o] : replaced()) {
    if (!remove_from(*o, number)) continue;
    OpEntry& e = const_cast<OpEntry&>(*op);
    if (!o->top(LibraryKey::cpu) && !o->top(LibraryKey::cuda) && !o->top(LibraryKey::meta)) e.run = o->card_run;
    if (!o->top(LibraryKey::autograd) && !o->top(LibraryKey::composite_implicit)) e.invoke = o->card_invoke;
    return;
  }
}

const LibraryKernel* library_kernel(const OpEntry& op, LibraryKey key) {
  const Overrides* o = find_overrides(op);
  return o ? o->top(key) : nullptr;
}

uint64_t library_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace fb
