// Gradients of largest elements, and values of max_unpool, put back where the elements came from.
#include "cpu/kernels/pool_windows.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb::pooling {
namespace {

// Each gradient goes to the place its maximum came from; places of one plane are visited in order.
void max_backward(const char* name, Types types, Tensor& gx, const Tensor& gy, const Tensor& idx, int64_t nd) {
  op_list<"zero_">(gx);
  const Planes px = planes(gx, nd), py = planes(gy, nd), pi = planes(idx, nd);
  on_type(name, gx.dtype(), types, [&]<class T>() {
    using S = Wide<T>;
    if (gy.numel() == 0) return;
    const int64_t limit = px.places();
    for_each(py.count(), py.places() * 4, [&](int64_t plane) {
      T* out = gx.ptr<T>() + px.offset(plane);
      const T* g = gy.ptr<T>() + py.offset(plane);
      const int64_t* where = idx.ptr<int64_t>() + pi.offset(plane);
      for (int64_t d = 0; d < py.size[0]; ++d)
        for (int64_t h = 0; h < py.size[1]; ++h)
          for (int64_t v = 0; v < py.size[2]; ++v) {
            const int64_t i = where[pi.at(d, h, v)];
            if (i < 0 || i >= limit)
              raise_runtime(name, ": indices holds ", i, ", outside a plane of ", px.size[0], " x ", px.size[1], " x ", px.size[2], " elements");
            T& t = out[px.at(i / (px.size[2] * px.size[1]), i / px.size[2] % px.size[1], i % px.size[2])];
            t = T(S(t) + S(g[py.at(d, h, v)]));
          }
    });
  });
}

void unpool(const char* name, Tensor& y, const Tensor& x, const Tensor& idx, int64_t nd) {
  op_list<"zero_">(y);
  const Planes px = planes(x, nd), py = planes(y, nd), pi = planes(idx, nd);
  on_type(name, x.dtype(), Types::floating, [&]<class T>() {
    if (x.numel() == 0 || y.numel() == 0) return;
    const int64_t limit = py.places();
    for_each(px.count(), px.places() * 2, [&](int64_t plane) {
      const T* in = x.ptr<T>() + px.offset(plane);
      T* out = y.ptr<T>() + py.offset(plane);
      const int64_t* where = idx.ptr<int64_t>() + pi.offset(plane);
      for (int64_t d = 0; d < px.size[0]; ++d)
        for (int64_t h = 0; h < px.size[1]; ++h)
          for (int64_t v = 0; v < px.size[2]; ++v) {
            const int64_t i = where[pi.at(d, h, v)];
            if (i < 0 || i >= limit)
              raise_runtime(name, ": indices holds ", i, ", outside an output plane of ", py.size[0], " x ", py.size[1], " x ", py.size[2], " elements");
            out[py.at(i / (py.size[2] * py.size[1]), i / py.size[2] % py.size[1], i % py.size[2])] = in[px.at(d, h, v)];
          }
    });
  });
}

#define FB_POOL_BACK(N)                                                                                                \
  void max_pool##N##_back(Tensor& gx, const Tensor& g, const Tensor&, Ints, Ints, Ints, Ints, bool, const Tensor& i) {  \
    max_backward("max_pool" #N "d_with_indices_backward", Types::numeric, gx, g, i, N);                                 \
  }                                                                                                                     \
  FB_KERNEL("max_pool" #N "d_with_indices_backward", max_pool##N##_back)                                                \
  void adaptive_max##N##_back(Tensor& gx, const Tensor& g, const Tensor&, const Tensor& i) {                            \
    max_backward("adaptive_max_pool" #N "d_backward", Types::floating, gx, g, i, N);                                    \
  }                                                                                                                     \
  FB_KERNEL("adaptive_max_pool" #N "d_backward", adaptive_max##N##_back)                                                \
  void fractional##N##_back(Tensor& gx, const Tensor& g, const Tensor&, Ints, Ints, const Tensor& i) {                  \
    max_backward("fractional_max_pool" #N "d_backward", Types::floating, gx, g, i, N);                                  \
  }                                                                                                                     \
  FB_KERNEL("fractional_max_pool" #N "d_backward", fractional##N##_back)
FB_POOL_BACK(2)
FB_POOL_BACK(3)
#undef FB_POOL_BACK

void unpool2(Tensor& y, const Tensor& x, const Tensor& i, Ints) { unpool("max_unpool2d", y, x, i, 2); }
FB_KERNEL("max_unpool2d", unpool2)
void unpool3(Tensor& y, const Tensor& x, const Tensor& i, Ints, Ints, Ints) { unpool("max_unpool3d", y, x, i, 3); }
FB_KERNEL("max_unpool3d", unpool3)

}  // namespace
}  // namespace fb::pooling
