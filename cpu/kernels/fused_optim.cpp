// Steps of SGD, Adam and AdamW: one pass over each parameter, its gradient and its state. The arithmetic is that of
// the same step written with the pointwise operators, element by element, so both give the same bits.
#include <cmath>
#include <cstring>

#include "core/threads.h"
#include "cpu/simd/vec.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/blend.h"
#include "ops/pointwise/product_sums.h"

namespace fb {
namespace {

constexpr int64_t kGrain = 16384;

double number_of(const Tensor& t) { return op_value<"item">(t).floating(); }
bool found(const Tensor& found_inf) { return found_inf.defined() && number_of(found_inf) != 0; }

void check_list(const char* name, const char* list, TensorSpan self, TensorSpan other) {
  FB_CHECK(other.size() == self.size(), name, ": ", list, " holds ", other.size(), " tensors and self ", self.size(), "; both must be as long");
  for (int64_t i = 0; i < self.size(); ++i) {
    FB_CHECK(other[i].dtype() == self[i].dtype(), name, ": ", list, "[", i, "] is of type ", other[i].dtype(), " and self[", i, "] of type ", self[i].dtype());
    FB_CHECK(other[i].sizes() == self[i].sizes(), name, ": ", list, "[", i, "] has shape ", other[i].sizes(), " and self[", i, "] shape ", self[i].sizes());
  }
}

void check_self(const char* name, TensorSpan self) {
  if (self.size() == 0) raise_not_implemented(name, ": self is an empty list; there is no device to choose a kernel by");
  for (const Tensor& t : self)
    if (!t.is_floating()) raise_not_implemented(name, " has no kernel for parameters of type ", t.dtype(), " (shape ", t.sizes(), ")");
}

// The memory a loop works on: the tensor's own where that is dense, of the loop's type and without lazy bits, else a
// copy that goes home afterwards.
class Working {
 public:
  Working() = default;
  Working(const Tensor& t, DType type) : home_(t), at_(t) {
    if (t.dtype() == type && t.is_contiguous() && !t->neg && !t->conj) return;
    at_ = op<"clone">(op<"to.dtype">(t, type), MemoryFormat::contiguous);
    if (at_->neg) at_ = op<"resolve_neg">(at_);
  }
  template <class T> T* data() const { return home_.defined() ? at_.ptr<T>() : nullptr; }
  void written() const {
    if (!at_.is(home_)) op_list<"copy_">(home_, at_);  // counts the write itself
    else if (!home_->inference) home_->bump_version();
  }

