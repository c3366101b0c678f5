// Derivative rules as cards write them. A rule is a function of tagged parameters; what a node must keep is read from
// their types:
//   static Tensor d_self(grad<0> g, in<1> other, arg<2, bool> transpose) { ... }
//   using vjp = rules<wrt<0, d_self>, wrt<1, d_other>>;
//   grad<I>    gradient of result I (zeros where none came)     in<I>    argument I, a tensor
//   result<I>  result I                                         ins<I>   argument I, a list of tensors
//   arg<I, T>  argument I, anything but a tensor                shape_of<I>  sizes, type and device of argument I
//   grads      of all results of a list       needs      which arguments want a gradient
#pragma once
#include <array>

#include "dispatch/box.h"

namespace fb {

struct InputMeta {
  Dims sizes;
  Dims strides;        // of arguments only, as is offset
  int64_t offset = 0;
  Options options;
  bool defined = false;
};

// What a rule sees of the node it runs for. Filled by autograd/.
struct VjpView {
  const Tensor* grads = nullptr;              // one for each result; undefined where none came
  const Tensor* in = nullptr;                 // by argument; undefined where not saved
  const Tensor* out = nullptr;                // by result
  const std::vector<Tensor>* lists = nullptr; // by argument, lists only
  const Value* args = nullptr;                // by argument, plain values
  const InputMeta* meta = nullptr;            // by argument; of a list, of its elements in turn from list_meta
  const std::vector<InputMeta>* list_meta = nullptr;
  const InputMeta* out_meta = nullptr;        // by result
  int results = 0;                            // how many there are
  uint64_t needed = 0;                        // arguments that want a gradient
  Tensor* result = nullptr;                   // by argument
  std::vector<Tensor>* result_lists = nullptr;
};

// Zeros shaped as result i, for a gradient that did not come. Defined in autograd/.
Tensor zeros_like_meta(const InputMeta& m);

template <int I> struct grad {
  static constexpr uint64_t saves_in = 0, saves_out = 0, saves_meta = 0;
  Tensor t;
  explicit grad(VjpView& v) : t(v.grads[I].defined() ? v.grads[I] : zeros_like_meta(v.out_meta[I])) {}
  operator const Tensor&() const { return t; }
  const Tensor& operator*() const { return t; }
  const Tensor* operator->() const { return &t; }
};
// A gradient that stays undefined where none came, for rules that save work then.
template <int I> struct maybe_grad {
  static constexpr uint64_t saves_in = 0, saves_out = 0, saves_meta = 0;
  const Tensor& t;
  explicit maybe_grad(VjpView& v) : t(v.grads[I]) {}
  operator const Tensor&() const { return t; }
  const Tensor& operator*() const { return t; }
  const Tensor* operator->() const { return &t; }
};
// The gradients of all results, of an operator that gives a list: zeros where none came.
struct grads {
  static constexpr uint64_t saves_in = 0, saves_out = 0, saves_meta = 0;
  std::vector<Tensor> t;
  explicit grads(VjpView& v) {
    for (int i = 0; i < v.results; ++i) t.push_back(v.grads[i].defined() ? v.grads[i] : zeros_like_meta(v.out_meta[i]));
  }
  const std::vector<Tensor>& operator*() const { return t; }
};
template <int I> struct in {
  static constexpr uint64_t saves_in = uint64_t(1) << I, saves_out = 0, saves_meta = 0;
  const Tensor& t;
  explicit in(VjpView& v) : t(v.in[I]) {}
  operator const Tensor&() const { return t; }
  const Tensor& operator*() const { return t; }
  const Tensor* operator->() const { return &t; }
};
template <int I> struct ins {
  static constexpr uint64_t saves_in = uint64_t(1) << I, saves_out = 0, saves_meta = 0;
  const std::vector<Tensor>& t;
  explicit ins(VjpView& v) : t(v.lists[I]) {}
  const std::vector<Tensor>& operator*() const { return t; }
  const std::vector<Tensor>* operator->() const { return &t; }
  operator TensorSpan() const { return {t.data(), int64_t(t.size())}; }
};
template <int I = 0> struct result {
  static constexpr uint64_t saves_in = 0, saves_out = uint64_t(1) << I, saves_meta = 0;
  const Tensor& t;
  explicit result(VjpView& v) : t(v.out[I]) {}
  operator const Tensor&() const { return t; }
  const Tensor& operator*() const { return t; }
  const Tensor* operator->() const { return &t; }
};
template <int I, class T> struct arg {
  static constexpr uint64_t saves_in = 0, saves_out = 0, saves_meta = 0;
  T v;
  explicit arg(VjpView& w) : v(FromValue<T>::get(w.args[I])) {}
  operator const T&() const { return v; }
  const T& operator*() const { return v; }
  const T* operator->() const { return &v; }
};
template <int I> struct shape_of {
  static constexpr uint64_t saves_in = 0, saves_out = 0, saves_meta = uint64_t(1) << I;
  const InputMeta& m;
  explicit shape_of(VjpView& v) : m(v.meta[I]) {}
  const InputMeta* operator->() const { return &m; }
  Ints sizes() const { return m.sizes; }
};
template <int I> struct shapes_of {
  static constexpr uint64_t saves_in = 0, saves_out = 0, saves_meta = uint64_t(1) << I;
  const std::vector<InputMeta>& m;
  explicit shapes_of(VjpView& v) : m(v.list_meta[I]) {}
  const std::vector<InputMeta>& operator*() const { return m; }
};
struct needs {
  static constexpr uint64_t saves_in = 0, saves_out = 0, saves_meta = 0;
  uint64_t mask;
  explicit needs(VjpView& v) : mask(v.needed) {}
  bool operator[](int arg) const { return mask >> arg & 1; }
};

// What a forward rule sees: the call as a vjp would, and tangents in place of gradients.
struct JvpView : VjpView {
  const Tensor* tangents = nullptr;                  // by argument; undefined where there is none
  const std::vector<Tensor>* tangent_lists = nullptr;
  Tensor* result_tangents = nullptr;                 // by result
};
// The tangent of argument I, zeros where it has none.
template <int I> struct tangent {
  Tensor t;
  explicit tangent(JvpView& v) : t(v.tangents[I].defined() ? v.tangents[I] : zeros_like_meta(v.meta[I])) {}
  operator const Tensor&() const { return t; }
  const Tensor& operator*() const { return t; }
};
// One that stays undefined where there is none, for rules that save work then.
template <int I> struct maybe_tangent {
  const Tensor& t;
  explicit maybe_tangent(JvpView& v) : t(v.tangents[I]) {}
  operator const Tensor&() const { return t; }
  const Tensor& operator*() const { return t; }
  bool defined() const { return t.defined(); }
};

struct VjpEach {
  uint64_t wrt, saves_in, saves_out, saves_meta;
  void (*run)(VjpView&);
  bool zero = false;  // what it gives is zeros, whatever the elements are
};
struct VjpRule {
  const VjpEach* each;
  int count;
  uint64_t wrt;
};

namespace detail {
template <class F> struct Saves;
template <class R, class... P> struct Saves<R (*)(P...)> {
  static constexpr uint64_t in = (plain<P>::saves_in | ... | 0), out = (plain<P>::saves_out | ... | 0), meta = (plain<P>::saves_meta | ... | 0);
  template <auto F> static R call(VjpView& v) { return F(plain<P>(v)...); }
};
}  // namespace detail

// F gives the gradient of argument I: a Tensor, or for a list of tensors a std::vector<Tensor>.
template <int I, auto F> struct wrt {
  using S = detail::Saves<decltype(F)>;
  static void run(VjpView& v) {
    if constexpr (std::is_same_v<typename FnTraits<decltype(F)>::Return, std::vector<Tensor>>)
      v.result_lists[I] = S::template call<F>(v);
    else
      v.result[I] = S::template call<F>(v);
  }
  static constexpr VjpEach each{uint64_t(1) << I, S::in, S::out, S::meta, &run};
};
// F gives zeros for argument I: its tangent reaches no result. Elements need not be asked, which what is traced does not have.
template <int I, auto F> struct wrt_zero : wrt<I, F> {
  static constexpr VjpEach each{wrt<I, F>::each.wrt, wrt<I, F>::each.saves_in, wrt<I, F>::each.saves_out, wrt<I, F>::each.saves_meta, &wrt<I, F>::run, true};
};
// F gives the gradients of several arguments at once, in this order.
template <auto F, int... I> struct joint {
  using S = detail::Saves<decltype(F)>;
  static void run(VjpView& v) {
    std::array<Tensor, sizeof...(I)> r = S::template call<F>(v);
    size_t n = 0;
    ((v.result[I] = std::move(r[n++])), ...);
  }
  static constexpr VjpEach each{((uint64_t(1) << I) | ...), S::in, S::out, S::meta, &run};
};
// Results that never require grad although their type could.
struct no_gradient {
  static constexpr VjpRule rule{nullptr, 0, 0};
};
// F gives the tangents of the results from tagged parameters: `using jvp = forward<fn>`, where the derived rule (the vjp
// differentiated in its gradient) does not do.
template <auto F> struct forward {
  template <class R, class... P> static R call(R (*f)(P...), JvpView& v) { return f(plain<P>(v)...); }
  static void run(JvpView& v) {
    if constexpr (std::is_same_v<typename FnTraits<decltype(F)>::Return, Tensor>) v.result_tangents[0] = call(F, v);
    else {
      auto r = call(F, v);
      for (size_t i = 0; i < r.size(); ++i) v.result_tangents[i] = std::move(r[i]);
    }
  }
};
template <class... E> struct rules {
  static constexpr VjpEach list[] = {E::each...};
  static constexpr VjpRule rule{list, int(sizeof...(E)), (E::each.wrt | ...)};
};

}  // namespace fb
