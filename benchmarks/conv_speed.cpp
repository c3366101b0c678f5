// Times convolutions, forward and both gradients: conv_speed [threads] [batch] [last], or with
// shapes appended as groups of six: in out kernel stride extent groups. `last` = 1 uses channels
// last.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "benchmarks/best_time.h"
#include "core/threads.h"
#include "cpu/product/conv.h"

using namespace fb;
using namespace fb::product;

static void time_conv(int64_t batch, bool last, int64_t ci, int64_t co, int64_t kernel,
                      int64_t stride, int64_t extent, int64_t groups) {
  ConvShape s;
  s.batch = batch, s.in_channels = ci, s.out_channels = co, s.groups = groups;
  for (int a = 0; a < 3; ++a) {
    s.in[a] = a ? extent : 1;
    s.kernel[a] = a ? kernel : 1;
    s.stride[a] = a ? stride : 1;
    s.padding[a] = a ? kernel / 2 : 0;
    s.out[a] = (s.in[a] + 2 * s.padding[a] - s.kernel[a]) / s.stride[a] + 1;
  }
  const int64_t out = s.out[1] * s.out[2], taps = kernel * kernel;
  std::vector<float> x(size_t(batch * ci * extent * extent)), w(size_t(co * ci / groups * taps)),
      y(size_t(batch * co * out));
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 7 % 31) - 15) / 16;
  for (size_t i = 0; i < w.size(); ++i) w[i] = float(int(i * 5 % 29) - 14) / 16;
  auto view = [last](float* p, int64_t c, int64_t h, int64_t v) {
    return last ? View5<float>{p, {c * h * v, 1, c * h * v, v * c, c}}
                : View5<float>{p, {c * h * v, h * v, h * v, v, 1}};
  };
  const View5<float> xv = view(x.data(), ci, extent, extent),
                     wv = view(w.data(), ci / groups, kernel, kernel);
  const View5<float> yv = view(y.data(), co, s.out[1], s.out[2]);
  auto in = [](View5<float> v) {
    return View5<const float>{v.data,
                              {v.stride[0], v.stride[1], v.stride[2], v.stride[3], v.stride[4]}};
  };
  const double flop = 2.0 * batch * co * out * ci / groups * taps * 1e-9;
  const double f = best_seconds([&] { conv_forward<float>(s, in(xv), in(wv), nullptr, yv); });
  const double b =
      best_seconds([&] { conv_backward_input<float>(s, in(yv), in(wv), nullptr, xv); });
  const double g = best_seconds([&] { conv_backward_weight<float>(s, in(xv), in(yv), wv); });
  std::printf(
      "%4ld -> %4ld, %ldx%ld stride %ld, extent %ld, groups %ld: forward %.2f ms %.0f GFLOP/s, "
      "input %.2f ms %.0f, weight %.2f ms %.0f\n",
      long(ci), long(co), long(kernel), long(kernel), long(stride), long(extent), long(groups),
      f * 1e3, flop / f, b * 1e3, flop / b, g * 1e3, flop / g);
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::atoi(argv[1]));
  const int64_t batch = argc > 2 ? std::atol(argv[2]) : 8;
  const bool last = argc > 3 && std::atoi(argv[3]);
  if (argc > 4) {
    for (int i = 4; i + 5 < argc; i += 6)
      time_conv(batch, last, std::atol(argv[i]), std::atol(argv[i + 1]), std::atol(argv[i + 2]),
                std::atol(argv[i + 3]), std::atol(argv[i + 4]), std::atol(argv[i + 5]));
    return 0;
  }
  time_conv(batch, last, 3, 64, 7, 2, 224, 1);
  time_conv(batch, last, 64, 64, 3, 1, 56, 1);
  time_conv(batch, last, 512, 512, 3, 1, 7, 1);
  time_conv(batch, last, 256, 64, 1, 1, 56, 1);
  time_conv(batch, last, 128, 128, 3, 1, 28, 1);
  time_conv(batch, last, 144, 144, 3, 1, 56, 144);
}