 private:
  Tensor home_, at_;
};

template <class T> FB_SIMD Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> FB_SIMD void store(T* p, Vec<T> v) { std::memcpy(p, &v, sizeof v); }

// f(T* x...) on whole vectors at x..., in place; the last elements pass through a padded buffer, so that every element
// is computed alike. Absent (null) arrays stand for buffers of their own.
template <class T, int N, class F> void over(int64_t n, T* const (&arrays)[N], F f) {
  constexpr int L = Vec<T>::lanes;
  parallel_for(0, n, kGrain, [&](int64_t lo, int64_t hi) {
    alignas(32) T pad[N][L];
    for (auto& row : pad)
      for (T& x : row) x = T(1);
    T* p[N];
    int64_t i = lo;
    for (int k = 0; k < N; ++k) p[k] = arrays[k] ? arrays[k] + i : pad[k];
    for (; i + L <= hi; i += L) {
      f(p);
      for (int k = 0; k < N; ++k)
        if (arrays[k]) p[k] += L;
    }
    if (i == hi) return;
    const size_t rest = size_t(hi - i) * sizeof(T);
    T* q[N];
    for (int k = 0; k < N; ++k) {
      q[k] = pad[k];
      if (arrays[k]) std::memcpy(pad[k], p[k], rest);
    }
    f(q);
    for (int k = 0; k < N; ++k)
      if (arrays[k]) std::memcpy(p[k], pad[k], rest);
  });
}

struct Decay {
  double weight;
  bool maximize, scaled;
  double scale;
};

// The gradient after scaling (written back), sign and weight decay.
template <class T> FB_SIMD Vec<T> gradient(T* g, Vec<T> p, const Decay& d) {
  Vec<T> v = load(g);
  if (d.scaled) {
    v = v / Vec<T>(T(d.scale));
    store(g, v);
  }
  if (d.maximize) v = -v;
  if (d.weight != 0) v = cards::Add::fn<Vec<T>>(v, p, Vec<T>(T(d.weight)));
  return v;
}

struct Sgd {
  double momentum, lr, dampening;
  bool nesterov, first;
};

template <class T> void sgd_loop(int64_t n, T* p, T* g, T* buf, const Sgd& s, const Decay& d) {
  using V = Vec<T>;
  const V momentum(T(s.momentum)), step(T(-s.lr)), damp(T(1 - s.dampening));
  T* const arrays[] = {p, g, buf};
  over(n, arrays, [&](T* const* x) {
    const V w = load(x[0]);
    V v = gradient(x[1], w, d);
    if (buf) {
      const V b = s.first ? v : cards::Add::fn<V>(load(x[2]) * momentum, v, damp);
      store(x[2], b);
      v = s.nesterov ? cards::Add::fn<V>(v, b, momentum) : b;
    }
    store(x[0], cards::Add::fn<V>(w, v, step));
  });
}

struct Adam {
  double lr, beta1, beta2, eps, shrink;  // shrink: 1 - lr * weight decay where that is decoupled, else 1
};

template <class T> void adam_loop(int64_t n, T* p, T* g, T* mean, T* square, T* top, double t, const Adam& s, const Decay& d) {
  using V = Vec<T>;
  const V w1(T(1 - s.beta1)), beta2(T(s.beta2)), w2(T(1 - s.beta2)), eps(T(s.eps)), shrink(T(s.shrink));
  const V root(T(std::sqrt(1 - std::pow(s.beta2, t)))), size(T(-(s.lr / (1 - std::pow(s.beta1, t)))));
  T* const arrays[] = {p, g, mean, square, top};
  over(n, arrays, [&](T* const* x) {
    V w = load(x[0]);
    if (s.shrink != 1) w = w * shrink;
    const V v = gradient(x[1], w, d);
    const V m = cards::LerpScalar::fn<V>(load(x[2]), v, w1);
    V q = cards::Addcmul::fn<V>(load(x[3]) * beta2, v, v, w2);
    store(x[2], m);
    store(x[3], q);
    if (top) {
      const V known = load(x[4]);
      q = select(isnan(known) | (known > q), known, q);
      store(x[4], q);
    }
    store(x[0], cards::Addcdiv::fn<V>(w, m, sqrt(q) / root + eps, size));
  });
}

// Calls f(T{}) for the type a loop computes in: float for the half types, too.
template <class F> void in_type(DType t, F f) {
  if (t == DType::f64) f(double());
  else f(float());
}
DType loop_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

std::tuple<> sgd_step(TensorSpan self, TensorSpan grads, TensorSpan bufs, double decay, double momentum, double lr, double dampening,
                      bool nesterov, bool maximize, bool first, const Tensor& grad_scale, const Tensor& found_inf) {
  const char* name = "_fused_sgd_";
  check_self(name, self);
  check_list(name, "grads", self, grads);
  const bool with = momentum != 0;
  if (with || bufs.size()) check_list(name, "momentum_buffer_list", self, bufs);
  if (found(found_inf)) return {};
  GradMode no(false);
  const Decay d{decay, maximize, grad_scale.defined(), grad_scale.defined() ? number_of(grad_scale) : 1};
  const Sgd s{momentum, lr, dampening, nesterov, first};
  for (int64_t i = 0; i < self.size(); ++i) {
    const DType type = loop_type(self[i].dtype());
    const Working p(self[i], type), g(grads[i], type), b = with ? Working(bufs[i], type) : Working();
    in_type(type, [&]<class T>(T) { sgd_loop<T>(self[i].numel(), p.data<T>(), g.data<T>(), b.data<T>(), s, d); });
    p.written();
    if (with) b.written();
    if (d.scaled) g.written();
  }
  return {};
}

std::tuple<> adam_step(const char* name, bool decoupled, TensorSpan self, TensorSpan grads, TensorSpan means, TensorSpan squares,
                       TensorSpan tops, TensorSpan steps, double lr, double beta1, double beta2, double decay, double eps,
                       bool amsgrad, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  check_self(name, self);
  check_list(name, "grads", self, grads);
  check_list(name, "exp_avgs", self, means);
  check_list(name, "exp_avg_sqs", self, squares);
  if (amsgrad) check_list(name, "max_exp_avg_sqs", self, tops);
  FB_CHECK(steps.size() == self.size(), name, ": state_steps holds ", steps.size(), " tensors and self ", self.size(), "; both must be as long");
  if (found(found_inf)) return {};
  GradMode no(false);
  const Decay d{decoupled ? 0 : decay, maximize, grad_scale.defined(), grad_scale.defined() ? number_of(grad_scale) : 1};
  const Adam s{lr, beta1, beta2, eps, decoupled ? 1 - lr * decay : 1};
  for (int64_t i = 0; i < self.size(); ++i) {
    const DType type = loop_type(self[i].dtype());
    const Working p(self[i], type), g(grads[i], type), m(means[i], type), v(squares[i], type), x = amsgrad ? Working(tops[i], type) : Working();
    const double t = number_of(steps[i]);
    in_type(type, [&]<class T>(T) {
      adam_loop<T>(self[i].numel(), p.data<T>(), g.data<T>(), m.data<T>(), v.data<T>(), x.data<T>(), t, s, d);
    });
    p.written();
    m.written();
    v.written();
    if (amsgrad) x.written();
    if (d.scaled) g.written();
  }
  return {};
}

template <class Lr> std::tuple<> sgd(TensorSpan p, TensorSpan g, TensorSpan b, double decay, double momentum, Lr lr, double dampening,
                                     bool nesterov, bool maximize, bool first, const Tensor& scale, const Tensor& inf) {
  if constexpr (std::is_same_v<Lr, double>) return sgd_step(p, g, b, decay, momentum, lr, dampening, nesterov, maximize, first, scale, inf);
  else return sgd_step(p, g, b, decay, momentum, number_of(lr), dampening, nesterov, maximize, first, scale, inf);
}
template <bool decoupled, class Lr>
std::tuple<> adam(TensorSpan p, TensorSpan g, TensorSpan m, TensorSpan v, TensorSpan x, TensorSpan t, Lr lr, double beta1, double beta2,
                  double decay, double eps, bool amsgrad, bool maximize, const Tensor& scale, const Tensor& inf) {
  const char* name = decoupled ? "_fused_adamw_" : "_fused_adam_";
  double rate;
  if constexpr (std::is_same_v<Lr, double>) rate = lr;
  else rate = number_of(lr);
  return adam_step(name, decoupled, p, g, m, v, x, t, rate, beta1, beta2, decay, eps, amsgrad, maximize, scale, inf);
}

constexpr auto sgd_number = &sgd<double>;
constexpr auto sgd_tensor = &sgd<const Tensor&>;
constexpr auto adam_number = &adam<false, double>;
constexpr auto adam_tensor = &adam<false, const Tensor&>;
constexpr auto adamw_number = &adam<true, double>;
constexpr auto adamw_tensor = &adam<true, const Tensor&>;

}  // namespace

FB_KERNEL_DIRECT("_fused_sgd_", *sgd_number)
FB_KERNEL_DIRECT("_fused_sgd_.tensor_lr", *sgd_tensor)
FB_KERNEL_DIRECT("_fused_adam_", *adam_number)
FB_KERNEL_DIRECT("_fused_adam_.tensor_lr", *adam_tensor)
FB_KERNEL_DIRECT("_fused_adamw_", *adamw_number)
FB_KERNEL_DIRECT("_fused_adamw_.tensor_lr", *adamw_tensor)

}  // namespace fb
