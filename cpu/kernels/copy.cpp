// Kernels of ops/create/copy.h and fill.h.
#include "cpu/loops/copy.h"

#include <atomic>
#include <cmath>

#include "core/threads.h"
#include "dispatch/box.h"

namespace fb {
namespace {

// The parts of complex numbers, side by side: (..., 2), as they lie in memory.
Tensor parts(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  for (int64_t i = 0; i < strides.size(); ++i) strides[i] *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  const Tensor p = t.alias(sizes, strides, 2 * t.offset());
  p->dtype = to_real(t.dtype());
  p->conj = p->neg = false;
  return p;
}

void copy_into(const Tensor& self, const Tensor& src);

// From or to complex32, whose parts are converted by themselves.
void convert_complex32(const Tensor& self, const Tensor& src) {
  if (src.dtype() == DType::c32) {
    const Tensor wide = Tensor::empty(src.sizes(), {DType::c64, Device()});
    copy_into(parts(wide), parts(src));
    wide->conj = src.is_conj();
    wide->neg = src.is_neg();
    return copy_into(self, wide);
  }
  const Tensor wide = Tensor::empty(self.sizes(), {DType::c128, Device()}), narrow = Tensor::empty(self.sizes(), {DType::c32, Device()});
  copy_into(wide, src);
  copy_into(parts(narrow), parts(wide));
  copy_into(self, narrow);
}

void copy_into(const Tensor& self, const Tensor& src) {
  const DType to = self.dtype(), from = src.dtype();
  if (!src.device().is_cpu())
    raise_not_implemented("copy from ", src.device(), ": a tensor of shape ", src.sizes(), " there has no data that could be read");
  if (self.numel() == 0) return;
  const bool conj = self.is_conj() != src.is_conj(), neg = self.is_neg() != src.is_neg();
  if (to == from && self.is_contiguous() && src.is_contiguous() && self.numel() == src.numel() && !conj && !neg) {
    if (self.data() == src.data()) return;
    if (!may_overlap(self, src)) return copy_bytes(self.ptr<char>(), src.ptr<char>(), self.numel() * self.item_bytes());
  }
  if (to != from && (to == DType::c32 || from == DType::c32)) return convert_complex32(self, src);
  FB_CHECK(!has_internal_overlap(self), "copy_: several elements of self (shape ", self.sizes(), ", strides ", self.strides(),
           ") are one place in memory; clone() it before it is written");
  if (fb::is_complex(from) && !fb::is_complex(to))
    warn("a conversion from complex to real drops the imaginary part");
  const int64_t n = self.ndim(), item = self.item_bytes(), src_item = src.item_bytes();
  Dims ss(n, 0);
  for (int64_t i = 0; i < src.ndim(); ++i)
    if (src.sizes()[i] != 1) ss[n - src.ndim() + i] = src.strides()[i] * src_item;
  const Dims ds = byte_strides(self.strides(), item);
  if (may_overlap(self, src)) {
    if (self.data() == src.data() && ds == ss && to == from) {
      if (!conj && !neg) return;
    }
    // Read all of src before anything is written.
    const Tensor held = Tensor::empty(src.sizes(), src.options());
    copy_strided(held.ptr<char>(), byte_strides(held.strides(), src_item), from, src.ptr<char>(), byte_strides(src.strides(), src_item), from, src.sizes());
    Dims hs(n, 0);
    for (int64_t i = 0; i < src.ndim(); ++i)
      if (src.sizes()[i] != 1) hs[n - src.ndim() + i] = held.strides()[i] * src_item;
    return copy_strided(self.ptr<char>(), ds, to, held.ptr<char>(), hs, from, self.sizes(), conj, neg);
  }
  copy_strided(self.ptr<char>(), ds, to, src.ptr<char>(), ss, from, self.sizes(), conj, neg);
}

void copy_cpu(const Tensor& self, const Tensor& src, bool) { copy_into(self, src); }
void clone_cpu(Tensor& out, const Tensor& self, std::optional<MemoryFormat>) { copy_into(out, self); }
void to_copy_cpu(Tensor& out, const Tensor& self, DType, std::optional<Layout>, std::optional<Device>, std::optional<bool>, bool, std::optional<MemoryFormat>) {
  copy_into(out, self);
}

void fill_value(const Tensor& self, Scalar v) {
  if (self.numel() == 0) return;
  if (v.is_complex() && self.is_conj()) v = Scalar(cdouble(v.to_complex().re, -v.to_complex().im));
  alignas(16) char bytes[16] = {};
  if (self.dtype() == DType::c32) {
    const cdouble c = v.to_complex();
    const double sign = self.is_neg() ? -1 : 1;
    const half pair[2] = {half(float(sign * c.re)), half(float(sign * c.im))};
    std::memcpy(bytes, pair, sizeof pair);
  }
  const bool known = self.dtype() == DType::c32 || visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, float, double, cfloat, cdouble, bool, bfloat16, uint16_t,
                                 uint32_t, uint64_t, float8_e5m2, float8_e4m3fn>(self.dtype(), [&]<class T>() {
    T x = v.to<T>();
    if (self.is_neg()) {
      if constexpr (std::is_integral_v<T>) x = T(T(0) - x);
      else if constexpr (is_complex_v<T>) x = T(-x.re, -x.im);
      else if constexpr (std::is_same_v<T, double>) x = -x;
      else x = T(-float(x));
    }
    std::memcpy(bytes, &x, sizeof x);
  });
  if (!known) raise_not_implemented("fill_: type ", self.dtype(), " is not there yet");
  if (self.is_contiguous()) return fill_strided(self.ptr<char>(), Ints({self.item_bytes()}), bytes, self.item_bytes(), Ints({self.numel()}));
  fill_strided(self.ptr<char>(), byte_strides(self.strides(), self.item_bytes()), bytes, self.item_bytes(), self.sizes());
}
void fill_cpu(const Tensor& self, const Scalar& v) { fill_value(self, v); }
void zero_cpu(const Tensor& self) { fill_value(self, Scalar(0)); }

Scalar value_of(const Tensor& self) {
  Scalar out;
  if (self.dtype() == DType::c32) {
    const half* const p = static_cast<const half*>(self.data());
    return Scalar(cdouble(float(p[0]), float(p[1])));
  }
  const bool known = visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, float, double, cfloat, cdouble, bool, bfloat16, uint16_t,
                                 uint32_t, uint64_t, float8_e5m2, float8_e4m3fn>(self.dtype(), [&]<class T>() {
    const T x = *self.ptr<T>();
    if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, bool>) out = Scalar(x);
    else if constexpr (std::is_integral_v<T>) out = Scalar(int64_t(x));
    else if constexpr (is_complex_v<T>) out = Scalar(cdouble(x));
    else if constexpr (std::is_same_v<T, double>) out = Scalar(x);
    else out = Scalar(double(float(x)));
  });
  if (!known) raise_not_implemented("item: type ", self.dtype(), " is not there yet");
  return out;
}
Scalar local_scalar_cpu(const Tensor& self) {
  FB_CHECK(self.numel() == 1, "_local_scalar_dense: takes a tensor of one element, the shape is ", self.sizes());
  return value_of(self);
}

// A number given as a tensor may have bits of its own.
void fill_tensor_cpu(const Tensor& self, const Tensor& value) {
  Tensor plain = value;
  if (value.is_conj() || value.is_neg()) {
    plain = Tensor::empty({}, value.options());
    copy_into(plain, value);
  }
  fill_value(self, value_of(plain));
}

bool has_nan_cpu(const Tensor& self) {
  if (!self.is_floating() && !self.is_complex()) return false;
  Tensor t = self;
  if (!self.is_contiguous()) {
    t = Tensor::empty(self.sizes(), self.options());
    copy_into(t, self);
  }
  std::atomic<bool> found{false};
  const int64_t n = t.numel() * (t.is_complex() ? 2 : 1);
  visit_types<float, double, half, bfloat16, float8_e5m2, float8_e4m3fn>(to_real(t.dtype()), [&]<class T>() {
    const T* p = t.ptr<T>();
    parallel_for(0, n, 1 << 15, [&](int64_t lo, int64_t hi) {
      bool any = false;
      for (int64_t i = lo; i < hi; ++i) {
        if constexpr (std::is_arithmetic_v<T>) any |= p[i] != p[i];
        else any |= float(p[i]) != float(p[i]);
      }
      if (any) found.store(true, std::memory_order_relaxed);
    });
  });
  return found;
}

}  // namespace

FB_KERNEL_DIRECT("copy_", copy_cpu)
FB_KERNEL("clone", clone_cpu)
FB_KERNEL("_to_copy", to_copy_cpu)
FB_KERNEL_DIRECT("fill_.Scalar", fill_cpu)
FB_KERNEL_DIRECT("fill_.Tensor", fill_tensor_cpu)
FB_KERNEL_DIRECT("zero_", zero_cpu)
FB_KERNEL_DIRECT("_local_scalar_dense", local_scalar_cpu)
FB_KERNEL_DIRECT("_has_nan", has_nan_cpu)

}  // namespace fb
