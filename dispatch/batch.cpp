#include "dispatch/batch.h"

#include <map>
#include <mutex>
#include <set>

#include "core/fork_mutex.h"
#include "core/no_fork.h"
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/library.h"
#include "dispatch/pointwise.h"
#include "dispatch/shape_of_values.h"
#include "dispatch/thread_state.h"

extern "C" {
extern const fb::BatchRecord __start_fb_batch[] __attribute__((weak));
extern const fb::BatchRecord __stop_fb_batch[] __attribute__((weak));
}

namespace fb {

Tensor to_front(const Tensor& t, int64_t from) {
  if (from <= 0) return t;
  Dims order{from};
  for (int64_t d = 0; d < t.ndim(); ++d)
    if (d != from) order.push_back(d);
  return op<"permute">(t, order.span());
}

Tensor padded(const Tensor& t, int64_t ndim) {
  if (t.ndim() >= ndim) return t;
  Dims sizes(t.sizes());
  for (int64_t k = t.ndim(); k < ndim; ++k) sizes.insert(1, 1);
  return op<"view">(t, sizes.span());
}

bool any_holds(const Tensor& condition) {
  Tensor x = condition;
  while (const Wrapped* w = wrapped_in(x)) x = w->inner;
  return !x.is_meta() && !x->python && x.numel() > 0 && holds(op<"any">(condition));
}

BatchCall::BatchCall(const OpEntry& o, const Value* a, Results& r, const Ref<Level>& l) : op(o), args(a), out(r), level(l), n(l->batch) {
  const size_t count = o.schema.args.size();
  inner_.resize(count);
  bdim_.assign(count, -1);
  lists_.resize(count);
  auto take = [&](const Tensor& t, int64_t& bdim) {
    const Wrapped* w = wrapped_in(t);
    if (!w || w->level.get() != l.get()) return t;
    const Tensor x = unwrap(t, &bdim);
    any_ |= bdim >= 0;
    return x;
  };
  for (size_t i = 0; i < count; ++i) {
    if (a[i].tag == Tag::tensor) inner_[i] = take(a[i].tensor(), bdim_[i]);
    else if (a[i].tag == Tag::tensors)
      for (const Tensor& t : a[i].tensor_list()) {
        One one;
        if (t.defined()) one.t = take(t, one.bdim);
        if (one.bdim >= 0) list_batched_ |= uint64_t(1) << i;
        lists_[i].push_back(std::move(one));
      }
  }
}

Tensor BatchCall::inner(int i, int64_t* bdim) const {
  if (bdim) *bdim = bdim_[size_t(i)];
  return inner_[size_t(i)];
}
Tensor BatchCall::front(int i) const { return bdim_[size_t(i)] < 0 ? inner_[size_t(i)] : to_front(inner_[size_t(i)], bdim_[size_t(i)]); }
static Tensor with_batch(const Tensor& t, int64_t n) {
  Dims sizes(t.sizes());
  sizes.insert(0, n);
  return op<"expand">(t, sizes.span());
}
Tensor BatchCall::expanded(int i) const { return !given(i) || bdim_[size_t(i)] >= 0 ? front(i) : with_batch(inner_[size_t(i)], n); }
Tensor BatchCall::aligned(int i, int64_t rank) const { return bdim_[size_t(i)] < 0 ? inner_[size_t(i)] : padded(front(i), rank + 1); }
Tensor BatchCall::list_front(int i, int64_t k) const {
  const One& o = lists_[size_t(i)][size_t(k)];
  return o.bdim < 0 ? o.t : to_front(o.t, o.bdim);
}
Tensor BatchCall::list_expanded(int i, int64_t k) const {
  const One& o = lists_[size_t(i)][size_t(k)];
  return o.bdim < 0 && o.t.defined() ? with_batch(o.t, n) : list_front(i, k);
}
Tensor BatchCall::folded(int i) const {
  const Tensor t = expanded(i);
  if (!t.defined()) return t;
  Dims sizes(t.sizes());
  sizes.erase(0);
  sizes[0] *= n;
  return fb::op<"reshape">(t, sizes.span());
}
Tensor BatchCall::unfolded(const Tensor& t) const {
  Dims sizes(t.sizes());
  sizes[0] /= n;
  sizes.insert(0, n);
  return fb::op<"view">(t, sizes.span());
}
void BatchCall::give(const Tensor& t, int64_t bdim) { out.push(!t.defined() || bdim < 0 ? t : wrap_at(level, t, bdim)); }
void BatchCall::give_list(const std::vector<Tensor>& l, int64_t bdim) {
  std::vector<Tensor> w;
  for (const Tensor& t : l) w.push_back(!t.defined() || bdim < 0 ? t : wrap_at(level, t, bdim));
  out.set_list(std::move(w));
}
BatchCall::Args BatchCall::copy() const {
  Args v;
  for (int i = 0; i < count(); ++i) v.push_back(given(i) ? Value(inner_[size_t(i)]) : args[i]);
  return v;
}

namespace {

using Table = std::map<std::string, BatchRun, std::less<>>;
const Table& table() {
  static constinit FirstUse<Table> t;
  return t.get([] {
    Table m;
    for (const BatchRecord* r = __start_fb_batch; r < __stop_fb_batch; ++r)
      if (r->name) m.emplace(r->name, r->run);
    return m;
  });
}

BatchRun rule_of(const OpEntry& f) {
  const Table& t = table();
  auto i = t.find(f.schema.full_name());
  if (i == t.end()) i = t.find(f.schema.name);
  if (i == t.end()) {  // other names of a card have its rule
    const std::string_view s(f.card->schema), full = s.substr(0, s.find('('));
    i = t.find(full);
    if (i == t.end()) i = t.find(full.substr(0, full.find('.')));
  }
  return i == t.end() ? nullptr : i->second;
}

// Arguments that name dimensions.
bool names_dims(const std::string& a) {
  return a == "dim" || a == "dims" || a == "dim0" || a == "dim1" || a == "dimension";
}
bool has_dims(const Schema& s) {
  for (const ArgSpec& a : s.args)
    if (names_dims(a.name)) return true;
  return false;
}

// Writes for no one example alone: what is written must have the batch if anything has.
void claim_batch(BatchCall& c) {
  for (int i = 0; i < c.count(); ++i) {
    if (!c.schema().args[size_t(i)].written || !c.given(i)) continue;
    const Tensor& t = c.args[i].tensor();
    const Wrapped* w = wrapped_in(t);
    if (w && w->level.get() == c.level.get()) continue;
    if (!is_fresh(t))
      raise_runtime("vmap: ", c.schema().name, " writes values that differ between examples to a tensor of shape ", t.sizes(),
                    " that is the same for all of them; make it from a mapped argument (new_zeros, zeros_like), or do not write in place");
    make_wrapper(t, c.level, true);
  }
}

[[noreturn]] void raise_dynamic(const OpEntry& op) {
  raise_runtime("vmap: the shape of the result of ", op.schema.name, " depends on the values of its argument, and so may differ between "
                "examples; that cannot be batched. Use torch.where or a mask instead");
}

// The results of one form written over what another form returns them in.
void write_over(BatchCall& c, const OpEntry& functional, const Value* args) {
  Results r;
  functional.invoke(functional, args, r);
  const int first = c.op.form == OpForm::inplace ? 0 : c.count() - int(c.op.schema.returns.size());
  for (int i = 0; i < r.size(); ++i) {
    const Tensor to = args[first + i].tensor();
    if (c.op.form == OpForm::inplace) check_inplace_result(c.op, to, r[i].sizes(), r[i].dtype());
    else {
      FB_CHECK(can_cast(r[i].dtype(), to.dtype()), c.schema().name, ": a result of type ", r[i].dtype(), " cannot be written to out of type ", to.dtype());
      FB_CHECK(to.sizes() == r[i].sizes(), c.schema().name, ": within vmap, out of shape ", to.sizes(), " cannot be resized to the result's shape ", r[i].sizes());
    }
    op_list<"copy_">(to, r[i]);
    c.out.push(to);
  }
}

// A lowering that copies its first argument and writes to the copy needs one that has the batch, if anything has. What NAME_
// writes to that argument, NAME writes to a copy of it; X_scatter does so where X, a view, looks.
bool writes_to_a_copy(const OpEntry& op) {
  if (is_random(op)) return false;   // whether examples draw the same numbers is not for its arguments to say
  const std::string& name = op.schema.name;
  const OpEntry* write = find_op(name + "_" + op.schema.full_name().substr(name.size()));
  if (write && !write->schema.args.empty() && write->schema.args[0].written) return true;
  constexpr std::string_view tail = "_scatter";
  if (!std::string_view(name).ends_with(tail)) return false;
  const Packet* view = find_packet(std::string_view(name).substr(0, name.size() - tail.size()));
  return view && !view->overloads.empty() && view->overloads[0]->card->kind == CardKind::view;
}
// x, with every batch that `like` has.
Tensor with_batches_of(const Tensor& like, const Tensor& x) {
  return op<"where.self">(op<"new_ones">(like, Ints{}, DType::boolean), x, x);
}
void run_lowering(const OpEntry& op, const Value* args, Results& out, const Ref<Level>& level) {
  const Wrapped* first = args[0].tag == Tag::tensor ? wrapped_in(args[0].tensor()) : nullptr;
  if (op.schema.writes || args[0].tag != Tag::tensor || (first && first->level.get() == level.get()) || !writes_to_a_copy(op))
    return op.card->body(op, args, out);
  BatchCall c(op, args, out, level);
  Tensor all;
  if (tls.layers & kPython) {
    // A mode holds on to the copy, so that levels further out could not give it their batch later: it begins with all of them.
    all = args[0].tensor();
    for (int i = 1; i < c.count(); ++i)
      if (args[i].tag == Tag::tensor && wrapped_in(args[i].tensor())) all = with_batches_of(args[i].tensor(), all);
  } else {
    Outside outside(*level);
    all = wrap_at(level, c.expanded(0), 0);
  }
  BatchCall::Args v;
  for (int i = 0; i < c.count(); ++i) v.push_back(args[i]);
  v[0] = Value(all);
  op.card->body(op, v.data(), out);
}

// Whether t, or what it wraps at levels further out, is differentiated.
bool is_differentiated(const Tensor& t) {
  for (Tensor x = t; x.defined();) {
    if (x->flags & (kDual | (tls.grad_enabled ? kRequiresGrad : 0))) return true;
    const Wrapped* w = wrapped_in(x);
    if (!w) return false;
    x = w->inner;
  }
  return false;
}
bool history_is_lost(const OpEntry& op, const Value* args, const Results& out) {
  for (int i = 0; i < out.size(); ++i)
    if (!out[i].defined() || is_differentiated(out[i])) return false;
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    if (args[i].tag == Tag::tensor && is_differentiated(args[i].tensor())) return true;
    if (args[i].tag == Tag::tensors)
      for (const Tensor& t : args[i].tensor_list())
        if (t.defined() && is_differentiated(t)) return true;
  }
  return false;
}

}  // namespace

