// Reductions into named elements: scatter_reduce, index_reduce.
#pragma once
#include "dispatch/out_rule.h"
#include "ops/index/along.h"
#include "ops/index/gather.h"

namespace fb::cards {

inline void check_reduce_kind(const char* name, std::string_view reduce, bool sum) {
  FB_CHECK((sum && reduce == "sum") || reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin", name, ": reduce is '", reduce,
           "', it must be ", sum ? "'sum', " : "", "'prod', 'mean', 'amax' or 'amin'");
}

// out[j] = reduce of self[j] (where include_self) and of src[i] for all i whose index is j.
struct ScatterReduced {
  const Tensor g, self, index, src, result;
  int64_t dim;
  std::string_view kind;
  bool include_self;

  Tensor gathered(const Tensor& t) const { return op<"gather">(t, dim, index); }
  Tensor into(const Tensor& self_like, const Tensor& values) const { return op<"scatter_add">(self_like, dim, index, values); }
  Tensor zeros() const { return op<"new_zeros">(g, self.sizes()); }
  Tensor source() const {  // the part of src that index covers, with its history
    Tensor s = src;
    for (int64_t d = 0; d < s.ndim() && s.ndim() == index.ndim(); ++d)
      if (s.sizes()[d] != index.sizes()[d]) s = op<"slice">(s, d, int64_t(0), index.sizes()[d], int64_t(1));
    return s;
  }
  // Elements of self that are replaced rather than reduced have no part.
  Tensor but_replaced(const Tensor& t) const { return include_self ? t : op<"scatter">(t, dim, index, Scalar(0)); }
  // How many values each element is the mean of.
  Tensor counts() const {
    const Tensor ones = op<"ones_like">(source());
    const Tensor n = into(include_self ? op<"new_ones">(g, self.sizes()) : zeros(), ones);
    return op<"masked_fill">(n, op<"eq">(n, Scalar(0)), Scalar(1));
  }
  Tensor reduced(const Tensor& a, const Tensor& b) const { return op<"scatter_reduce">(a, dim, index, b, kind, include_self); }
  // Ties share the gradient.
  Tensor share_of_extreme(Tensor& self_wins, Tensor& src_wins) const {
    self_wins = but_replaced(op<"to.dtype">(op<"eq">(self, result), g.dtype()));
    src_wins = op<"to.dtype">(op<"eq">(source(), gathered(result)), g.dtype());
    return op<"div">(g, into(self_wins, src_wins));
  }
  Tensor for_self() const {
    if (kind == "sum") return but_replaced(g);
    if (kind == "mean") return but_replaced(op<"div">(g, counts()));
    if (kind == "prod") {  // of the others: self set to 1 where it is 0, divided out elsewhere
      const Tensor one = op<"masked_fill">(self, op<"eq">(self, Scalar(0)), Scalar(1));
      return but_replaced(op<"div">(op<"mul">(g, reduced(one, source())), one));
    }
    Tensor self_wins, src_wins;
    const Tensor share = share_of_extreme(self_wins, src_wins);
    // An element that nothing of self or src equals (0/0) passes nothing.
    return but_replaced(op<"where">(op<"eq">(self_wins, Scalar(0)), zeros(), op<"mul">(self_wins, share)));
  }
  Tensor for_src() const {
    Tensor r;
    if (kind == "sum") r = gathered(g);
    else if (kind == "mean") r = gathered(op<"div">(g, counts()));
    else if (kind == "prod") {
      const Tensor s = source(), zero = op<"eq">(s, Scalar(0));
      const Tensor zeros_there = gathered(into(zeros(), op<"to.dtype">(zero, g.dtype())));
      const Tensor single = op<"logical_and">(zero, op<"eq">(zeros_there, Scalar(1)));
      const Tensor of_others = gathered(op<"mul">(g, reduced(self, op<"masked_fill">(s, single, Scalar(1)))));
      const Tensor divided = op<"div">(gathered(op<"mul">(g, result)), op<"masked_fill">(s, zero, Scalar(1)));
      r = op<"where">(single, of_others, divided);
    } else {
      Tensor self_wins, src_wins;
      const Tensor share = share_of_extreme(self_wins, src_wins);
      r = op<"mul">(src_wins, gathered(share));
    }
    if (r.sizes() == src.sizes()) return r;
    Tensor out = op<"new_zeros">(g, src.sizes()), part = out;
    for (int64_t d = 0; d < r.ndim(); ++d) part = op<"slice">(part, d, int64_t(0), r.sizes()[d], int64_t(1));
    op_list<"copy_">(part, r);
    return out;
  }
};

struct scatter_reduce_ : direct<scatter_reduce_> {
  static constexpr auto schema =
      "scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "ScatterReduceBackward0";
  static void check(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool) {
    check_reduce_kind("scatter_reduce", reduce, true);
    check_scatter("scatter_reduce", self, dim, index, &src);
  }
  static Tensor d_self(grad<0> g, in<0> self, arg<1, int64_t> dim, in<2> index, in<3> src, arg<4, std::string_view> reduce, arg<5, bool> include_self,
                       result<> out) {
    return ScatterReduced{*g, *self, *index, *src, *out, *dim, *reduce, *include_self}.for_self();
  }
  static Tensor d_src(grad<0> g, in<0> self, arg<1, int64_t> dim, in<2> index, in<3> src, arg<4, std::string_view> reduce, arg<5, bool> include_self,
                      result<> out) {
    return ScatterReduced{*g, *self, *index, *src, *out, *dim, *reduce, *include_self}.for_src();
  }
  using vjp = rules<wrt<0, d_self>, wrt<3, d_src>>;
};
FB_CARD(scatter_reduce_)
struct scatter_reduce : lowered<scatter_reduce> {
  static constexpr auto schema = "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor";
  static constexpr uint32_t forms = lowered<scatter_reduce>::forms | form::out_apart;
  static constexpr auto grad_name = "ScatterReduceBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self) {
    return op<"scatter_reduce_">(op<"clone">(self, MemoryFormat::contiguous), dim, index, src, reduce, include_self);
  }
  using vjp = scatter_reduce_::vjp;
  static constexpr auto doc = R"(scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None) -> Tensor

input with each element of src reduced into the element at its own place but along dim, where index (int64) says: 'sum',
'prod', 'mean' (of integers rounded down), 'amax', 'amin' of all that meet there and, with include_self, of what input holds.
Ties of amax and amin share the gradient. RuntimeError for indices outside [0, size), and unless index is no larger than src,
and than input but along dim.)";
};
FB_CARD(scatter_reduce)

