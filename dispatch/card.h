// What a card derives from. A card is a struct with a schema and some of: fn (pointwise math), body (composite),
// geometry (view), meta (shape rule of an operator with kernels), lowering, vjp, forms, doc. FB_CARD(name) after it
// emits its record where the build says so (FB_EMIT_CARDS: one unit for each card header), and nothing elsewhere.
#pragma once
#include "dispatch/box.h"
#include "dispatch/pointwise.h"
#include "dispatch/vjp.h"
#include "ops/math/tensor_domain.h"

namespace fb {

// ---- view cards ----
template <class I> struct GeometryOf {
  SmallVec<I, 6> sizes, strides;
  I offset{};                 // in elements of the view's type
  DType dtype = DType::none;  // none: the base's
  int bits = -1;              // kConj and kNeg of the view; -1: the base's
};
using Geometry = GeometryOf<int64_t>;

// ---- tags of pointwise derivatives ----
template <int I, class V> struct operand {  // operand I, saved
  V v;
  operator V() const { return v; }
};
template <class V> struct value {           // the result, saved
  V v;
  operator V() const { return v; }
};
template <class V> struct upstream {        // the gradient that comes in
  V v;
  operator V() const { return v; }
};
template <int I, class V> struct attr {     // numeric argument I (counting only those)
  V v;
  operator V() const { return v; }
};

namespace detail {

template <class P> struct PointTag { static constexpr uint32_t in = 0; static constexpr bool out = false; };
template <int I, class V> struct PointTag<operand<I, V>> { static constexpr uint32_t in = 1u << I; static constexpr bool out = false; };
template <class V> struct PointTag<value<V>> { static constexpr uint32_t in = 0; static constexpr bool out = true; };

// Makes each tagged parameter of a derivative from what is at hand.
template <class V> struct PointSource {
  const V* in;
  const V* out;
  const V* g;
  const V* attrs;
};
template <class P> struct MakeTag;
template <int I, class V> struct MakeTag<operand<I, V>> { static operand<I, V> from(const PointSource<V>& s) { return {s.in[I]}; } };
template <class V> struct MakeTag<value<V>> { static value<V> from(const PointSource<V>& s) { return {*s.out}; } };
template <class V> struct MakeTag<upstream<V>> { static upstream<V> from(const PointSource<V>& s) { return {*s.g}; } };
template <int I, class V> struct MakeTag<attr<I, V>> { static attr<I, V> from(const PointSource<V>& s) { return {s.attrs[I]}; } };
template <class V, class R, class... P>
[[gnu::always_inline]] inline R call_tagged(R (*f)(P...), const PointSource<V>& s) { return f(MakeTag<P>::from(s)...); }
template <class F> struct TagMasks;
template <class R, class... P> struct TagMasks<R (*)(P...)> {
  static constexpr uint32_t in = (PointTag<P>::in | ... | 0);
  static constexpr bool out = (PointTag<P>::out || ... || false);
};

// Address of Card::fn<V> or Card::fn<V, M>, and so on for d0.. and vjp0..
#define FB_MEMBER(name)                                                                              \
  template <class C, class V, int M> constexpr auto member_##name() {                                \
    if constexpr (requires { &C::template name<V, M>; }) return &C::template name<V, M>;             \
    else if constexpr (requires { &C::template name<V>; }) return &C::template name<V>;              \
    else return nullptr;                                                                             \
  }
FB_MEMBER(fn) FB_MEMBER(d0) FB_MEMBER(d1) FB_MEMBER(d2) FB_MEMBER(d3) FB_MEMBER(vjp0) FB_MEMBER(vjp1) FB_MEMBER(vjp2) FB_MEMBER(vjp3)
#undef FB_MEMBER
template <class C, int I, class V, int M> constexpr auto derivative_of() {
  if constexpr (I == 0) return member_d0<C, V, M>();
  else if constexpr (I == 1) return member_d1<C, V, M>();
  else if constexpr (I == 2) return member_d2<C, V, M>();
  else return member_d3<C, V, M>();
}
template <class C, int I, class V, int M> constexpr auto vjp_of() {
  if constexpr (I == 0) return member_vjp0<C, V, M>();
  else if constexpr (I == 1) return member_vjp1<C, V, M>();
  else if constexpr (I == 2) return member_vjp2<C, V, M>();
  else return member_vjp3<C, V, M>();
}
// Which arguments of a schema are operands (tensors, and the numbers of `scalar_operands`) and which plain numbers.
struct PointArguments {
  uint64_t operands = 0, attrs = 0;
  constexpr int nin() const { return __builtin_popcountll(operands); }
  constexpr int nattr() const { return __builtin_popcountll(attrs); }
};
constexpr PointArguments point_arguments(const char* s, uint64_t scalar_operands) {
  int depth = 0, index = 0;
  PointArguments n;
  bool at_start = false;
  for (; *s; ++s) {
    if (*s == '(' && depth++ == 0) {
      at_start = true;
      continue;
    }
    if (*s == ')' && --depth == 0) break;
    if (depth == 0) continue;
    if (*s == ',' && depth == 1) {
      at_start = true;
      continue;
    }
    if (*s == ' ' || *s == '*') continue;
    if (at_start) {
      at_start = false;
      const bool is_tensor = s[0] == 'T' && s[1] == 'e';
      const bool is_number = (s[0] == 'S' && s[1] == 'c' && s[6] != 'T') || (s[0] == 'f' && s[1] == 'l') || (s[0] == 'i' && s[1] == 'n') || (s[0] == 'b' && s[1] == 'o');
      const uint64_t bit = uint64_t(1) << index++;
      if (is_tensor || (scalar_operands & bit)) n.operands |= bit;
      else if (is_number) n.attrs |= bit;
    }
  }
  return n;
}
template <class C> inline constexpr PointArguments arguments_of = point_arguments(C::schema, C::scalar_operands);

template <class T> inline constexpr bool present = !std::is_same_v<T, std::nullptr_t>;

template <class C> constexpr int modes_of() {
  if constexpr (requires { C::modes; }) return C::modes;
  else return 1;
}

// g * conj(d) or the card's own vjp, in any domain.
template <class C, int I, class V, int M> [[gnu::always_inline]] inline V point_gradient(const V& g, const PointSource<V>& s) {
  if constexpr (present<decltype(vjp_of<C, I, V, M>())>) return call_tagged(vjp_of<C, I, V, M>(), s);
  else {
    using fb::conj;
    return g * conj(V(call_tagged(derivative_of<C, I, V, M>(), s)));
  }
}
template <class C, int I> constexpr bool has_gradient() {
  return present<decltype(vjp_of<C, I, float, 0>())> || present<decltype(derivative_of<C, I, float, 0>())>;
}

template <class C, int I> Tensor point_gradient_over_tensors(const Tensor& g, const Tensor* in, const Tensor& out, const Value* attrs, int mode) {
  Tensor a[8];
  for (int i = 0; i < arguments_of<C>.nattr(); ++i) a[i] = domain<Tensor>::constant(attrs[i].floating());
  const PointSource<Tensor> s{in, &out, &g, a};
  Tensor r;
  [&]<int... M>(std::integer_sequence<int, M...>) {
    ((mode == M ? (r = point_gradient<C, I, Tensor, M>(g, s), 0) : 0), ...);
  }(std::make_integer_sequence<int, modes_of<C>()>());
  return r;
}

template <class C, int I> constexpr PointwiseGrad point_grad_info() {
  PointwiseGrad g;
  if constexpr (I < arguments_of<C>.nin())
    if constexpr (has_gradient<C, I>()) {
      g.has = true;
      g.holomorphic = true;
      uint32_t in = 0;
      bool out = false;
      auto add = [&]<int M>() {
        if constexpr (present<decltype(vjp_of<C, I, float, M>())>) {
          g.holomorphic = false;
          in |= TagMasks<decltype(vjp_of<C, I, float, M>())>::in;
          out |= TagMasks<decltype(vjp_of<C, I, float, M>())>::out;
        } else {
          in |= TagMasks<decltype(derivative_of<C, I, float, M>())>::in;
          out |= TagMasks<decltype(derivative_of<C, I, float, M>())>::out;
        }
      };
      [&]<int... M>(std::integer_sequence<int, M...>) { (add.template operator()<M>(), ...); }(
          std::make_integer_sequence<int, modes_of<C>()>());
      g.saves_in = uint8_t(in);
      g.saves_out = out;
      g.over_tensors = &point_gradient_over_tensors<C, I>;
    }
  return g;
}

}  // namespace detail

