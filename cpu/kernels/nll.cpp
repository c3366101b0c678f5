// Negative log likelihood: picks one log-probability a sample. The sum runs in the order of the targets, in double.
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// Input as (samples, classes, positions).
struct View {
  int64_t n = 1, c = 1, p = 1, sn = 0, sc = 0;
  Tensor x, t;  // x: any strides over n and c, positions joined; t: contiguous
};
View view_of(const Tensor& x0, const Tensor& t0) {
  View v;
  v.x = x0.ndim() == 4 ? op<"contiguous">(x0) : x0;
  v.t = op<"contiguous">(t0.dtype() == DType::i64 ? t0 : op<"to.dtype">(t0, DType::i64));
  if (x0.ndim() == 1) v.c = x0.sizes()[0], v.sc = x0.strides()[0];
  else v.n = x0.sizes()[0], v.c = x0.sizes()[1], v.sn = v.x.strides()[0], v.sc = v.x.strides()[1];
  if (x0.ndim() == 4) v.p = x0.sizes()[2] * x0.sizes()[3];
  FB_CHECK(v.t.numel() == v.n * v.p, "nll_loss: target has shape ", t0.sizes(), ", the input ", x0.sizes());
  return v;
}
int64_t checked(int64_t t, int64_t classes) {
  FB_CHECK_INDEX(t >= 0 && t < classes, "Target ", t, " is out of bounds: there are ", classes, " classes");
  return t;
}
template <class F> void on_type(DType d, F&& f) {
  if (!visit_types<float, double, half, bfloat16>(d, f)) raise_not_implemented("operator nll_loss is not implemented for type ", d);
}

void forward(Tensor& out, Tensor& total, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore) {
  const View v = view_of(x, target);
  const Tensor w = weight.defined() ? op<"contiguous">(weight) : weight;
  on_type(x.dtype(), [&]<class T>() {
    using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T *px = v.x.template ptr<T>(), *pw = w.defined() ? w.ptr<T>() : nullptr;
    const int64_t* pt = v.t.template ptr<int64_t>();
    const bool each = reduction == 0;
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < v.n; ++i)
      for (int64_t q = 0; q < v.p; ++q) {
        const int64_t t = pt[i * v.p + q];
        if (t == ignore) {
          if (each) out.ptr<T>()[i * v.p + q] = T(0);
          continue;
        }
        const S wt = pw ? S(pw[checked(t, v.c)]) : S(1);
        const S l = -S(px[i * v.sn + checked(t, v.c) * v.sc + q]) * wt;
        if (each) out.ptr<T>()[i * v.p + q] = T(l);
        sum += double(l);
        weights += double(wt);
      }
    if (!each) *out.ptr<T>() = T(S(reduction == 1 ? sum / weights : sum));
    *total.ptr<T>() = T(S(each ? 0 : weights));
  });
}

void backward(Tensor& gx, const Tensor& g, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore, const Tensor& total) {
  op_list<"zero_">(gx);
  const View v = view_of(gx, target);
  const Tensor w = weight.defined() ? op<"contiguous">(weight) : weight, gc = op<"contiguous">(g);
  on_type(x.dtype(), [&]<class T>() {
    using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
    T* p = gx.ptr<T>();
    const T* pw = w.defined() ? w.ptr<T>() : nullptr;
    const int64_t* pt = v.t.template ptr<int64_t>();
    for (int64_t i = 0; i < v.n; ++i)
      for (int64_t q = 0; q < v.p; ++q) {
        const int64_t t = pt[i * v.p + q];
        if (t == ignore) continue;
        const S gi = S(gc.ptr<T>()[reduction == 0 ? i * v.p + q : 0]);
        S r = -gi * (pw ? S(pw[checked(t, v.c)]) : S(1));
        if (reduction == 1) r = r / S(*total.ptr<T>());
        p[i * v.sn + checked(t, v.c) * v.sc + q] = T(r);
      }
  });
}

FB_KERNEL("nll_loss_forward", forward)
FB_KERNEL("nll_loss_backward", backward)
FB_KERNEL("nll_loss2d_forward", forward)
FB_KERNEL("nll_loss2d_backward", backward)

}  // namespace
}  // namespace fb