bool is_random(const OpEntry& op) {
  for (const ArgSpec& a : op.schema.args)
    if (a.type == ArgType::generator) return true;
  return false;
}

void run_batched(const OpEntry& op, const Value* args, Results& out, const Ref<Level>& level) {
  const OpEntry& f = *op.functional;
  const CardKind kind = op.card->kind;
  if ((op.card->forms & form::library) && library_run_batched(op, args, out)) return;
  {
    // Forms whose bodies are programs over other calls: these are made at this level.
    if (op.form == OpForm::out) {
      BatchCall c(op, args, out, level);
      return write_over(c, f, args);
    }
    if (op.form == OpForm::inplace && kind != CardKind::pointwise && kind != CardKind::view) {
      BatchCall c(op, args, out, level);
      claim_batch(c);
      return write_over(c, f, args);
    }
  }
  if (kind == CardKind::lowered && !rule_of(f)) {
    run_lowering(op, args, out, level);
    if (!op.card->vjp || op.schema.writes || !history_is_lost(op, args, out)) return;
    // A part of the lowering has no derivative: that of the card is taken, for each example.
    out.clear();
    BatchCall each(op, args, out, level);
    Outside outside(*level);
    return batch_loop(each);
  }
  BatchCall call(op, args, out, level);
  BatchCall* c = &call;
  std::optional<BatchCall> again;
  const bool random = is_random(op);
  if (op.schema.writes && call.any_batched()) {
    claim_batch(call);
    c = &again.emplace(op, args, out, level);
  }
  Outside outside(*level);
  if (random && batch_random(*c)) return;
  if (const BatchRun rule = rule_of(f); rule && rule(*c)) return;
  if (shape_depends_on_values(f)) raise_dynamic(op);
  if (kind == CardKind::pointwise && batch_pointwise(*c)) return;
  if (kind == CardKind::view && batch_view(*c)) return;
  // What an operator from outside means by its arguments' names is not known.
  if (!(op.card->forms & form::library) && has_dims(op.schema) && batch_dims(*c)) return;
  static constinit ForkMutex lock;
  static constinit std::set<std::string>* warned = nullptr;
  bool first;
  {
    const std::lock_guard<ForkMutex> hold(lock);
    if (!warned) warned = new std::set<std::string>;
    first = warned->insert(op.schema.full_name()).second;
  }
  if (first)
    warn(text("vmap: operator ", op.schema.full_name(), " has no rule for a whole batch yet and runs once for each example, which is slow"));
  batch_loop(*c);
}

