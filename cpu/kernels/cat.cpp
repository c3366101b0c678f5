// cat and stack: each tensor is copied into its slice of the result.
#include "cpu/loops/copy.h"
#include "dispatch/box.h"

namespace fb {
namespace {

void copy_part(const Tensor& out, int64_t offset, Ints strides, const Tensor& t) {
  copy_strided(out.ptr<char>() + offset * out.item_bytes(), byte_strides(strides, out.item_bytes()), out.dtype(), t.ptr<char>(),
               byte_strides(t.strides(), t.item_bytes()), t.dtype(), t.sizes());
}

void cat_cpu(Tensor& out, TensorSpan tensors, int64_t dim) {
  if (out.numel() == 0) return;
  const int64_t d = wrap_dim(dim, out.ndim());
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    copy_part(out, at * out.strides()[d], out.strides(), t);
    at += t.sizes()[d];
  }
}

void stack_cpu(Tensor& out, TensorSpan tensors, int64_t dim) {
  if (out.numel() == 0) return;
  const int64_t d = wrap_dim(dim, out.ndim());
  Dims strides(out.strides());
  const int64_t step = strides[d];
  strides.erase(d);
  for (int64_t i = 0; i < tensors.n; ++i) copy_part(out, i * step, strides, tensors[i]);
}

void flip_cpu(Tensor& out, const Tensor& self, Ints dims) {
  if (out.numel() == 0) return;
  const int64_t item = out.item_bytes();
  Dims strides = byte_strides(self.strides(), item);
  const char* from = self.ptr<char>();
  if (self.ndim() > 0)
    for (int64_t dim : dims) {
      const int64_t d = wrap_dim(dim, self.ndim());
      from += (self.sizes()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
  copy_strided(out.ptr<char>(), byte_strides(out.strides(), item), out.dtype(), from, strides, out.dtype(), out.sizes());
}

void complex_cpu(Tensor& out, const Tensor& re, const Tensor& im) {
  if (out.numel() == 0) return;
  const int64_t item = out.item_bytes(), half = item / 2, n = out.ndim();
  const Dims ds = byte_strides(out.strides(), item);
  auto part = [&](const Tensor& t, int64_t at) {
    Dims ss(n, 0);
    for (int64_t i = 0; i < t.ndim(); ++i)
      if (t.sizes()[i] != 1) ss[n - t.ndim() + i] = t.strides()[i] * half;
    copy_strided(out.ptr<char>() + at, ds, t.dtype(), t.ptr<char>(), ss, t.dtype(), out.sizes());
  };
  part(re, 0);
  part(im, half);
}

}  // namespace

FB_KERNEL("cat", cat_cpu)
FB_KERNEL("stack", stack_cpu)
FB_KERNEL("flip", flip_cpu)
FB_KERNEL("complex", complex_cpu)

}  // namespace fb
