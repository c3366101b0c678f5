// Convolutions of complex and integer elements by plain loops.
#include "core/threads.h"
#include "cpu/product/conv.h"

namespace fb::product {
namespace {

constexpr int64_t sums_per_task = 256;

struct Position {
  int64_t n, channel, at[3];
};
Position position(int64_t i, int64_t channels, const int64_t extent[3]) {
  Position p;
  for (int a = 2; a >= 0; --a) {
    p.at[a] = i % extent[a];
    i /= extent[a];
  }
  p.channel = i % channels;
  p.n = i / channels;
  return p;
}
template <class T>
T* element(View5<T> v, int64_t a, int64_t b, const int64_t at[3]) {
  return v.data + a * v.stride[0] + b * v.stride[1] + at[0] * v.stride[2] + at[1] * v.stride[3] +
         at[2] * v.stride[4];
}
template <class T>
void add_product(T& sum, T a, T b) {
  if constexpr (is_complex_v<T>) {
    sum = sum + a * b;
  } else {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    sum = T(U(sum) + U(a) * U(b));
  }
}
template <class F>
void each_tap(const ConvShape& s, F&& f) {
  int64_t t[3];
  for (t[0] = 0; t[0] < s.kernel[0]; ++t[0])
    for (t[1] = 0; t[1] < s.kernel[1]; ++t[1])
      for (t[2] = 0; t[2] < s.kernel[2]; ++t[2]) f(t);
}
int64_t volume(const int64_t e[3]) { return e[0] * e[1] * e[2]; }

}  // namespace

template <class T>
void conv_forward(const ConvShape& s, View5<const T> x, View5<const T> w, const T* bias,
                  View5<T> y) {
  const int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
  parallel_for(0, s.batch * s.out_channels * volume(s.out), sums_per_task,
               [&](int64_t lo, int64_t hi) {
                 for (int64_t i = lo; i < hi; ++i) {
                   const Position p = position(i, s.out_channels, s.out);
                   T sum{};
                   for (int64_t c = 0; c < ci; ++c)
                     each_tap(s, [&](const int64_t t[3]) {
                       int64_t at[3];
                       for (int a = 0; a < 3; ++a) {
                         at[a] = p.at[a] * s.stride[a] - s.padding[a] + t[a] * s.dilation[a];
                         if (at[a] < 0 || at[a] >= s.in[a]) return;
                       }
                       add_product(sum, *element(w, p.channel, c, t),
                                   *element(x, p.n, p.channel / co * ci + c, at));
                     });
                   if (bias) sum = T(sum + bias[p.channel]);
                   *element(y, p.n, p.channel, p.at) = sum;
                 }
               });
}

template <class T>
void conv_backward_input(const ConvShape& s, View5<const T> gy, View5<const T> w, const T* bias,
                         View5<T> gx) {
  const int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
  parallel_for(0, s.batch * s.in_channels * volume(s.in), sums_per_task,
               [&](int64_t lo, int64_t hi) {
                 for (int64_t i = lo; i < hi; ++i) {
                   const Position p = position(i, s.in_channels, s.in);
                   const int64_t group = p.channel / ci;
                   T sum{};
                   for (int64_t o = 0; o < co; ++o)
                     each_tap(s, [&](const int64_t t[3]) {
                       int64_t at[3];
                       for (int a = 0; a < 3; ++a) {
                         const int64_t reach = p.at[a] + s.padding[a] - t[a] * s.dilation[a];
                         if (reach < 0 || reach % s.stride[a]) return;
                         at[a] = reach / s.stride[a];
                         if (at[a] >= s.out[a]) return;
                       }
                       add_product(sum, *element(w, group * co + o, p.channel % ci, t),
                                   *element(gy, p.n, group * co + o, at));
                     });
                   if (bias) sum = T(sum + bias[p.channel]);
                   *element(gx, p.n, p.channel, p.at) = sum;
                 }
               });
}

template <class T>
void conv_backward_weight(const ConvShape& s, View5<const T> x, View5<const T> gy, View5<T> gw) {
  const int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
  parallel_for(0, s.out_channels * ci * volume(s.kernel), 1, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const Position p = position(i, ci, s.kernel);  // n counts out channels here
      T sum{};
      for (int64_t j = 0; j < s.batch * volume(s.out); ++j) {
        const Position q = position(j, 1, s.out);
        int64_t at[3];
        bool inside = true;
        for (int a = 0; a < 3; ++a) {
          at[a] = q.at[a] * s.stride[a] - s.padding[a] + p.at[a] * s.dilation[a];
          inside &= at[a] >= 0 && at[a] < s.in[a];
        }
        if (inside)
          add_product(sum, *element(gy, q.n, p.n, q.at),
                      *element(x, q.n, p.n / co * ci + p.channel, at));
      }
      *element(gw, p.n, p.channel, p.at) = sum;
    }
  });
}

#define FB_CONV(T)                                                                              \
  template void conv_forward(const ConvShape&, View5<const T>, View5<const T>, const T*,        \
                             View5<T>);                                                         \
  template void conv_backward_input(const ConvShape&, View5<const T>, View5<const T>, const T*, \
                                    View5<T>);                                                  \
  template void conv_backward_weight(const ConvShape&, View5<const T>, View5<const T>, View5<T>);
FB_CONV(cfloat)
FB_CONV(cdouble)
FB_CONV(uint8_t)
FB_CONV(int8_t)
FB_CONV(int16_t)
FB_CONV(int32_t)
FB_CONV(int64_t)

}  // namespace fb::product
