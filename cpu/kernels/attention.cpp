// Fused attention for CPUs. Half types compute in float and round once.
#include "cpu/kernels/attention.h"

#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/attention/attention.h"

namespace fb {
namespace {

using attention_loops::Attention;
using attention_loops::Heads;
using attention_loops::MaskRows;
using attention_loops::Shape;

Shape shape_of(const Tensor& q, const Tensor& k, bool causal, std::optional<double> scale) {
  return {q.sizes()[0], q.sizes()[1], k.sizes()[1], q.sizes()[2], k.sizes()[2], q.sizes()[3], causal, cards::attention::scale_of(q, scale)};
}
// In the compute type, features adjacent.
Tensor ready(const Tensor& t, DType type) {
  const Tensor x = t.dtype() == type ? t : op<"to">(t, type);
  return x.sizes()[3] <= 1 || x.strides()[3] == 1 ? x : op<"contiguous">(x);
}
template <class Real> MaskRows<Real> mask_rows(const Tensor& mask, const Shape& s, Tensor& keep) {
  MaskRows<Real> m;
  if (!mask.defined()) return m;
  keep = op<"expand">(mask.dtype() == dtype_of<Real> ? mask : op<"to">(mask, dtype_of<Real>), Dims{s.batch, s.heads, s.length, s.keys});
  m.p = keep.ptr<Real>();
  for (int i = 0; i < 4; ++i) m.stride[i] = keep.strides()[i];
  return m;
}

template <class Real>
void forward_as(Tensor& out, Tensor& lse, const Tensor& q0, const Tensor& k0, const Tensor& v0, bool causal, const Tensor& mask, std::optional<double> scale) {
  constexpr DType type = dtype_of<Real>;
  const Tensor q = ready(q0, type), k = ready(k0, type), v = ready(v0, type);
  const Shape s = shape_of(q, k, causal, scale);
  const Tensor result = out.dtype() == type ? out : Tensor::empty(out.sizes(), {type, out.device()});
  Tensor keep;
  Attention<Real>::forward(s, Heads<Real>(q), Heads<Real>(k), Heads<Real>(v), mask_rows<Real>(mask, s, keep), result, lse.ptr<Real>());
  if (!result.is(out)) op_list<"copy_">(out, result);
}
void attention_forward(Tensor& out, Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v, double, bool causal, const Tensor& mask, std::optional<double> scale) {
  if (out.numel() == 0) {
    if (lse.numel()) op_list<"zero_">(lse);
    return;
  }
  if (q.dtype() == DType::f64) forward_as<double>(out, lse, q, k, v, causal, mask, scale);
  else forward_as<float>(out, lse, q, k, v, causal, mask, scale);
}

template <class Real>
void backward_as(Tensor& gq, Tensor& gk, Tensor& gv, const Tensor& g0, const Tensor& q0, const Tensor& k0, const Tensor& v0, const Tensor& out0, const Tensor& lse0, bool causal,
                 const Tensor& mask, std::optional<double> scale) {
  constexpr DType type = dtype_of<Real>;
  const Tensor g = ready(g0, type), q = ready(q0, type), k = ready(k0, type), v = ready(v0, type), out = ready(out0, type), lse = lse0.dtype() == type ? lse0 : op<"to">(lse0, type);
  const Shape s = shape_of(q, k, causal, scale);
  auto result = [](const Tensor& t) { return t.dtype() == type ? t : Tensor::empty(t.sizes(), {type, t.device()}); };
  const Tensor dq = result(gq), dk = result(gk), dv = result(gv);
  Tensor keep;
  Attention<Real>::backward(s, Heads<Real>(g), Heads<Real>(q), Heads<Real>(k), Heads<Real>(v), Heads<Real>(out), lse, mask_rows<Real>(mask, s, keep), Heads<Real>(dq), Heads<Real>(dk),
                            Heads<Real>(dv));
  if (!dq.is(gq)) {
    op_list<"copy_">(gq, dq);
    op_list<"copy_">(gk, dk);
    op_list<"copy_">(gv, dv);
  }
}
void attention_backward(Tensor& gq, Tensor& gk, Tensor& gv, const Tensor& g, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse, double, bool causal,
              const Tensor& mask, std::optional<double> scale) {
  if (q.dtype() == DType::f64) backward_as<double>(gq, gk, gv, g, q, k, v, out, lse, causal, mask, scale);
  else backward_as<float>(gq, gk, gv, g, q, k, v, out, lse, causal, mask, scale);
}

}  // namespace

FB_KERNEL("_scaled_dot_product_flash_attention_for_cpu", attention_forward)
FB_KERNEL("_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward)

}  // namespace fb
