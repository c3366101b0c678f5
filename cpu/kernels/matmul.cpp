// Matrix products: cards' arguments to the packed engine of cpu/product/.
#include "cpu/product/gemm.h"
#include "dispatch/box.h"

namespace fb {
namespace {

// Sizes and strides of a batch of matrices; missing leading dimensions have stride 0.
struct Mat {
  int64_t batch = 1, rows = 1, cols = 1, sb = 0, sr = 0, sc = 0;
};
Mat mat(const Tensor& t) {
  const int64_t n = t.ndim();
  auto sz = t.sizes();
  auto st = t.strides();
  Mat m;
  if (n > 0) m.cols = sz[n - 1], m.sc = st[n - 1];
  if (n > 1) m.rows = sz[n - 2], m.sr = st[n - 2];
  if (n > 2) m.batch = sz[0], m.sb = st[0];
  return m;
}
// Strides of a tensor that broadcasts to the result.
Mat added(const Tensor& t) {
  Mat m = mat(t);
  if (m.cols == 1) m.sc = 0;
  if (m.rows == 1) m.sr = 0;
  if (m.batch == 1) m.sb = 0;
  return m;
}

template <class F> void on_type(const char* name, DType d, F&& f) {
  const bool ok = visit_types<float, double, half, bfloat16, cfloat, cdouble, uint8_t, int8_t, int16_t, int32_t, int64_t>(d, f);
  if (!ok) raise_not_implemented("operator ", name, " is not implemented for type ", d);
}

// out = beta * self + alpha * a @ b, with a and b as given by their matrices.
template <class T>
void run(Tensor& out, const Mat& o, const Tensor& a, const Mat& ma, const Tensor& b, const Mat& mb, const Tensor* self, Scalar beta, Scalar alpha) {
  using Scale = typename product::Gemm<T>::Scale;
  product::Gemm<T> g;
  g.batch = o.batch;
  g.m = o.rows;
  g.n = o.cols;
  g.k = ma.cols;
  g.a = a.ptr<T>(), g.a_row = ma.sr, g.a_col = ma.sc, g.a_batch = ma.sb;
  g.b = b.ptr<T>(), g.b_row = mb.sr, g.b_col = mb.sc, g.b_batch = mb.sb;
  g.c = out.ptr<T>(), g.c_row = o.sr, g.c_col = o.sc, g.c_batch = o.sb;
  if (self && beta.to_bool()) {
    const Mat s = added(*self);
    g.add = self->ptr<T>(), g.add_row = s.sr, g.add_col = s.sc, g.add_batch = s.sb;
    g.beta = beta.to<Scale>();
  }
  g.alpha = alpha.to<Scale>();
  if (g.m && g.n && g.batch) product::gemm(g);
}

void mm_cpu(Tensor& out, const Tensor& a, const Tensor& b) {
  on_type("mm", out.dtype(), [&]<class T>() { run<T>(out, mat(out), a, mat(a), b, mat(b), nullptr, 0, 1); });
}
void addmm_cpu(Tensor& out, const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  on_type("addmm", out.dtype(), [&]<class T>() { run<T>(out, mat(out), a, mat(a), b, mat(b), &self, beta, alpha); });
}
void bmm_cpu(Tensor& out, const Tensor& a, const Tensor& b) {
  on_type("bmm", out.dtype(), [&]<class T>() { run<T>(out, mat(out), a, mat(a), b, mat(b), nullptr, 0, 1); });
}
void baddbmm_cpu(Tensor& out, const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  on_type("baddbmm", out.dtype(), [&]<class T>() { run<T>(out, mat(out), a, mat(a), b, mat(b), &self, beta, alpha); });
}

// The sum over the batch is one more part of k: [b, n, m] x [b, m, p] as n x (b m) times (b m) x p, batch by batch.
void addbmm_cpu(Tensor& out, const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  on_type("addbmm", out.dtype(), [&]<class T>() {
    const Mat ma = mat(a), mb = mat(b), o = mat(out);
    for (int64_t i = 0; i < ma.batch || i == 0; ++i) {
      Mat x = ma, y = mb;
      x.batch = y.batch = 1;
      if (ma.batch == 0) x.cols = 0;
      const Tensor ai = ma.batch ? a.alias({x.rows, x.cols}, {x.sr, x.sc}, a.offset() + i * ma.sb) : a;
      const Tensor bi = mb.batch ? b.alias({y.rows, y.cols}, {y.sr, y.sc}, b.offset() + i * mb.sb) : b;
      run<T>(out, o, ai, x, bi, y, i ? &out : &self, i ? Scalar(1) : beta, alpha);
    }
  });
}

Mat column(const Tensor& v) { return {1, v.sizes()[0], 1, 0, v.strides()[0], 0}; }
Mat row(const Tensor& v) { return {1, 1, v.sizes()[0], 0, 0, v.strides()[0]}; }

void mv_cpu(Tensor& out, const Tensor& a, const Tensor& v) {
  on_type("mv", out.dtype(), [&]<class T>() { run<T>(out, column(out), a, mat(a), v, column(v), nullptr, 0, 1); });
}
void addmv_cpu(Tensor& out, const Tensor& self, const Tensor& a, const Tensor& v, Scalar beta, Scalar alpha) {
  on_type("addmv", out.dtype(), [&]<class T>() {
    const int64_t n = out.numel();
    const Tensor s = self.alias({n, 1}, {self.numel() == 1 ? 0 : self.strides()[0], 0}, self.offset());
    run<T>(out, column(out), a, mat(a), v, column(v), &s, beta, alpha);
  });
}
void dot_cpu(Tensor& out, const Tensor& a, const Tensor& b) {
  on_type("dot", out.dtype(), [&]<class T>() { run<T>(out, Mat{}, a, row(a), b, column(b), nullptr, 0, 1); });
}
void vdot_cpu(Tensor& out, const Tensor& a, const Tensor& b) {
  on_type("vdot", out.dtype(), [&]<class T>() {
    if constexpr (is_complex_v<T>) {
      product::Gemm<T> g;
      g.m = g.n = 1;
      g.k = a.numel();
      g.a = a.ptr<T>(), g.a_col = a.strides()[0];
      g.b = b.ptr<T>(), g.b_row = b.strides()[0];
      g.c = out.ptr<T>();
      g.conj_a = true;
      product::gemm(g);
    } else {
      run<T>(out, Mat{}, a, row(a), b, column(b), nullptr, 0, 1);
    }
  });
}

FB_KERNEL("mm", mm_cpu)
FB_KERNEL("addmm", addmm_cpu)
FB_KERNEL("bmm", bmm_cpu)
FB_KERNEL("baddbmm", baddbmm_cpu)
FB_KERNEL("addbmm", addbmm_cpu)
FB_KERNEL("mv", mv_cpu)
FB_KERNEL("addmv", addmv_cpu)
FB_KERNEL("dot", dot_cpu)
FB_KERNEL("vdot", vdot_cpu)

}  // namespace
}  // namespace fb