bool batch_pointwise(BatchCall& c) {
  const PointwiseCard* card = c.op.card->pointwise;
  const uint64_t operands = card ? card->operands : c.schema().tensor_mask;
  int64_t rank = 0;
  for (int i = 0; i < c.count(); ++i)
    if ((operands >> i & 1) && c.given(i) && c.rank(i) > rank) rank = c.rank(i);
  BatchCall::Args v = c.copy();
  std::vector<Tensor> keep(size_t(c.count()));
  Value logical[kMaxOperands], physical[kMaxOperands];
  int at[kMaxOperands], k = 0;
  for (int i = 0; i < c.count(); ++i) {
    if (!(operands >> i & 1)) continue;
    if (c.given(i)) {
      keep[size_t(i)] = c.aligned(i, rank);
      v[i] = Value(keep[size_t(i)]);
    }
    if (k >= kMaxOperands) continue;
    logical[k] = c.args[i];
    physical[k] = v[i];
    at[k++] = i;
  }
  if (card) {
    // A batch of tensors without dimensions has one, which must not raise its rank in promotion.
    const DType want = result_type(logical, k, card->bool_operands), is = result_type(physical, k, card->bool_operands);
    if (want != is && want != DType::none)
      for (int j = c.op.form == OpForm::inplace ? 1 : 0; j < k; ++j) {
        const int i = at[j];
        if (!c.given(i) || (card->bool_operands >> j & 1) || keep[size_t(i)].dtype() == want) continue;
        keep[size_t(i)] = op<"to.dtype">(keep[size_t(i)], want);
        v[i] = Value(keep[size_t(i)]);
      }
  }
  Results r;
  c.op.invoke(c.op, v.data(), r);
  if (c.op.schema.writes) c.give_self();
  else
    for (int i = 0; i < r.size(); ++i) c.give(r[i]);
  return true;
}

