#include "dispatch/library.h"

#include <atomic>
#include <initializer_list>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "core/fork_mutex.h"
#include "dispatch/below_autograd.h"
#include "dispatch/invoke.h"
#include "dispatch/layers.h"
#include "dispatch/levels.h"
#include "dispatch/library_load.h"
#include "dispatch/thread_state.h"
#include "dispatch/trace.h"

namespace fb {
namespace {

constexpr int kKeys = int(LibraryKey::count);

// A kernel that was registered. Who runs it holds it meanwhile: another thread may replace or remove it.
struct Registered : RefCounted {
  int64_t number = 0;
  LibraryKernel kernel;
  static void destroy(Registered* r) {
    if (r->kernel.drop) r->kernel.drop(r->kernel.context);
    delete r;
  }
};
using Held = Ref<Registered>;

// Guards what follows: stacks of kernels, and the maps to them. Held for as long as it takes to look at a stack; a kernel is
// neither run nor dropped under it, since that may wait for the interpreter's lock, whose holder may wait for this one.
constinit ForkMutex g_lock;

// What was registered for one entry: its own operators, and aten's where a kernel replaces a card's.
struct Overrides {
  std::vector<Held> stack[kKeys];  // the last one counts
  Invoke card_invoke = nullptr, card_run = nullptr;

  bool has(LibraryKey k) const { return !stack[int(k)].empty(); }
  // The first of these that has a kernel; null where none has.
  Held first(std::initializer_list<LibraryKey> keys) const {
    std::shared_lock<ForkMutex> guard(g_lock);
    for (LibraryKey k : keys)
      if (has(k)) return stack[int(k)].back();
    return {};
  }
  // What a call runs before any layer: a derivative's kernel where one is asked for, or a body over other operators.
  Held above_layers(bool derivative) const {
    std::shared_lock<ForkMutex> guard(g_lock);
    if (derivative && has(LibraryKey::autograd)) return stack[int(LibraryKey::autograd)].back();
    if (!has(LibraryKey::composite_implicit) || has(LibraryKey::cpu) || has(LibraryKey::cuda) || has(LibraryKey::composite_explicit)) return {};
    return stack[int(LibraryKey::composite_implicit)].back();
  }
};

struct LibraryOp : OpEntry {
  CardRecord record{};
  std::string text;
  Overrides overrides;
};

std::atomic<uint64_t> generation{1}, replacements{1};
std::atomic<int64_t> next_number{1};

// Entries of cards that kernels replace, for good: what was replaced once may still be called that way.
std::map<const OpEntry*, Overrides*>& replaced() {
  static auto* m = new std::map<const OpEntry*, Overrides*>;
  return *m;
}
// Where each kernel stands that was not removed.
struct Place {
  const OpEntry* op;
  Overrides* overrides;
  LibraryKey key;
};
std::map<int64_t, Place>& places() {
  static auto* m = new std::map<int64_t, Place>;
  return *m;
}

bool is_library(const OpEntry& op) { return op.card->forms & form::library; }
Overrides& own_overrides(const OpEntry& op) { return const_cast<LibraryOp&>(static_cast<const LibraryOp&>(op)).overrides; }
Overrides* find_replaced(const OpEntry& op) {
  std::shared_lock<ForkMutex> guard(g_lock);
  const auto i = replaced().find(&op);
  return i == replaced().end() ? nullptr : i->second;
}

void call(const Held& k, const OpEntry& op, const Value* args, Results& out) { k->kernel.run(k->kernel.context, op, args, out); }

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
  const Overrides& o = own_overrides(op);
  const Device d = device_of_call(op, args);
  if (const Held k = o.first({key_of(d), LibraryKey::composite_explicit, LibraryKey::composite_implicit})) return call(k, op, args, out);
  std::string has;
  const char* names[] = {"CPU", "CUDA", "Meta", "Autograd", "CompositeExplicitAutograd", "CompositeImplicitAutograd"};
  for (int k = 0; k < int(LibraryKey::vmap); ++k)
    if (o.first({LibraryKey(k)})) has += text(has.empty() ? "" : ", ", names[k]);
  raise_not_implemented("operator ", op.schema.full_name(), " has no kernel for device ", d, d.is_meta() ? " (no fake implementation was registered)" : "",
                        "; it has ", has.empty() ? "none" : has);
}

void invoke_library(const OpEntry& op, const Value* args, Results& out) {
  const Flags f = argument_flags(op, args);
  if ((f & kWrapped) && run_at_level(op, args, out)) return;
  if (f & kTraced) raise_not_implemented(op.schema.full_name(), ": an operator of a library is not followed by the compiler");
  if (const Held k = own_overrides(op).above_layers(!below_autograd)) return call(k, op, args, out);
  // Without a rule of its own autograd follows what the kernel does.
  if (f & kLayered) return run_layered(op, args, out, f);
  run_library(op, args, out);
}

// ---- kernels in place of a card's ----

void run_replaced(const OpEntry& op, const Value* args, Results& out) {
  const Overrides& o = *find_replaced(op);
  const Device d = op.schema.writes && args[0].tag == Tag::tensor ? args[0].tensor().device() : common_device(op, args);
  if (const Held k = o.first({key_of(d)})) {
    BelowAutograd below;
    return call(k, op, args, out);
  }
  o.card_run(op, args, out);
}

void invoke_replaced(const OpEntry& op, const Value* args, Results& out) {
  const Overrides& o = *find_replaced(op);
  const Held k = below_autograd ? o.first({LibraryKey::composite_implicit}) : o.first({LibraryKey::composite_implicit, LibraryKey::autograd});
  if (k) return call(k, op, args, out);
  o.card_invoke(op, args, out);
}

}  // namespace