// index as one that scatter takes: the same for all of source but along dim.
inline Tensor index_across(const Tensor& index, const Tensor& source, int64_t dim) {
  if (source.ndim() == 0) return op<"reshape">(index, Ints());
  Dims sizes(source.ndim(), 1);
  sizes[wrap_dim(dim, source.ndim())] = index.numel();
  return op<"expand">(op<"reshape">(op<"to.dtype">(index, DType::i64), sizes), source.sizes());
}
// Raises IndexError where an entry of index is outside [0, size).
inline void check_within(const char* name, const Tensor& index, int64_t size, int64_t dim) {
  if (index.is_meta() || (index->flags & kLayered) || index.numel() == 0) return;
  const auto [least, greatest] = ops<"aminmax", 2>(index);
  const int64_t lo = op_value<"item">(least).scalar().to_int(), hi = op_value<"item">(greatest).scalar().to_int();
  FB_CHECK_INDEX(lo >= 0 && hi < size, name, ": index ", lo < 0 ? lo : hi, " is out of bounds for dimension ", dim, " of size ", size);
}
struct index_reduce_ : lowered<index_reduce_> {
  static constexpr auto schema =
      "index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "IndexReduceBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self) {
    check_reduce_kind("index_reduce", reduce, false);
    check_along("index_reduce", self, dim, index, source);
    check_within("index_reduce", index, self.ndim() ? self.size(dim) : 1, dim);
    return op<"scatter_reduce_">(self, dim, index_across(index, source, dim), source, reduce, include_self);
  }
  static Tensor d_self(grad<0> g, in<0> self, arg<1, int64_t> dim, in<2> index, in<3> source, arg<4, std::string_view> reduce,
                       arg<5, bool> include_self, result<> out) {
    return ScatterReduced{*g, *self, index_across(*index, *source, *dim), *source, *out, *dim, *reduce, *include_self}.for_self();
  }
  static Tensor d_source(grad<0> g, in<0> self, arg<1, int64_t> dim, in<2> index, in<3> source, arg<4, std::string_view> reduce,
                         arg<5, bool> include_self, result<> out) {
    return ScatterReduced{*g, *self, index_across(*index, *source, *dim), *source, *out, *dim, *reduce, *include_self}.for_src();
  }
  using vjp = rules<wrt<0, d_self>, wrt<3, d_source>>;
};
FB_CARD(index_reduce_)
struct index_reduce : lowered<index_reduce> {
  static constexpr auto schema = "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor";
  static constexpr uint32_t forms = lowered<index_reduce>::forms | form::out_apart;
  static constexpr auto grad_name = "IndexReduceBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self) {
    return op<"index_reduce_">(op<"clone">(self, MemoryFormat::contiguous), dim, index, source, reduce, include_self);
  }
  using vjp = index_reduce_::vjp;
  static constexpr auto doc = R"(index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None) -> Tensor

input with the entries of source along dim reduced into those that index, a vector of ints, names: 'prod', 'mean', 'amax' or
'amin', with include_self also of what input holds there.)";
};
FB_CARD(index_reduce)

}  // namespace fb::cards