bool batch_leading(BatchCall& c) {
  int64_t rank = 0;
  for (int i = 0; i < c.count(); ++i)
    if (c.given(i)) rank = std::max(rank, c.rank(i));
  BatchCall::Args v = c.copy();
  std::vector<Tensor> keep(size_t(c.count()));
  for (int i = 0; i < c.count(); ++i) {
    if (!c.given(i)) continue;
    if (c.rank(i) < rank && c.rank(i) > 0) return false;
    keep[size_t(i)] = c.expanded(i);
    v[i] = Value(keep[size_t(i)]);
  }
  Results r;
  c.op.invoke(c.op, v.data(), r);
  if (r.is_list) {
    std::vector<Tensor> l;
    for (int i = 0; i < r.size(); ++i) l.push_back(r[i]);
    c.give_list(l);
  } else
    for (int i = 0; i < r.size(); ++i) c.give(r[i]);
  return true;
}

bool batch_fold(BatchCall& c) {
  BatchCall::Args v = c.copy();
  std::vector<Tensor> keep(size_t(c.count()));
  for (int i = 0; i < c.count(); ++i) {
    if (!c.given(i)) continue;
    if (c.rank(i) == 0) return false;
    keep[size_t(i)] = c.folded(i);
    v[i] = Value(keep[size_t(i)]);
  }
  Results r;
  c.op.invoke(c.op, v.data(), r);
  for (int i = 0; i < r.size(); ++i) c.give(r[i].defined() ? c.unfolded(r[i]) : r[i]);
  return true;
}