// ---- families ----
template <class C> struct card_base {
  static constexpr const char* aliases = "";
  static constexpr const char* grad_name = nullptr;
  static constexpr const char* doc = "";
  static constexpr uint32_t numbers = 0;
  static constexpr bool lazy_bits = false;
  // Arguments that the result is linear in, each for itself: its tangent is then the call with a tangent in the
  // argument's place. 0: the tangent comes from `jvp` (dispatch/vjp.h), or is derived from the vjp.
  static constexpr uint64_t linear_in = 0;
};
// Argument numbers as a mask, for `linear_in`.
template <class... I> constexpr uint64_t arguments(I... i) { return ((uint64_t(1) << i) | ...); }

// Math written once: `template <class V> static V fn(V x, ..., V attr...)`.
template <class C> struct pointwise : card_base<C> {
  static constexpr CardKind kind = CardKind::pointwise;
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out;
  static constexpr uint32_t types = types::floating;
  static constexpr uint32_t bool_operands = 0;
  static constexpr uint64_t scalar_operands = 0;  // `Scalar` arguments (by position) that take part as operands do
  static constexpr ResultLayout layout = ResultLayout::of_operands, grad_layout = ResultLayout::of_operands;
  static constexpr Promotion promotion{};
};
// A program over other cards, expanded above autograd: `static Tensor body(args...)`; as a template, `template <class T>
// static T body(const T& x, ...)`, it is followed with symbolic sizes too. So are a check and a lowering.
template <class C> struct composite : card_base<C> {
  static constexpr CardKind kind = CardKind::composite;
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr bool lazy_bits = true;
};
// `static Geometry geometry(const Tensor& self, args...)`, or a std::vector<Geometry> for several results; as a template,
// `template <class T> static GeometryOf<typename T::Int> geometry(const T& self, args...)`, for symbolic sizes as well.
template <class C> struct view : card_base<C> {
  static constexpr CardKind kind = CardKind::view;
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr bool lazy_bits = true;
};
// `template <class T> static T meta(const T& self, args...)` makes the outputs; kernels (FB_KERNEL) fill them.
// Written `structured<mm, symbolic>`, meta is instantiated for symbolic sizes as well: it must be a template down to its
// integers (T::Int, T::Sizes).
constexpr bool symbolic = true;
template <class C, bool Symbolic = false> struct structured : card_base<C> {
  static constexpr CardKind kind = CardKind::structured;
  static constexpr bool symbolic_meta = Symbolic;
  static constexpr uint32_t forms = form::fn | form::method | form::out;
};
// Kernels make their own outputs (FB_KERNEL_DIRECT), or write the first argument. One that writes may give
// `static void check(args...)`, which runs before the kernel and is all there is to do on the meta device. One whose kernel
// has the bits of a program over other cards may give that as well, as `static ... lowering(args...)`: graphs follow it.
template <class C> struct direct : card_base<C> {
  static constexpr CardKind kind = CardKind::direct;
  static constexpr uint32_t forms = form::fn | form::method;
};
// Differentiated by its own rule, computed by `static Tensor lowering(args...)` over other cards.
template <class C> struct lowered : card_base<C> {
  static constexpr CardKind kind = CardKind::lowered;
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static constexpr bool lazy_bits = true;
};

