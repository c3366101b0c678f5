// var std var_mean std_mean linalg_vector_norm logsumexp equal hash_tensor.
#include <cmath>
#include <memory>

#include "cpu/kernels/reduce_bodies.h"
#include "cpu/loops/convert.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "ops/math/math.h"
#include "ops/reduce/passes.h"
#include "ops/reduce/shape.h"

namespace fb {
namespace {

// `like`'s shape in another type.
Tensor same_shape(const Tensor& like, DType d) { return Tensor::empty(like.sizes(), {d, like.device()}); }
// t in type d, contiguous.
Tensor as_type(const Tensor& t, DType d) {
  if (t.dtype() == d && t.is_contiguous()) return t;
  const Tensor r = same_shape(t, d);
  if (t.numel()) op_list<"copy_">(r, t);
  return r;
}
// The real (part 0) or imaginary (part 1) numbers of a complex tensor, in place.
Tensor part_of(const Tensor& t, int part) {
  Dims strides(t.strides());
  for (int64_t& s : strides) s *= 2;
  return Tensor::over(t.storage(), to_real(t.dtype()), t.sizes(), strides, 2 * t.offset() + part);
}

// Sums of squared distances from the mean, and the mean itself where asked, both in the compute type.
Tensor squared_sums(const Tensor& out, const Tensor& self, uint64_t mask, Tensor* mean_out) {
  const DType c = compute_type(self.dtype());
  const Tensor mean = same_shape(out, c), sum = same_shape(out, c);
  reduce_into(mean, self, mask, sum_body(c), mean_finish(c));
  reduce_into(sum, self, mask, squared_deviation_body(c), nullptr, 0, out.numel() ? mean.data() : nullptr);
  if (mean_out) *mean_out = mean;
  return sum;
}
void spread(const Tensor& out, const Tensor* mean, const Tensor& self, Ints dim, double correction, bool root) {
  if (out.numel() == 0) return;
  GradMode no(false);
  const uint64_t mask = reduce_mask(dim, self.ndim());
  int64_t count = 1;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (mask >> d & 1) count *= self.sizes()[d];
  Tensor sum;
  if (self.is_complex()) {
    Tensor re, im;
    sum = squared_sums(out, part_of(self, 0), mask, &re);
    const Tensor other = squared_sums(out, part_of(self, 1), mask, &im);
    visit_real_compute(sum.dtype(), [&]<class A>() {
      for (int64_t i = 0; i < sum.numel(); ++i) sum.ptr<A>()[i] += other.ptr<A>()[i];
    });
    if (mean) {
      op_list<"copy_">(part_of(*mean, 0), re);
      op_list<"copy_">(part_of(*mean, 1), im);
    }
  } else {
    Tensor m;
    sum = squared_sums(out, self, mask, &m);
    if (mean) op_list<"copy_">(*mean, m);
  }
  const double left = std::max(0.0, double(count) - correction);
  visit_real_compute(sum.dtype(), [&]<class A>() {
    A* v = sum.ptr<A>();
    for (int64_t i = 0; i < sum.numel(); ++i)
      v[i] = root ? passes::spread<true>::finish(v[i], A(left)) : passes::spread<false>::finish(v[i], A(left));
  });
  convert_run(static_cast<char*>(out.data()), out.item_bytes(), out.dtype(), static_cast<const char*>(sum.data()), sum.item_bytes(), sum.dtype(), out.numel());
}
using Correction = std::optional<Scalar>;
void var_cpu(Tensor& out, const Tensor& self, Ints dim, Correction c, bool) { spread(out, nullptr, self, dim, correction_of(c), false); }
void std_cpu(Tensor& out, const Tensor& self, Ints dim, Correction c, bool) { spread(out, nullptr, self, dim, correction_of(c), true); }
void var_mean_cpu(Tensor& out, Tensor& mean, const Tensor& self, Ints dim, Correction c, bool) { spread(out, &mean, self, dim, correction_of(c), false); }
void std_mean_cpu(Tensor& out, Tensor& mean, const Tensor& self, Ints dim, Correction c, bool) { spread(out, &mean, self, dim, correction_of(c), true); }

template <class A> void root_of_sum(void* v, int64_t n, int64_t, double p) {
  A* a = static_cast<A*>(v);
  for (int64_t i = 0; i < n; ++i) {
    const A s = a[i] + A(0);
    a[i] = p == 2 ? std::sqrt(s) : p == 1 || p == 0 || std::isinf(p) ? s : math::pow(s, A(1 / p));
  }
}
void vector_norm_cpu(Tensor& out, const Tensor& self, Scalar ord, Ints dim, bool, DType dtype) {
  GradMode no(false);
  Tensor x = self;
  if (dtype != DType::none && dtype != self.dtype() && (self.is_complex() || is_complex(dtype))) x = as_type(self, dtype);
  if (x.is_complex()) x = op<"abs">(x);
  const DType c = compute_type(out.dtype());
  const double p = ord.to_double();
  const float p32 = float(p);
  const void* param = c == DType::f32 ? static_cast<const void*>(&p32) : &p;
  const bool general = !(p == 0 || p == 1 || p == 2 || std::isinf(p));
  reduce_into(out, x, reduce_mask(dim, x.ndim()), norm_body(c, p), c == DType::f32 ? &root_of_sum<float> : &root_of_sum<double>, p,
              general ? param : nullptr, true);
}

void logsumexp_cpu(Tensor& out, const Tensor& self, Ints dim, bool) {
  if (out.numel() == 0) return;
  GradMode no(false);
  const uint64_t mask = reduce_mask(dim, self.ndim());
  if (self.numel() == 0) {
    op<"fill_">(out, Scalar(-std::numeric_limits<double>::infinity()));
    return;
  }
  if (self.is_complex()) {
    // The greatest real part is taken out; the rest are complex exponentials.
    Dims all;
    for (int64_t d = 0; d < self.ndim(); ++d)
      if (mask >> d & 1) all.push_back(d);
    const Tensor real = as_type(part_of(self, 0), to_real(self.dtype()));
    Tensor top = all.empty() ? real : op<"amax">(real, all, true);
    top = op<"where">(op<"isfinite">(top), top, op<"zeros_like">(top));
    const Tensor e = op<"exp">(op<"sub">(self, top));
    const Tensor s = all.empty() ? e : op<"sum">(e, all, true);
    op_list<"copy_">(out, op<"reshape">(op<"add">(op<"log">(s), top), out.sizes()));
    return;
  }
  const DType c = compute_type(out.dtype());
  const Tensor top = same_shape(out, c), sum = same_shape(out, c);
  reduce_into(top, self, mask, max_body(c));
  visit_real_compute(c, [&]<class A>() {
    A *t = top.ptr<A>(), *s = sum.ptr<A>();
    for (int64_t i = 0; i < top.numel(); ++i)
      if (std::isinf(t[i])) t[i] = 0;
    reduce_into(sum, self, mask, exp_sum_body(c), nullptr, 0, t);
    for (int64_t i = 0; i < top.numel(); ++i) s[i] = math::log(s[i] + A(0)) + t[i];
  });
  convert_run(static_cast<char*>(out.data()), out.item_bytes(), out.dtype(), static_cast<const char*>(sum.data()), sum.item_bytes(), c, out.numel());
}

bool equal_cpu(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return false;
  if (a.numel() == 0) return true;
  GradMode no(false);
  return *op<"all">(op<"eq">(a, b)).ptr<bool>();
}

void hash_tensor_cpu(Tensor& out, const Tensor& self, Ints dim, bool, int64_t) {
  const Tensor bits = Tensor::over(out.storage(), DType::i64, out.sizes(), out.strides(), out.offset());
  reduce_into(bits, self, reduce_mask(dim, self.ndim()), bits_xor_body(!is_integral(self.dtype(), true)));
}

}  // namespace

FB_KERNEL("var.correction", var_cpu)
FB_KERNEL("std.correction", std_cpu)
FB_KERNEL("var_mean.correction", var_mean_cpu)
FB_KERNEL("std_mean.correction", std_mean_cpu)
FB_KERNEL("linalg_vector_norm", vector_norm_cpu)
FB_KERNEL("logsumexp", logsumexp_cpu)
FB_KERNEL_DIRECT("equal", equal_cpu)
FB_KERNEL("hash_tensor", hash_tensor_cpu)

}  // namespace fb
