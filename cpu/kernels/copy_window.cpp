// as_strided_backward: a gradient added into its base through a strided window.
#include <algorithm>
#include <vector>

#include "cpu/loops/copy.h"
#include "dispatch/box.h"

namespace fb {
namespace {

int64_t reach(Ints sizes, Ints strides) {
  int64_t last = 0;
  for (int64_t i = 0; i < sizes.n; ++i) {
    if (sizes[i] == 0) return -1;
    last += (sizes[i] - 1) * strides[i];
  }
  return last;
}

// Whether no element is reached twice, by the strides alone: sorted, each steps over all that come before it.
bool distinct(Ints sizes, Ints strides) {
  std::vector<std::pair<int64_t, int64_t>> d;
  for (int64_t i = 0; i < sizes.n; ++i)
    if (sizes[i] > 1) d.emplace_back(strides[i], sizes[i]);
  std::sort(d.begin(), d.end());
  int64_t span = 0;
  for (auto [stride, size] : d) {
    if (stride <= span) return false;
    span += stride * (size - 1);
  }
  return true;
}

// at(i) for the position of every element in row-major order.
template <class F> void each_position(Ints sizes, Ints strides, F&& at) {
  SmallVec<int64_t, 8> c(sizes.n, 0);
  int64_t p = 0;
  for (int64_t s : sizes)
    if (s == 0) return;
  while (true) {
    at(p);
    int64_t d = sizes.n - 1;
    for (; d >= 0; --d) {
      p += strides[d];
      if (++c[d] < sizes[d]) break;
      p -= strides[d] * sizes[d];
      c[d] = 0;
    }
    if (d < 0) return;
  }
}

template <class T> struct Sum { using type = float; };
template <> struct Sum<double> { using type = double; };
template <> struct Sum<cfloat> { using type = cfloat; };
template <> struct Sum<cdouble> { using type = cdouble; };

void as_strided_backward_cpu(Tensor& out, const Tensor& grad, Ints base_sizes, Ints base_strides, Ints sizes, Ints strides, int64_t offset) {
  if (out.numel() == 0) return;
  const int64_t item = out.item_bytes();
  const int64_t base_last = reach(base_sizes, base_strides), window_last = reach(sizes, strides);
  const char zero[16] = {};
  const Dims grad_bytes = byte_strides(grad.strides(), item);
  const bool plain = distinct(sizes, strides) && distinct(base_sizes, base_strides);
  // The window of a dense base lies within it: write through it straight into the result.
  if (plain && out.strides() == base_strides && (window_last < 0 || (offset >= 0 && offset + window_last <= base_last))) {
    fill_strided(out.ptr<char>(), byte_strides(out.strides(), item), zero, item, out.sizes());
    copy_strided(out.ptr<char>() + offset * item, byte_strides(strides, item), out.dtype(), grad.ptr<char>(), grad_bytes, out.dtype(), sizes);
    return;
  }
  const int64_t low = std::min<int64_t>(0, window_last < 0 ? 0 : offset), high = std::max(base_last, window_last < 0 ? 0 : offset + window_last);
  const int64_t span = high - low + 1;
  const bool known = visit_types<float, double, half, bfloat16, cfloat, cdouble>(out.dtype(), [&]<class T>() {
    using S = typename Sum<T>::type;
    std::vector<S> memory(size_t(span), S(0));
    S* window = memory.data() + (offset - low);
    if (window_last >= 0) {
      const Tensor g = Tensor::empty(sizes, grad.options());
      copy_strided(g.ptr<char>(), byte_strides(g.strides(), item), g.dtype(), grad.ptr<char>(), grad_bytes, g.dtype(), sizes);
      const T* p = g.ptr<T>();
      each_position(sizes, strides, [&](int64_t at) {
        if constexpr (std::is_same_v<S, T>) window[at] = window[at] + *p++;
        else window[at] += S(*p++);
      });
    }
    std::vector<int32_t> times;
    if (!distinct(base_sizes, base_strides)) {
      times.assign(size_t(span), 0);
      each_position(base_sizes, base_strides, [&](int64_t at) { ++times[size_t(at - low)]; });
    }
    const Tensor flat = Tensor::empty(base_sizes, out.options());
    T* q = flat.ptr<T>();
    each_position(base_sizes, base_strides, [&](int64_t at) {
      S v = memory[size_t(at - low)];
      if (!times.empty()) v = v / S(float(times[size_t(at - low)]));
      *q++ = T(v);
    });
    copy_strided(out.ptr<char>(), byte_strides(out.strides(), item), out.dtype(), flat.ptr<char>(), byte_strides(flat.strides(), item), out.dtype(), base_sizes);
  });
  if (!known) raise_not_implemented("as_strided_backward: type ", out.dtype(), " is not there yet");
}

}  // namespace

FB_KERNEL("as_strided_backward", as_strided_backward_cpu)

}  // namespace fb
