// Tensors whose sizes are expressions: what a shape rule that is a template on the tensor is instantiated for besides Tensor.
// They have geometry, type and device, and no elements.
#pragma once
#include "core/shape_rules.h"
#include "core/symint.h"
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb {

struct SymTensorImpl {
  SymDims sizes, strides;
  SymInt offset;
  DType dtype = DType::f32;
  Device device;
  bool conj = false, neg = false, wrapped_number = false;
};

class SymTensor {
 public:
  using Int = SymInt;
  using Sizes = SymDims;
  SymTensor() = default;
  static SymTensor empty(SymInts sizes, Options o) { return empty_strided(sizes, rules_of_shape::contiguous_strides(sizes), o); }
  static SymTensor empty_strided(SymInts sizes, SymInts strides, Options o);
  static SymTensor empty_format(SymInts sizes, Options o, MemoryFormat f);
  static SymTensor like(const Tensor& t);  // of constants
  SymTensor alias(SymInts sizes, SymInts strides, SymInt offset) const;

  bool defined() const { return bool(impl_); }
  explicit operator bool() const { return defined(); }
  SymTensorImpl* operator->() const { return impl_.get(); }
  bool is(const SymTensor& o) const { return impl_ == o.impl_; }
  SymInts sizes() const { return impl_->sizes; }
  SymInts strides() const { return impl_->strides; }
  SymInt size(int64_t d) const { return impl_->sizes[wrap_dim(d, ndim(), false)]; }
  SymInt stride(int64_t d) const { return impl_->strides[wrap_dim(d, ndim(), false)]; }
  int64_t ndim() const { return impl_->sizes.size(); }
  SymInt numel() const { return numel_of(sizes()); }
  SymInt offset() const { return impl_->offset; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  Options options() const { return {dtype(), device()}; }
  bool is_contiguous() const { return rules_of_shape::is_contiguous(sizes(), strides()) || rules_of_shape::has_no_elements(sizes()); }
  bool is_contiguous(MemoryFormat f) const;
  MemoryFormat suggested_format() const { return rules_of_shape::suggested_format(sizes(), strides()); }
  bool is_non_overlapping_and_dense() const { return is_contiguous() || rules_of_shape::is_dense(sizes(), strides()); }
  bool is_meta() const { return true; }
  bool is_complex() const { return fb::is_complex(dtype()); }
  bool is_floating() const { return fb::is_floating(dtype()); }
  bool is_conj() const { return impl_->conj; }
  bool is_neg() const { return impl_->neg; }
  int64_t item_bytes() const { return item_size(dtype()); }

 private:
  std::shared_ptr<SymTensorImpl> impl_;
};

inline SymDims preserved_strides(SymInts sizes, SymInts strides) { return rules_of_shape::preserved_strides(sizes, strides); }
inline SymDims contiguous_strides(SymInts sizes) { return rules_of_shape::contiguous_strides(sizes); }
inline SymDims channels_last_strides(SymInts sizes) { return rules_of_shape::channels_last_strides(sizes); }
inline SymDims broadcast_sizes(SymInts a, SymInts b) { return rules_of_shape::broadcast_sizes(a, b); }
inline bool is_expandable_to(SymInts a, SymInts b) { return rules_of_shape::is_expandable_to(a, b); }
bool has_internal_overlap(const SymTensor& t);

// One argument of a symbolic call: what it is in the example (a tensor on the meta device), and as expressions.
struct SymValue {
  SymValue() = default;
  SymValue(const Value& v) : value(v), i(v.tag == Tag::integer ? v.i : 0) {
    if (v.tag == Tag::ints)
      for (int64_t x : v.int_list()) ints.push_back(x);
  }
  SymValue(const SymTensor& t);
  SymValue(std::vector<SymTensor> l);
  SymValue(const SymInt& s) : value(s.hint()), i(s) {}
  SymValue(SymInts s);
  SymValue(SymValue&&) = default;
  SymValue& operator=(SymValue&&) = default;
  // The integers, with a guard that they stay; and as they are in the example.
  Ints specialized() const;
  Ints example_list() const;

  Value value;
  std::vector<Tensor> example;       // what value points to
  mutable Dims example_ints;
  std::vector<SymTensor> tensors;    // one, or the list
  std::vector<SymInt> ints;
  SymInt i;
};

template <class P> struct FromSym { static auto get(const SymValue& v) { return FromValue<P>::get(v.value); } };
template <> struct FromSym<SymTensor> { static SymTensor get(const SymValue& v) { return v.tensors.empty() ? SymTensor() : v.tensors[0]; } };
template <> struct FromSym<Span<SymTensor>> { static Span<SymTensor> get(const SymValue& v) { return {v.tensors.data(), int64_t(v.tensors.size())}; } };
template <> struct FromSym<SymInt> { static SymInt get(const SymValue& v) { return v.i; } };
template <> struct FromSym<SymInts> { static SymInts get(const SymValue& v) { return {v.ints.data(), int64_t(v.ints.size())}; } };
template <> struct FromSym<int64_t> { static int64_t get(const SymValue& v) { return v.value.tag == Tag::integer ? v.i.specialized() : v.value.integer(); } };
template <> struct FromSym<Ints> { static Ints get(const SymValue& v) { return v.specialized(); } };
template <class P> struct FromSym<std::optional<P>> {
  static std::optional<P> get(const SymValue& v) {
    if (v.value.is_none()) return std::nullopt;
    return FromSym<P>::get(v);
  }
};

using SymResults = std::vector<SymTensor>;
using SymRun = void (*)(const SymValue* args, SymResults& out);
struct SymRecord {
  const char* schema;
  SymRun run;
};

// Sizes, strides and types of the results of a call, as expressions. The rules are the card's own; pointwise cards need
// none. Raises what the call would raise in the example, and NotImplementedError where the card's rule is for plain
// integers only. Results are compared with those of the example.
SymResults symbolic_meta(const OpEntry& op, const SymValue* args);
bool has_symbolic_rule(const OpEntry& op);
// The overload that takes these arguments, defaults filled.
SymResults symbolic_call(const char* name, std::vector<SymValue> args);

// Within the template of a card's body: op<"mm">(a, b) of symbolic tensors.
template <class A> inline constexpr bool is_symbolic = std::is_same_v<A, SymTensor> || std::is_same_v<A, std::vector<SymTensor>>;
namespace detail {
template <class... A> std::vector<SymValue> sym_values(const A&... a) {
  std::vector<SymValue> v;
  auto put = [&](const auto& x) {
    using X = plain<decltype(x)>;
    if constexpr (std::is_same_v<X, Tensor>) {
      if (x.defined()) v.emplace_back(SymTensor::like(x));
      else v.emplace_back();
    } else if constexpr (is_symbolic<X> || std::is_same_v<X, SymInt> || std::is_same_v<X, SymInts>) v.emplace_back(x);
    else if constexpr (std::is_same_v<X, SymDims>) v.emplace_back(x.span());
    else v.emplace_back(Value(x));
  };
  (put(a), ...);
  return v;
}
}  // namespace detail
template <FixedString Name, class... A> requires(is_symbolic<A> || ...) SymTensor op(const A&... a) {
  return symbolic_call(Name.s, detail::sym_values(a...))[0];
}
template <FixedString Name, class... A> requires(is_symbolic<A> || ...) std::vector<SymTensor> op_list(const A&... a) {
  return symbolic_call(Name.s, detail::sym_values(a...));
}

}  // namespace fb
