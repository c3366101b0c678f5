// Views at a level of vmap. The card's own rule of geometry, run on the logical tensor, says what each example's view is;
// the batch keeps its stride in front. Where the inner tensor has a history of its own, the same view is made there by
// the operator, with dimensions moved on by one.
#include "dispatch/batch.h"
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

constexpr Flags kHasHistory = kRequiresGrad | kTrackedView | kDual | kWrapped | kPython;

// The operator on the whole batch, which stands in front; false where it has no such form.
bool view_by_operator(BatchCall& c, const Tensor& x, Results& r) {
  const std::string& name = c.op.functional->schema.name;
  const int64_t rank = c.rank(0);
  BatchCall::Args v = c.copy();
  Dims list;
  auto dim = [&](int i) { v[i] = Value(1 + wrap_dim(c.arg<int64_t>(i), rank, false)); };
  Tensor keep = x;
  if (name == "view" || name == "expand") {
    if (c.args[1].tag != Tag::ints) {
      if (x.ndim() == 0 || x.strides()[x.ndim() - 1] != 1) return false;
    } else {
      list = Dims(c.args[1].int_list());
      if (name == "expand") {
        keep = padded(x, list.size() + 1);
        for (int64_t d = 0; d < list.size(); ++d)
          if (list[d] == -1 && d < list.size() - rank) return false;
      } else if (c.n == 0) {  // -1 would not tell
        Results logical;
        c.op.card->view(*c.op.functional, c.args, logical);
        list = Dims(logical[0].sizes());
      }
      list.insert(0, c.n);
      v[1] = Value(list);
    }
  } else if (name == "as_strided") {
    return false;
  } else if (name == "t") {
    if (rank == 2) {
      r.push(fb::op<"transpose.int">(x, int64_t(1), int64_t(2)));
    } else r.push(fb::op<"alias">(x));
    return true;
  } else if (name == "permute" || (name == "squeeze" && c.op.functional->schema.overload == "dims")) {
    if (name == "permute") list.push_back(0);
    for (int64_t d : c.args[1].int_list()) list.push_back(1 + wrap_dim(d, rank));
    if (rank == 0) return false;
    v[1] = Value(list);
  } else if (name == "squeeze" && c.op.functional->schema.overload.empty()) {
    for (int64_t d = 0; d < rank; ++d)
      if (x.sizes()[d + 1] == 1) list.push_back(d + 1);
    r.push(list.empty() ? fb::op<"alias">(x) : fb::op<"squeeze.dims">(x, list.span()));
    return true;
  } else if (name == "unsqueeze") {
    v[1] = Value(1 + wrap_dim(c.arg<int64_t>(1), rank + 1, false));
  } else if (name == "diagonal") {
    if (rank < 2) return false;
    dim(2), dim(3);
  } else if (name == "select" || name == "unfold" || name == "squeeze" || name == "slice" || name == "unbind" || name == "split" ||
             name == "split_with_sizes" || name == "transpose") {
    if (rank == 0) return false;
    const int at = name == "split" || name == "split_with_sizes" ? 2 : 1;
    dim(at);
    if (name == "transpose") dim(2);
  } else if (name != "alias" && name != "_conj" && name != "_neg_view" && name != "view_as_real" && name != "view_as_complex") {
    return false;
  }
  v[0] = Value(keep);
  c.op.functional->invoke(*c.op.functional, v.data(), r);
  return true;
}

}  // namespace

bool batch_view(BatchCall& c) {
  const Tensor x = c.front(0);
  Results logical, r;
  c.op.card->view(*c.op.functional, c.args, logical);  // raises what the call on one example would
  bool done = false;
  if ((x->flags | tls.layers) & kHasHistory) done = view_by_operator(c, x, r);
  if (!done) {
    const int64_t step = x.strides()[0];
    auto place = [&](const Tensor& g) {
      Dims sizes(g.sizes()), strides(g.strides());
      sizes.insert(0, c.n);
      strides.insert(0, step * x.item_bytes() / g.item_bytes());
      if (g.dtype() == x.dtype() && g.is_conj() == x.is_conj() && g.is_neg() == x.is_neg() && ((x->flags | tls.layers) & kHasHistory))
        return op<"as_strided">(x, sizes.span(), strides.span(), g.offset());
      FB_CHECK(!((x->flags | tls.layers) & kHasHistory), "vmap: the view ", c.schema().name, " of a tensor with a history has no rule for a whole batch yet");
      FB_CHECK(c.n < 2 || (step * x.item_bytes()) % g.item_bytes() == 0, "vmap: ", c.schema().name, ": examples that lie ", step,
               " elements of ", x.dtype(), " apart cannot be seen as ", g.dtype());
      Tensor t = x.alias(sizes, strides, g.offset());
      t->dtype = g.dtype();
      t->conj = g->conj;
      t->neg = g->neg;
      return t;
    };
    if (logical.is_list) {
      std::vector<Tensor> l;
      for (int i = 0; i < logical.size(); ++i) l.push_back(place(logical[i]));
      r.set_list(std::move(l));
    } else r.push(place(logical[0]));
  }
  const Tensor self = c.args[0].tensor();
  if (c.op.form == OpForm::inplace) {  // only the geometry changes
    const Tensor w = wrap_at(c.level, r[0], 0);
    if (!self->own_version) self->own_version = self->storage;
    self->storage = w->storage;
    self->sizes = w->sizes;
    self->strides = w->strides;
    self->offset = w->offset;
    self->refresh();
    c.give_self();
    return true;
  }
  const Ref<Storage> version = self->own_version ? self->own_version : self->storage;
  std::vector<Tensor> l;
  for (int i = 0; i < r.size(); ++i) {
    l.push_back(wrap_at(c.level, r[i], 0));
    l.back()->own_version = version;
  }
  if (r.is_list) c.out.set_list(std::move(l));
  else c.out.push(l[0]);
  return true;
}

namespace {

// The part of each example is that of the whole batch along dimensions moved on by one.
bool view_scatter(BatchCall& c) {
  const int64_t rank = c.rank(0);
  if (rank == 0 || !c.given(1)) return false;
  const std::string& name = c.op.functional->schema.name;
  BatchCall::Args v = c.copy();
  const Tensor self = c.expanded(0), part = c.expanded(1);
  v[0] = Value(self), v[1] = Value(part);
  if (name == "diagonal_scatter") v[3] = Value(1 + wrap_dim(c.arg<int64_t>(3), rank)), v[4] = Value(1 + wrap_dim(c.arg<int64_t>(4), rank));
  else v[2] = Value(1 + wrap_dim(c.arg<int64_t>(2), rank));
  Results r;
  c.op.invoke(c.op, v.data(), r);
  c.give(r[0]);
  return true;
}
FB_BATCH("select_scatter", view_scatter)
FB_BATCH("slice_scatter", view_scatter)
FB_BATCH("diagonal_scatter", view_scatter)

}  // namespace

}  // namespace fb