void batch_loop(BatchCall& c) {
  // An empty batch has the shapes of one example of zeros.
  const int64_t n = c.n ? c.n : 1;
  std::vector<std::vector<Tensor>> results;
  bool is_list = false;
  const size_t count = size_t(c.count());
  for (int64_t b = 0; b < n; ++b) {
    BatchCall::Args v = c.copy();
    std::vector<Tensor> keep(count);
    std::vector<std::vector<Tensor>> lists(count);
    auto example = [&](const Tensor& t, int64_t bdim) {
      if (bdim < 0) return t;
      if (c.n) return op<"select.int">(t, bdim, b);
      Dims sizes(t.sizes());
      sizes.erase(bdim);
      return op<"new_zeros">(t, sizes.span());
    };
    for (size_t i = 0; i < count; ++i) {
      if (c.given(int(i))) {
        int64_t bdim;
        const Tensor t = c.inner(int(i), &bdim);
        keep[i] = example(t, bdim);
        v[int64_t(i)] = Value(keep[i]);
      } else if (c.args[i].tag == Tag::tensors) {
        for (int64_t k = 0; k < c.list_size(int(i)); ++k) lists[i].push_back(example(c.list_front(int(i), k), c.list_batched(int(i), k) ? 0 : -1));
        v[int64_t(i)] = Value(lists[i]);
      }
    }
    Results r;
    c.op.invoke(c.op, v.data(), r);
    if (r.size() == 0 && !c.schema().writes)
      raise_runtime("vmap: ", c.schema().name, " gives a plain value, which would differ between examples; that cannot be batched");
    is_list = r.is_list;
    std::vector<Tensor> mine;
    for (int k = 0; k < r.size(); ++k) mine.push_back(r[k]);
    results.push_back(std::move(mine));
  }
  if (c.schema().writes) {
    for (int i = 0; i < c.count(); ++i)
      if (c.schema().args[size_t(i)].written && c.given(i)) c.out.push(c.args[i].tensor());
    return;
  }
  std::vector<Tensor> all;
  for (size_t k = 0; k < results[0].size(); ++k) {
    if (!results[0][k].defined()) {
      all.emplace_back();
      continue;
    }
    if (c.n == 0) {
      Dims sizes(results[0][k].sizes());
      sizes.insert(0, 0);
      all.push_back(op<"new_zeros">(results[0][k], sizes.span()));
      continue;
    }
    std::vector<Tensor> column;
    for (auto& row : results) {
      FB_CHECK(k < row.size() && row[k].sizes() == results[0][k].sizes(), "vmap: results of ", c.schema().name, " have other shapes for other examples");
      column.push_back(row[k]);
    }
    all.push_back(op<"stack">(column, int64_t(0)));
  }
  if (is_list) c.give_list(all);
  else
    for (const Tensor& t : all) c.give(t);
}

bool batch_dims(BatchCall& c) {
  int tensors = 0;
  for (int i = 0; i < c.count(); ++i) tensors += c.given(i);
  return tensors == 1 && batch_dims_all(c);
}

// Reduced ones are all where none is named.
bool batch_dims_all(BatchCall& c) {
  int first = -1;
  for (int i = 0; i < c.count(); ++i) {
    if (c.args[i].tag == Tag::tensors) return false;
    if (!c.given(i)) continue;
    if (first < 0) first = i;
    else if (c.rank(i) != c.rank(first)) return false;
  }
  if (first < 0) return false;
  const int64_t rank = c.rank(first), inside = rank ? rank : 1;
  BatchCall::Args v = c.copy();
  std::vector<Tensor> keep(size_t(c.count()));
  std::vector<Dims> dims(size_t(c.count()));
  bool flat = false, keepdim = false;
  for (int i = 0; i < c.count(); ++i) {
    const ArgSpec& a = c.schema().args[size_t(i)];
    if (a.name == "keepdim" && c.args[i].tag == Tag::boolean) keepdim = c.args[i].boolean();
    if (!names_dims(a.name)) continue;
    if (c.args[i].tag == Tag::integer) v[i] = Value(1 + wrap_dim(c.args[i].integer(), rank));
    else if (a.type == ArgType::integer) {  // none: over all elements
      flat = true;
      v[i] = Value(int64_t(1));
    } else if (a.type == ArgType::ints) {
      Dims& d = dims[size_t(i)];
      if (c.args[i].tag == Tag::ints)
        for (int64_t x : c.args[i].int_list()) d.push_back(1 + wrap_dim(x, rank));
      if (d.empty() && a.name == "dim")
        for (int64_t x = 0; x < inside; ++x) d.push_back(1 + x);
      v[i] = Value(d);
    } else return false;
  }
  Dims whole{c.n, -1};
  if (flat && c.n == 0) return false;
  for (int i = 0; i < c.count(); ++i) {
    if (!c.given(i)) continue;
    keep[size_t(i)] = i == first && !c.schema().writes ? c.expanded(i) : c.schema().args[size_t(i)].written ? c.front(i) : c.expanded(i);
    if (rank == 0) keep[size_t(i)] = op<"unsqueeze">(keep[size_t(i)], int64_t(1));
    else if (flat) keep[size_t(i)] = op<"reshape">(keep[size_t(i)], whole.span());
    v[i] = Value(keep[size_t(i)]);
  }
  Results r;
  c.op.invoke(c.op, v.data(), r);
  if (c.schema().writes) {
    c.give_self();
    return true;
  }
  std::vector<Tensor> list;
  for (int i = 0; i < r.size(); ++i) {
    Tensor t = r[i];
    if (rank == 0 && t.ndim() == 2 && t.sizes()[1] == 1) t = op<"squeeze.dim">(t, int64_t(1));
    else if (flat && keepdim) t = padded(op<"reshape">(t, Ints{c.n}), rank + 1);
    if (r.is_list) list.push_back(t);
    else c.give(t);
  }
  if (r.is_list) c.give_list(list);
  return true;
}

}  // namespace fb