namespace detail {

template <class C> constexpr PointwiseCard make_pointwise() {
  PointwiseCard p{};
  p.nin = arguments_of<C>.nin();
  p.nattr = arguments_of<C>.nattr();
  p.operands = arguments_of<C>.operands;
  p.attrs = arguments_of<C>.attrs;
  p.types = C::types;
  p.bool_operands = C::bool_operands;
  p.layout = C::layout;
  p.grad_layout = C::grad_layout;
  if constexpr (requires { C::promotion_of; }) p.promotion = &C::promotion_of;
  else p.promotion = +[](const Value*) { return C::promotion; };
  p.modes = modes_of<C>();
  if constexpr (requires { C::mode; }) p.mode = &C::mode;
  if constexpr (requires { C::check; }) p.check = &C::check;
  if constexpr (requires { C::attributes; }) p.attributes = &C::attributes;
  if constexpr (!requires { typename C::vjp; }) {
    p.grads[0] = point_grad_info<C, 0>();
    p.grads[1] = point_grad_info<C, 1>();
    p.grads[2] = point_grad_info<C, 2>();
    p.grads[3] = point_grad_info<C, 3>();
  }
  return p;
}
template <class C> inline constexpr PointwiseCard pointwise_card = make_pointwise<C>();

// Address of Card::geometry, or of its instance for T.
template <class C, class T> constexpr auto geometry_of() {
  if constexpr (requires { &C::template geometry<T>; }) return &C::template geometry<T>;
  else return &C::geometry;
}
// The same of other functions that may be templates.
template <class C, class T> constexpr auto body_of() {
  if constexpr (requires { &C::template body<T>; }) return &C::template body<T>;
  else return &C::body;
}
template <class C, class T> constexpr auto lowering_of() {
  if constexpr (requires { &C::template lowering<T>; }) return &C::template lowering<T>;
  else return &C::lowering;
}
template <class C, class T> constexpr auto check_of() {
  if constexpr (requires { &C::template check<T>; }) return &C::template check<T>;
  else if constexpr (requires { &C::check; }) return &C::check;
  else return nullptr;
}
void put_views(Results& out, const Tensor& base, const Geometry& g);
void put_views(Results& out, const Tensor& base, const std::vector<Geometry>& g);

template <auto F> void box_view(const OpEntry&, const Value* args, Results& out) {
  using Tr = FnTraits<decltype(F)>;
  [&]<size_t... I>(std::index_sequence<I...>) {
    put_views(out, args[0].tensor(), F(FromValue<plain<std::tuple_element_t<I, typename Tr::Args>>>::get(args[I])...));
  }(std::make_index_sequence<Tr::arity>());
}

template <class C> constexpr CardRecord make_record() {
  CardRecord r{};
  r.schema = C::schema;
  r.kind = C::kind;
  r.forms = C::forms;
  r.numbers = C::numbers;
  r.aliases = C::aliases;
  r.grad_name = C::grad_name;
  r.doc = C::doc;
  r.lazy_bits = C::lazy_bits;
  if constexpr (C::kind == CardKind::composite) r.body = &box<body_of<C, Tensor>()>;
  if constexpr (C::kind == CardKind::lowered) r.body = &box<lowering_of<C, Tensor>()>;
  if constexpr (C::kind == CardKind::structured) r.meta = &box<&C::template meta<Tensor>>;
  if constexpr (C::kind == CardKind::direct)
    if constexpr (present<decltype(check_of<C, Tensor>())>) r.meta = &box<check_of<C, Tensor>()>;
  if constexpr (C::kind == CardKind::direct)
    if constexpr (requires { &C::lowering; }) r.body = &box<lowering_of<C, Tensor>()>;
  if constexpr (C::kind == CardKind::view) r.view = &box_view<geometry_of<C, Tensor>()>;
  if constexpr (C::kind == CardKind::pointwise) r.pointwise = &pointwise_card<C>;
  if constexpr (requires { typename C::vjp; }) r.vjp = &C::vjp::rule;
  r.linear = C::linear_in;
  if constexpr (requires { typename C::jvp; }) r.jvp = &C::jvp::run;
  return r;
}
template <class C> inline constexpr CardRecord card_record = make_record<C>();

}  // namespace detail

#ifdef FB_EMIT_CARDS
#define FB_CARD(C)                                                                                                 \
  [[gnu::section("fb_cards"), gnu::used]] static constinit const ::fb::CardSlot FB_CONCAT(fb_card_, C) = {         \
      &::fb::detail::card_record<C>, __COUNTER__};                                                                \
  FB_CARD_LOOPS(C)
#elif defined FB_EMIT_SYMBOLIC
#define FB_CARD(C) FB_SYMBOLIC_CARD(C)
#else
#define FB_CARD(C)
#endif
#ifndef FB_CARD_LOOPS
#define FB_CARD_LOOPS(C)
#endif

}  // namespace fb
