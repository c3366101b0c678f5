// Turns typed C++ functions into calls over arrays of Values.
#pragma once
#include <array>
#include <tuple>

#include "dispatch/op.h"

namespace fb {

template <class T> struct FromValue;
template <> struct FromValue<Tensor> { static const Tensor& get(const Value& v) { return v.tag == Tag::tensor ? v.tensor() : none; } static inline const Tensor none; };
template <> struct FromValue<int64_t> { static int64_t get(const Value& v) { return v.integer(); } };
template <> struct FromValue<double> { static double get(const Value& v) { return v.floating(); } };
template <> struct FromValue<bool> { static bool get(const Value& v) { return v.boolean(); } };
template <> struct FromValue<Scalar> { static Scalar get(const Value& v) { return v.scalar(); } };
template <> struct FromValue<std::string_view> { static std::string_view get(const Value& v) { return v.string(); } };
template <> struct FromValue<DType> { static DType get(const Value& v) { return v.dtype(); } };
template <> struct FromValue<Device> { static Device get(const Value& v) { return v.tag == Tag::device ? v.device() : Device(); } };
template <> struct FromValue<Layout> { static Layout get(const Value& v) { return v.tag == Tag::layout ? Layout(v.i) : Layout::strided; } };
template <> struct FromValue<MemoryFormat> { static MemoryFormat get(const Value& v) { return MemoryFormat(v.i); } };
template <> struct FromValue<Generator*> { static Generator* get(const Value& v) { return v.tag == Tag::generator ? v.gen : nullptr; } };
template <> struct FromValue<Ints> { static Ints get(const Value& v) { return v.tag == Tag::ints ? v.int_list() : Ints(); } };
template <> struct FromValue<Span<double>> { static Span<double> get(const Value& v) { return v.tag == Tag::doubles ? Span<double>(v.doubles, v.len) : Span<double>(); } };
template <> struct FromValue<Span<bool>> { static Span<bool> get(const Value& v) { return v.tag == Tag::bools ? Span<bool>(v.bools, v.len) : Span<bool>(); } };
template <> struct FromValue<Span<Scalar>> { static Span<Scalar> get(const Value& v) { return v.tag == Tag::scalars ? Span<Scalar>(v.scalars, v.len) : Span<Scalar>(); } };
template <> struct FromValue<TensorSpan> { static TensorSpan get(const Value& v) { return v.tag == Tag::tensors ? v.tensor_list() : TensorSpan(); } };
template <> struct FromValue<Value> { static const Value& get(const Value& v) { return v; } };
template <class T> struct FromValue<std::optional<T>> {
  static std::optional<T> get(const Value& v) {
    if (v.is_none()) return std::nullopt;
    return FromValue<T>::get(v);
  }
};

template <class T> using plain = std::remove_cv_t<std::remove_reference_t<T>>;

// Stores what a typed function returned.
inline void put_result(Results& r, Tensor&& t) { r.push(std::move(t)); }
inline void put_result(Results& r, const Tensor& t) { r.push(t); }
inline void put_result(Results& r, std::vector<Tensor>&& v) { r.set_list(std::move(v)); }
template <size_t N> void put_result(Results& r, std::array<Tensor, N>&& a) {
  for (auto& t : a) r.push(std::move(t));
}
template <class... T> void put_result(Results& r, std::tuple<T...>&& t) {
  std::apply([&](auto&&... x) { (put_result(r, std::move(x)), ...); }, std::move(t));
}
inline void put_result(Results& r, bool v) { r.value = Value(v); }
inline void put_result(Results& r, int64_t v) { r.value = Value(v); }
inline void put_result(Results& r, double v) { r.value = Value(v); }
inline void put_result(Results& r, const Scalar& v) { r.value = Value(v); }
inline void put_result(Results& r, DType v) { r.value = Value(v); }

template <class F> struct FnTraits;
template <class R, class... A> struct FnTraits<R (*)(A...)> {
  using Return = R;
  using Args = std::tuple<A...>;
  static constexpr size_t arity = sizeof...(A);
};

// F(args in schema order) -> result. A void F writes its first argument, which is the result.
template <auto F>
void box(const OpEntry&, const Value* args, Results& out) {
  using Tr = FnTraits<decltype(F)>;
  [&]<size_t... I>(std::index_sequence<I...>) {
    if constexpr (std::is_void_v<typename Tr::Return>) {
      F(FromValue<plain<std::tuple_element_t<I, typename Tr::Args>>>::get(args[I])...);
      out.push(args[0].tensor());
    } else {
      put_result(out, F(FromValue<plain<std::tuple_element_t<I, typename Tr::Args>>>::get(args[I])...));
    }
  }(std::make_index_sequence<Tr::arity>());
}

// F(out0, out1, ..., args in schema order): leading `Tensor&` parameters are the outputs that meta made.
template <auto F>
void box_structured(const OpEntry&, const Value* args, Results& out) {
  using Tr = FnTraits<decltype(F)>;
  constexpr size_t outs = []<size_t... I>(std::index_sequence<I...>) {
    return (size_t(std::is_same_v<std::tuple_element_t<I, typename Tr::Args>, Tensor&>) + ... + 0);
  }(std::make_index_sequence<Tr::arity>());
  [&]<size_t... O, size_t... I>(std::index_sequence<O...>, std::index_sequence<I...>) {
    F(out[int(O)]..., FromValue<plain<std::tuple_element_t<outs + I, typename Tr::Args>>>::get(args[I])...);
  }(std::make_index_sequence<outs>(), std::make_index_sequence<Tr::arity - outs>());
}

#define FB_CONCAT2(a, b) a##b
#define FB_CONCAT(a, b) FB_CONCAT2(a, b)
#define FB_KERNEL_RECORD(...)                                                                            \
  [[gnu::section("fb_kernels"), gnu::used]] static constinit const ::fb::KernelRecord FB_CONCAT(          \
      fb_kernel_, __COUNTER__) __attribute__((aligned(8))) = {__VA_ARGS__};
// A CPU kernel for the structured operator `name`: fn(Tensor& out..., args...).
#define FB_KERNEL(name, fn) \
  FB_KERNEL_RECORD(name, ::fb::DeviceType::cpu, ::fb::KernelStyle::structured, 100, nullptr, &::fb::box_structured<&fn>, nullptr)
// One that is tried before or after others: the least rank whose `accepts(args)` holds runs.
#define FB_KERNEL_IF(name, rank, accepts, fn) \
  FB_KERNEL_RECORD(name, ::fb::DeviceType::cpu, ::fb::KernelStyle::structured, rank, accepts, &::fb::box_structured<&fn>, nullptr)
// A CPU kernel that makes its own outputs, or (returning void) writes its first argument: fn(args...).
#define FB_KERNEL_DIRECT(name, fn) \
  FB_KERNEL_RECORD(name, ::fb::DeviceType::cpu, ::fb::KernelStyle::direct, 100, nullptr, &::fb::box<&fn>, nullptr)

}  // namespace fb
