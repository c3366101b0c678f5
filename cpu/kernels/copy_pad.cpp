// Reflection and replication padding of 1 to 3 dimensions. Every padded index has one source index along each dimension;
// the maps are made once, forward reads through them, backward adds through them in order.
#include <algorithm>
#include <vector>

#include "core/threads.h"
#include "cpu/loops/copy.h"
#include "dispatch/box.h"

namespace fb {
namespace {

// Source offset of each padded index along one dimension.
std::vector<int64_t> index_map(int64_t size, int64_t padded, int64_t before, int64_t stride, bool reflect) {
  std::vector<int64_t> m(static_cast<size_t>(padded));
  for (int64_t o = 0; o < padded; ++o) {
    int64_t i = o - before;
    if (reflect) {
      if (i < 0) i = -i;
      if (i >= size) i = 2 * (size - 1) - i;
    } else i = std::clamp<int64_t>(i, 0, size - 1);
    m[size_t(o)] = i * stride;
  }
  return m;
}

// The padded tensor as (batch, channel, depth, rows, columns), strides in bytes, and where each index comes from.
struct PadPlan {
  int64_t outer_n[2] = {1, 1}, outer[2] = {0, 0}, source_outer[2] = {0, 0};
  int64_t size[3] = {1, 1, 1}, stride[3] = {0, 0, 0}, source_size[3] = {1, 1, 1};
  std::vector<int64_t> map[3] = {{0}, {0}, {0}};
  int64_t count() const { return outer_n[0] * outer_n[1]; }
};
PadPlan plan_padding(const Tensor& padded, Ints source_sizes, Ints source_strides, Ints padding, bool reflect) {
  PadPlan p;
  const int64_t dims = padding.n / 2, n = padded.ndim(), item = padded.item_bytes();
  for (int64_t d = 0; d < n - dims; ++d) {
    const int64_t at = d + 2 - (n - dims);
    p.outer_n[at] = padded.sizes()[d];
    p.outer[at] = padded.strides()[d] * item;
    p.source_outer[at] = source_strides[d];
  }
  for (int64_t k = 3 - dims; k < 3; ++k) {
    const int64_t d = n - 3 + k;
    p.size[k] = padded.sizes()[d];
    p.stride[k] = padded.strides()[d] * item;
    p.source_size[k] = source_sizes[d];
    p.map[k] = index_map(source_sizes[d], p.size[k], padding[2 * (n - 1 - d)], source_strides[d], reflect);
  }
  return p;
}

template <class U> void forward(const Tensor& out, const Tensor& self, const PadPlan& p) {
  const int64_t rows = p.count() * p.size[0] * p.size[1];
  parallel_for(0, rows, std::max<int64_t>(1, (1 << 15) / p.size[2]), [&](int64_t lo, int64_t hi) {
    for (int64_t r = lo; r < hi; ++r) {
      const int64_t y = r % p.size[1], z = r / p.size[1] % p.size[0], o = r / (p.size[0] * p.size[1]);
      const int64_t o0 = o / p.outer_n[1], o1 = o % p.outer_n[1];
      char* dst = out.ptr<char>() + o0 * p.outer[0] + o1 * p.outer[1] + z * p.stride[0] + y * p.stride[1];
      const char* src = self.ptr<char>() + o0 * p.source_outer[0] + o1 * p.source_outer[1] + p.map[0][size_t(z)] + p.map[1][size_t(y)];
      const int64_t* x = p.map[2].data();
      for (int64_t i = 0; i < p.size[2]; ++i) *reinterpret_cast<U*>(dst + i * p.stride[2]) = *reinterpret_cast<const U*>(src + x[i]);
    }
  });
}
struct Wide { uint64_t a, b; };

template <bool reflect> void pad_cpu(Tensor& out, const Tensor& self, Ints padding) {
  if (out.numel() == 0) return;
  const PadPlan p = plan_padding(out, self.sizes(), byte_strides(self.strides(), self.item_bytes()), padding, reflect);
  switch (out.item_bytes()) {
    case 1: return forward<uint8_t>(out, self, p);
    case 2: return forward<uint16_t>(out, self, p);
    case 4: return forward<uint32_t>(out, self, p);
    case 8: return forward<uint64_t>(out, self, p);
    default: return forward<Wide>(out, self, p);
  }
}

template <class T> struct Sum { using type = float; };
template <> struct Sum<double> { using type = double; };
template <> struct Sum<cfloat> { using type = cfloat; };
template <> struct Sum<cdouble> { using type = cdouble; };

// flat: the gradient of the source, row-major. Each (batch, channel) is summed on its own.
template <class T> void backward(const Tensor& flat, const Tensor& g, const PadPlan& p) {
  using S = typename Sum<T>::type;
  const int64_t inner = p.source_size[0] * p.source_size[1] * p.source_size[2];
  parallel_for(0, p.count(), std::max<int64_t>(1, (1 << 14) / inner), [&](int64_t lo, int64_t hi) {
    std::vector<S> sum(static_cast<size_t>(inner));
    for (int64_t o = lo; o < hi; ++o) {
      std::fill(sum.begin(), sum.end(), S(0));
      const char* from = g.ptr<char>() + o / p.outer_n[1] * p.outer[0] + o % p.outer_n[1] * p.outer[1];
      for (int64_t z = 0; z < p.size[0]; ++z)
        for (int64_t y = 0; y < p.size[1]; ++y) {
          S* row = sum.data() + p.map[0][size_t(z)] + p.map[1][size_t(y)];
          const char* q = from + z * p.stride[0] + y * p.stride[1];
          for (int64_t x = 0; x < p.size[2]; ++x) {
            S& s = row[p.map[2][size_t(x)]];
            s = s + S(*reinterpret_cast<const T*>(q + x * p.stride[2]));
          }
        }
      T* d = flat.ptr<T>() + o * inner;
      for (int64_t i = 0; i < inner; ++i) d[i] = T(sum[size_t(i)]);
    }
  });
}

template <bool reflect> void pad_backward_cpu(Tensor& out, const Tensor& g, const Tensor& self, Ints padding) {
  if (out.numel() == 0) return;
  const Dims strides = contiguous_strides(out.sizes());
  const PadPlan p = plan_padding(g, out.sizes(), strides, padding, reflect);
  const Tensor flat = out.is_contiguous() ? out : Tensor::empty(out.sizes(), out.options());
  if (!visit_types<float, double, half, bfloat16, cfloat, cdouble>(out.dtype(), [&]<class T>() { backward<T>(flat, g, p); }))
    raise_not_implemented("the gradient of padding is not there for type ", out.dtype());
  const int64_t item = out.item_bytes();
  if (!flat.is(out))
    copy_strided(out.ptr<char>(), byte_strides(out.strides(), item), out.dtype(), flat.ptr<char>(), byte_strides(strides, item), out.dtype(), out.sizes());
}

}  // namespace

FB_KERNEL("reflection_pad1d", pad_cpu<true>)
FB_KERNEL("reflection_pad2d", pad_cpu<true>)
FB_KERNEL("reflection_pad3d", pad_cpu<true>)
FB_KERNEL("replication_pad1d", pad_cpu<false>)
FB_KERNEL("replication_pad2d", pad_cpu<false>)
FB_KERNEL("replication_pad3d", pad_cpu<false>)
FB_KERNEL("reflection_pad1d_backward", pad_backward_cpu<true>)
FB_KERNEL("reflection_pad2d_backward", pad_backward_cpu<true>)
FB_KERNEL("reflection_pad3d_backward", pad_backward_cpu<true>)
FB_KERNEL("replication_pad1d_backward", pad_backward_cpu<false>)
FB_KERNEL("replication_pad2d_backward", pad_backward_cpu<false>)
FB_KERNEL("replication_pad3d_backward", pad_backward_cpu<false>)

}  // namespace fb
