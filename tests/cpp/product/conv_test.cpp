#include "cpu/product/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/threads.h"

using namespace fb;
using namespace fb::product;

namespace {

struct Case {
  int64_t batch, ci, co, groups, in[3], kernel[3], stride[3], padding[3], dilation[3];
};

const Case cases[] = {
    {2, 3, 5, 1, {1, 9, 11}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {1, 3, 16, 1, {1, 23, 30}, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}, {1, 1, 1}},
    {3, 70, 13, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {2, 20, 24, 1, {1, 6, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {2, 12, 10, 2, {1, 8, 9}, {1, 3, 2}, {1, 2, 1}, {0, 1, 0}, {1, 1, 2}},
    {4, 6, 6, 6, {1, 10, 13}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {2, 9, 9, 9, {1, 11, 12}, {1, 3, 5}, {1, 2, 3}, {0, 1, 2}, {1, 1, 1}},
    {2, 5, 10, 5, {1, 7, 6}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {2, 4, 7, 1, {1, 1, 40}, {1, 1, 5}, {1, 1, 3}, {0, 0, 2}, {1, 1, 2}},
    {1, 3, 4, 1, {5, 6, 7}, {3, 2, 3}, {2, 1, 2}, {1, 0, 1}, {1, 2, 1}},
    {2, 4, 4, 4, {4, 5, 9}, {3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}},
    {2, 3, 8, 1, {1, 16, 16}, {1, 4, 4}, {1, 4, 4}, {0, 0, 0}, {1, 1, 1}},
    {1, 8, 3, 1, {1, 3, 3}, {1, 3, 3}, {1, 3, 1}, {0, 2, 2}, {1, 1, 1}},
    {1, 6, 6, 6, {1, 9, 9}, {1, 2, 2}, {1, 3, 3}, {0, 0, 0}, {1, 1, 1}},
    {2, 16, 32, 1, {1, 12, 12}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}},
    {12, 32, 4, 1, {1, 40, 40}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}},  // many pixels without a tap
};

ConvShape shape_of(const Case& c) {
  ConvShape s;
  s.batch = c.batch, s.in_channels = c.ci, s.out_channels = c.co, s.groups = c.groups;
  for (int a = 0; a < 3; ++a) {
    s.in[a] = c.in[a], s.kernel[a] = c.kernel[a], s.stride[a] = c.stride[a];
    s.padding[a] = c.padding[a], s.dilation[a] = c.dilation[a];
    s.out[a] =
        (c.in[a] + 2 * c.padding[a] - c.dilation[a] * (c.kernel[a] - 1) - 1) / c.stride[a] + 1;
  }
  return s;
}

template <class T>
struct Array {
  std::vector<T> data;
  int64_t size[5], stride[5];

  // order 0: (a, b, d, h, w); 1: (a, d, h, w, b), channels last.
  Array(int64_t a, int64_t b, const int64_t e[3], int order, unsigned seed = 0) {
    const int64_t all[5] = {a, b, e[0], e[1], e[2]};
    std::copy(all, all + 5, size);
    stride[0] = b * e[0] * e[1] * e[2];
    stride[1] = order ? 1 : e[0] * e[1] * e[2];
    stride[4] = order ? b : 1;
    stride[3] = stride[4] * e[2];
    stride[2] = stride[3] * e[1];
    data.assign(size_t(a * stride[0]), T(7.0f));
    if (!seed) return;
    uint32_t state = seed;
    for_each([&](int64_t at) {
      state = state * 1664525u + 1013904223u;
      data[size_t(at)] = T(float(int32_t(state) >> 16) / 32768.0f);
    });
  }
  template <class F>
  void for_each(F&& f) const {
    int64_t i[5];
    for (i[0] = 0; i[0] < size[0]; ++i[0])
      for (i[1] = 0; i[1] < size[1]; ++i[1])
        for (i[2] = 0; i[2] < size[2]; ++i[2])
          for (i[3] = 0; i[3] < size[3]; ++i[3])
            for (i[4] = 0; i[4] < size[4]; ++i[4]) {
              int64_t at = 0;
              for (int a = 0; a < 5; ++a) at += i[a] * stride[a];
              f(at);
            }
  }
  int64_t at(int64_t a, int64_t b, int64_t d, int64_t h, int64_t w) const {
    return a * stride[0] + b * stride[1] + d * stride[2] + h * stride[3] + w * stride[4];
  }
  View5<T> view() { return {data.data(), {stride[0], stride[1], stride[2], stride[3], stride[4]}}; }
  View5<const T> view() const {
    return {data.data(), {stride[0], stride[1], stride[2], stride[3], stride[4]}};
  }
  std::vector<T> logical() const {
    std::vector<T> v;
    for_each([&](int64_t i) { v.push_back(data[size_t(i)]); });
    return v;
  }
};

// Calls f(y index, x index, w index) for every product of the convolution, in logical order of the
// sum of one element of y.
template <class T, class F>
void each_product(const ConvShape& s, const Array<T>& x, const Array<T>& w, const Array<T>& y,
                  F&& f) {
  const int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t d = 0; d < s.out[0]; ++d)
        for (int64_t h = 0; h < s.out[1]; ++h)
          for (int64_t v = 0; v < s.out[2]; ++v)
            for (int64_t c = 0; c < ci; ++c)
              for (int64_t kd = 0; kd < s.kernel[0]; ++kd)
                for (int64_t kh = 0; kh < s.kernel[1]; ++kh)
                  for (int64_t kw = 0; kw < s.kernel[2]; ++kw) {
                    const int64_t pd = d * s.stride[0] - s.padding[0] + kd * s.dilation[0];
                    const int64_t ph = h * s.stride[1] - s.padding[1] + kh * s.dilation[1];
                    const int64_t pw = v * s.stride[2] - s.padding[2] + kw * s.dilation[2];
                    const bool in = pd >= 0 && pd < s.in[0] && ph >= 0 && ph < s.in[1] && pw >= 0 &&
                                    pw < s.in[2];
                    f(y.at(n, o, d, h, v), in ? x.at(n, o / co * ci + c, pd, ph, pw) : -1,
                      w.at(o, c, kd, kh, kw));
                  }
}

template <class T>
struct Results {
  std::vector<T> y, gx, gw;
};

template <class T>
struct Trial {
  ConvShape s;
  Array<T> x, w, y, gx, gw, gy;
  Trial(const Case& c, int order)
      : s(shape_of(c)),
        x(s.batch, s.in_channels, s.in, order, 1),
        w(s.out_channels, s.in_channels / s.groups, s.kernel, order, 2),
        y(s.batch, s.out_channels, s.out, order),
        gx(s.batch, s.in_channels, s.in, order),
        gw(s.out_channels, s.in_channels / s.groups, s.kernel, order),
        gy(s.batch, s.out_channels, s.out, order, 3) {}
  Results<T> operator()() {
    const Array<T>&cx = x, &cw = w, &cg = gy;
    conv_forward<T>(s, cx.view(), cw.view(), nullptr, y.view());
    conv_backward_input<T>(s, cg.view(), cw.view(), nullptr, gx.view());
    conv_backward_weight<T>(s, cx.view(), cg.view(), gw.view());
    return {y.logical(), gx.logical(), gw.logical()};
  }
};

template <class T>
double real_of(T x) {
  if constexpr (is_complex_v<T>)
    return double(x.re);
  else
    return double(float(x));
}

template <class T>
void check(const Case& c, int order, double eps) {
  Trial<T> r(c, order);
  r();
  std::vector<double> y(r.y.data.size()), gx(r.gx.data.size()), gw(r.gw.data.size());
  std::vector<double> ay(y.size()), agx(gx.size()), agw(gw.size());
  each_product(r.s, r.x, r.w, r.y, [&](int64_t at, int64_t in, int64_t tap) {
    if (in < 0) return;
    const double xv = real_of(r.x.data[size_t(in)]), wv = real_of(r.w.data[size_t(tap)]),
                 g = real_of(r.gy.data[size_t(at)]);
    y[size_t(at)] += xv * wv, ay[size_t(at)] += std::fabs(xv * wv);
    gx[size_t(in)] += g * wv, agx[size_t(in)] += std::fabs(g * wv);
    gw[size_t(tap)] += g * xv, agw[size_t(tap)] += std::fabs(g * xv);
  });
  auto compare = [&](const std::vector<T>& got, const std::vector<double>& want,
                     const std::vector<double>& size, const char* what) {
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(real_of(got[i]), want[i], eps * (size[i] + 1e-3))
          << what << " case " << (&c - cases) << " order " << order << " at " << i;
  };
  compare(r.y.data, y, ay, "forward");
  compare(r.gx.data, gx, agx, "backward input");
  compare(r.gw.data, gw, agw, "backward weight");
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && !std::memcmp(x.data(), y.data(), x.size() * sizeof(T));
}

}  // namespace

TEST(Conv, AgreesWithPlainLoops) {
  for (const Case& c : cases)
    for (int order : {0, 1}) {
      check<float>(c, order, 3e-6);
      check<double>(c, order, 3e-7);  // compared in float
      check<half>(c, order, 2e-3);
      check<bfloat16>(c, order, 1.2e-2);
      check<cfloat>(c, order, 3e-6);
    }
}

TEST(Conv, IntegersAreExact) {
  Trial<int32_t> r(cases[9], 0);
  uint32_t state = 5;
  for (auto* v : {&r.x.data, &r.w.data, &r.gy.data})
    for (int32_t& e : *v) e = int32_t((state = state * 1664525u + 1013904223u) >> 20) - 2048;
  r();
  std::vector<int32_t> y(r.y.data.size()), gx(r.gx.data.size()), gw(r.gw.data.size());
  each_product(r.s, r.x, r.w, r.y, [&](int64_t at, int64_t in, int64_t tap) {
    if (in < 0) return;
    y[size_t(at)] += r.x.data[size_t(in)] * r.w.data[size_t(tap)];
    gx[size_t(in)] += r.gy.data[size_t(at)] * r.w.data[size_t(tap)];
    gw[size_t(tap)] += r.gy.data[size_t(at)] * r.x.data[size_t(in)];
  });
  EXPECT_EQ(r.y.data, y);
  EXPECT_EQ(r.gx.data, gx);
  EXPECT_EQ(r.gw.data, gw);
}

TEST(Conv, ForwardSumsAreTheDefinedChains) {
  auto test = [&]<class T>() {
    for (const Case& c : cases) {
      Trial<T> r(c, 0);
      r();
      const int64_t block = sizeof(T) == 4 ? 512 : 256;
      struct Sum {
        T chain = 0;
        int64_t count = 0;
        std::vector<T> blocks;
      };
      std::vector<Sum> sums(r.y.data.size());
      each_product(r.s, r.x, r.w, r.y, [&](int64_t at, int64_t in, int64_t tap) {
        Sum& s = sums[size_t(at)];
        s.chain = std::fma(in < 0 ? T(0) : r.x.data[size_t(in)], r.w.data[size_t(tap)], s.chain);
        if (++s.count % block == 0) s.blocks.push_back(s.chain), s.chain = 0;
      });
      for (size_t i = 0; i < sums.size(); ++i) {
        Sum& s = sums[i];
        if (s.count % block) s.blocks.push_back(s.chain);
        while (s.blocks.size() > 1) {
          std::vector<T> up;
          for (size_t q = 0; q < s.blocks.size(); q += 2)
            up.push_back(q + 1 < s.blocks.size() ? s.blocks[q] + s.blocks[q + 1] : s.blocks[q]);
          s.blocks = up;
        }
        ASSERT_EQ(r.y.data[i], s.blocks[0]) << "case " << (&c - cases) << " at " << i;
      }
    }
  };
  test.operator()<float>();
  test.operator()<double>();
}

TEST(Conv, BitsDoNotDependOnThreadsOrMemoryFormat) {
  const int before = get_num_threads();
  const Case more[] = {{3, 32, 40, 1, {1, 20, 20}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                       {8, 16, 16, 1, {1, 40, 40}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}}};
  auto test = [&](const Case& c) {
    Results<float> first;
    for (int threads : {1, 3})
      for (int order : {0, 1}) {
        set_num_threads(threads);
        Trial<float> run(c, order);
        const Results<float> r = run();
        if (first.y.empty()) first = r;
        EXPECT_TRUE(same_bits(r.y, first.y))
            << "forward, threads " << threads << " order " << order;
        EXPECT_TRUE(same_bits(r.gx, first.gx))
            << "backward input, threads " << threads << " order " << order;
        EXPECT_TRUE(same_bits(r.gw, first.gw))
            << "backward weight, threads " << threads << " order " << order;
      }
  };
  for (const Case& c : cases) test(c);
  for (const Case& c : more) test(c);
  set_num_threads(before);
}

TEST(Conv, AnImageAloneHasTheBitsOfTheBatch) {
  for (int which : {0, 2, 3, 4, 5, 8}) {
    Trial<float> all(cases[which], 0);
    all();
    Trial<float> one(cases[which], 0);
    one.s.batch = 1;
    const int64_t n = all.s.batch - 1;
    const Array<float>&x = all.x, &w = all.w;
    View5<const float> last = x.view();
    last.data += n * x.stride[0];
    conv_forward<float>(one.s, last, w.view(), nullptr, one.y.view());
    EXPECT_EQ(std::memcmp(one.y.data.data(), all.y.data.data() + n * all.y.stride[0],
                          size_t(all.y.stride[0]) * 4),
              0);
  }
}

TEST(Conv, BiasIsAddedOnceRounded) {
  for (int which : {0, 5})
    for (int order : {0, 1}) {
      Trial<float> r(cases[which], order);
      const std::vector<float> plain = r().y;
      std::vector<float> bias;
      for (int64_t o = 0; o < r.s.out_channels; ++o) bias.push_back(float(o) + 0.5f);
      const Array<float>&x = r.x, &w = r.w;
      conv_forward<float>(r.s, x.view(), w.view(), bias.data(), r.y.view());
      const std::vector<float> got = r.y.logical();
      const int64_t image = r.s.out[0] * r.s.out[1] * r.s.out[2];
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], plain[i] + bias[i / size_t(image) % size_t(r.s.out_channels)]);
    }
}
