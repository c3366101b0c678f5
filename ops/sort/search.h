// Places in sorted sequences and membership: searchsorted, bucketize, isin.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/pointwise.h"

namespace fb::cards {

// A number as a tensor without dimensions of the type that it has beside `other`; whole numbers wrap into it, as PyTorch's do.
inline Tensor number_beside(const Scalar& number, const Tensor& other) {
  const Value both[2] = {other, number};
  return op<"to.dtype">(op<"scalar_tensor">(number, number.dtype(), std::nullopt, other.device()), result_type(both, 2));
}

// Whether the place after equal elements is meant; `side` and `right` must not contradict each other.
inline bool right_side(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  FB_CHECK(*side == "left" || *side == "right", "searchsorted: side is '", *side, "', it must be 'left' or 'right'");
  FB_CHECK(*side == "right" || !right, "searchsorted: side is 'left' but right is True");
  return *side == "right";
}
template <class T>
void check_searched(const char* name, const T& sequence, const T& values, const T& sorter, bool out_int32) {
  FB_CHECK(sequence.ndim() > 0, name, ": the sorted sequence must have a dimension");
  FB_CHECK(sequence.ndim() == 1 || sequence.ndim() == values.ndim(), name, ": the sorted sequence of shape ", sequence.sizes(),
           " must be a vector or have as many dimensions as the values, of shape ", values.sizes());
  for (int64_t i = 0; sequence.ndim() > 1 && i + 1 < sequence.ndim(); ++i)
    FB_CHECK(sequence.sizes()[i] == values.sizes()[i], name, ": the sorted sequence of shape ", sequence.sizes(), " and the values of shape ",
             values.sizes(), " differ at dimension ", i, ", which is not the last");
  for (DType d : {sequence.dtype(), values.dtype()})
    if (fb::is_complex(d) || d == DType::boolean || is_float8(d)) raise_not_implemented(name, " is not there for type ", d);
  if (sorter.defined()) {
    FB_CHECK(sorter.dtype() == DType::i64, name, ": sorter is ", sorter.dtype(), ", it must be int64");
    FB_CHECK(sorter.sizes() == sequence.sizes(), name, ": sorter of shape ", sorter.sizes(), " must have the shape of the sorted sequence, ", sequence.sizes());
  }
  FB_CHECK(!out_int32 || sequence.sizes()[sequence.ndim() - 1] < INT32_MAX, name, ": out_int32=True, but the sorted sequence has ",
           sequence.sizes()[sequence.ndim() - 1], " elements, places in it do not fit into int32");
}

struct searchsorted : structured<searchsorted, symbolic> {
  static constexpr auto schema =
      "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T>
  static T meta(const T& sequence, const T& values, bool out_int32, bool right, std::optional<std::string_view> side, const T& sorter) {
    right_side(right, side);
    check_searched("searchsorted", sequence, values, sorter, out_int32);
    return T::empty(values.sizes(), {out_int32 ? DType::i32 : DType::i64, values.device()});
  }
  static constexpr auto doc = R"(searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None) -> Tensor

For each value of input, the first place of the innermost dimension of sorted_sequence that it could be inserted at keeping
the order: before equal elements, or with right=True (side='right') after them. sorted_sequence is a vector, or agrees with
input in all dimensions but the last; the result is int64, or int32, shaped as input. With sorter (int64, shaped as
sorted_sequence) the sequence is sorted_sequence taken in this order. NaN counts as greatest.)";
};
FB_CARD(searchsorted)

struct searchsorted_number : composite<searchsorted_number> {
  static constexpr auto schema =
      "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(const Tensor& sequence, const Scalar& value, bool out_int32, bool right, std::optional<std::string_view> side, const Tensor& sorter) {
    return op<"searchsorted.Tensor">(sequence, number_beside(value, sequence), out_int32, right_side(right, side), std::nullopt, sorter);
  }
};
FB_CARD(searchsorted_number)

struct bucketize : composite<bucketize> {
  static constexpr auto schema = "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t forms = form::fn | form::out;
  static void check(const Tensor& boundaries) {
    FB_CHECK(boundaries.ndim() == 1, "bucketize: boundaries must be a vector, their shape is ", boundaries.sizes());
  }
  static Tensor body(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
    check(boundaries);
    return op<"searchsorted.Tensor">(boundaries, self, out_int32, right, std::nullopt, Tensor());
  }
  static constexpr auto doc = R"(bucketize(input, boundaries, *, out_int32=False, right=False, out=None) -> Tensor

The bucket of each element of input among those that boundaries, an ascending vector, separate:
searchsorted(boundaries, input, ...). int64 or int32, shaped as input.)";
};
FB_CARD(bucketize)

struct bucketize_number : composite<bucketize_number> {
  static constexpr auto schema = "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(const Scalar& value, const Tensor& boundaries, bool out_int32, bool right) {
    bucketize::check(boundaries);
    return op<"searchsorted.Scalar">(boundaries, value, out_int32, right, std::nullopt, Tensor());
  }
};
FB_CARD(bucketize_number)

// Elements are compared in the type that both promote to.
inline void check_isin(DType elements, DType test) {
  for (DType d : {elements, test})
    FB_CHECK(!fb::is_complex(d) && d != DType::boolean && !is_float8(d), "isin: an argument is ", d, ", which it does not compare");
}
struct isin : structured<isin, symbolic> {
  static constexpr auto schema = "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const T& elements, const T& test, bool, bool) {
    check_isin(elements.dtype(), test.dtype());
    return T::empty(elements.sizes(), {DType::boolean, elements.device()});
  }
  static constexpr auto doc = R"(isin(elements, test_elements, *, assume_unique=False, invert=False) -> Tensor

Whether each of elements is among test_elements (with invert, is not): bool, shaped as elements. Either may be a number.
NaN is never among them.)";
};
FB_CARD(isin)

struct isin_tensor_number : composite<isin_tensor_number> {
  static constexpr auto schema = "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(const Tensor& elements, const Scalar& test, bool unique, bool invert) {
    check_isin(elements.dtype(), elements.dtype());
    return op<"isin.Tensor_Tensor">(elements, number_beside(test, elements), unique, invert);
  }
};
FB_CARD(isin_tensor_number)
struct isin_number_tensor : composite<isin_number_tensor> {
  static constexpr auto schema = "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(const Scalar& element, const Tensor& test, bool unique, bool invert) {
    check_isin(test.dtype(), test.dtype());
    return op<"isin.Tensor_Tensor">(number_beside(element, test), test, unique, invert);
  }
};
FB_CARD(isin_number_tensor)

}  // namespace fb::cards