LibraryKey library_key(std::string_view name) {
  const struct { const char* name; LibraryKey key; } known[] = {
      {"CPU", LibraryKey::cpu}, {"CUDA", LibraryKey::cuda}, {"Meta", LibraryKey::meta}, {"Autograd", LibraryKey::autograd},
      {"AutogradCPU", LibraryKey::autograd}, {"AutogradCUDA", LibraryKey::autograd}, {"CompositeExplicitAutograd", LibraryKey::composite_explicit},
      {"CompositeImplicitAutograd", LibraryKey::composite_implicit}, {"FuncTorchBatched", LibraryKey::vmap}};
  for (auto& k : known)
    if (name == k.name) return k.key;
  for (const char* other : {"ADInplaceOrView", "AutocastCPU", "AutocastCUDA", "Autocast", "BackendSelect", "Functionalize", "Python", "PythonTLSSnapshot",
                            "SparseCPU", "SparseCUDA", "QuantizedCPU", "NestedTensorCPU", "XPU", "MPS", "XLA", "HPU", "PrivateUse1",
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
  const std::string full = op->schema.full_name();
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
  if (!registry_add(op)) {
    const OpEntry* there = find_op(full);
    raise_runtime("operator ", full, " is defined already, as ", there ? there->schema.print() : "another thread did just now", "; an overload can be defined once");
  }
  owner.release();
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
  FB_CHECK(is_library(op), op.schema.full_name(), " was not defined by a library");
  registry_remove(op);
  {  // calls that found it before may run it still, so it stays in memory
    static std::vector<const OpEntry*>& left = *new std::vector<const OpEntry*>;
    std::unique_lock<ForkMutex> guard(g_lock);
    left.push_back(&op);
  }
  ++generation;
}

int64_t library_impl(const OpEntry& op, LibraryKey key, LibraryKernel kernel) {
  Held r(new Registered);  // what is refused is dropped, too
  const int64_t number = r->number = next_number++;
  r->kernel = kernel;
  const bool device_key = key == LibraryKey::cpu || key == LibraryKey::cuda || key == LibraryKey::meta;
  if (!is_library(op)) {
    const bool composite = op.card->kind == CardKind::composite;
    if (key == LibraryKey::composite_implicit && !composite)
      raise_not_implemented("operator ", op.schema.full_name(), " is a primitive: a kernel for CompositeImplicitAutograd would never run");
    if (key == LibraryKey::vmap) raise_not_implemented("a rule for torch.vmap in place of that of ", op.schema.full_name());
    if (key == LibraryKey::composite_explicit) raise_not_implemented("a kernel for CompositeExplicitAutograd in place of that of ", op.schema.full_name());
    if (composite && device_key)
      raise_not_implemented("operator ", op.schema.full_name(), " is expanded into others before a device is chosen: a kernel of its own for one device");
  }
  {
    std::unique_lock<ForkMutex> guard(g_lock);
    Overrides* o = nullptr;
    if (is_library(op)) o = &own_overrides(op);
    else if (Overrides*& found = replaced()[&op]; !(o = found)) {
      o = found = new Overrides;
      o->card_invoke = op.invoke.to();
      o->card_run = op.run.to();
    }
    o->stack[int(key)].push_back(std::move(r));
    places().emplace(number, Place{&op, o, key});
    OpEntry& e = const_cast<OpEntry&>(op);
    if (!is_library(op)) (device_key ? e.run : e.invoke) = device_key ? &run_replaced : &invoke_replaced;
  }
  ++generation;
  if (!is_library(op)) ++replacements;
  return number;
}

void library_remove(int64_t number) {
  ++generation;
  Held gone;  // dropped after the lock was given back
  std::unique_lock<ForkMutex> guard(g_lock);
  const auto at = places().find(number);
  if (at == places().end()) return;
  const Place p = at->second;
  places().erase(at);
  auto& stack = p.overrides->stack[int(p.key)];
  for (size_t i = 0; i < stack.size() && !gone; ++i)
    if (stack[i]->number == number) {
      gone = std::move(stack[i]);
      stack.erase(stack.begin() + int64_t(i));
    }
  if (!is_library(*p.op)) {
    OpEntry& e = const_cast<OpEntry&>(*p.op);
    const Overrides& o = *p.overrides;
    if (!o.has(LibraryKey::cpu) && !o.has(LibraryKey::cuda) && !o.has(LibraryKey::meta)) e.run = o.card_run;
    if (!o.has(LibraryKey::autograd) && !o.has(LibraryKey::composite_implicit)) e.invoke = o.card_invoke;
    ++replacements;
  }
  guard.unlock();
}

bool library_run_batched(const OpEntry& op, const Value* args, Results& out) {
  const Held k = own_overrides(op).first({LibraryKey::vmap});
  if (k) call(k, op, args, out);
  return bool(k);
}

bool library_has_kernel(const OpEntry& op, LibraryKey key) {
  const Overrides* o = is_library(op) ? &own_overrides(op) : find_replaced(op);
  return o && o->first({key});
}

bool library_replaces(const OpEntry& op) {
  if (!op.card || is_library(op)) return false;
  const Overrides* o = find_replaced(op);
  return o && o->first({LibraryKey::cpu, LibraryKey::cuda, LibraryKey::meta, LibraryKey::autograd, LibraryKey::composite_implicit});
}
uint64_t library_replacements() { return replacements.load(std::memory_order_relaxed); }

uint64_t library_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace fb
