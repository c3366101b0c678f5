#include "ops/vision/grid.h"

#include "dispatch/thread_state.h"

namespace fb::cards::grid_sampling {
namespace {

enum { kLinear, kNearest, kCubic };
enum { kZeros, kBorder, kReflection };

Tensor times(const Tensor& a, const Tensor& b) { return op<"mul">(a, b); }
Tensor times(const Tensor& a, double b) { return op<"mul">(a, b); }
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : op<"add">(a, b); }
Tensor flipped(const Tensor& sign, const Tensor& where) { return op<"where">(where, op<"neg">(sign), sign); }

// A place along one coordinate, in elements, and how fast it moves with the grid: constants of the formulas below.
struct Place {
  Tensor at, slope;
};
void reflect(Place& p, double low, double span) {
  if (span == 0) {
    p.at = op<"zeros_like">(p.at), p.slope = op<"zeros_like">(p.slope);
    return;
  }
  const Tensor from = op<"sub">(p.at, low), size = op<"abs">(from);
  const Tensor odd = op<"ne">(op<"remainder">(op<"floor">(op<"div">(size, span)), Scalar(2.0)), Scalar(0.0)), extra = op<"remainder">(size, Scalar(span));
  p.at = op<"where">(odd, op<"add">(op<"neg">(extra), span + low), op<"add">(extra, low));
  p.slope = flipped(flipped(p.slope, op<"lt">(from, Scalar(0.0))), odd);
}
void pad(Place& p, int64_t size, int64_t padding, bool corners) {
  if (padding == kZeros) return;
  if (padding == kReflection) corners ? reflect(p, 0, double(size - 1)) : reflect(p, -0.5, double(size));
  const Tensor above = op<"gt">(p.at, Scalar(0.0)), below = op<"lt">(p.at, Scalar(double(size - 1)));
  p.slope = op<"masked_fill">(p.slope, op<"logical_not">(op<"logical_and">(above, below)), 0.0);
  p.at = op<"clamp">(op<"masked_fill">(p.at, op<"logical_not">(above), 0.0), Scalar(0.0), Scalar(double(size - 1)));
}

// What a place reads along one coordinate: elements, whether they are there, and weights with their derivatives in the grid.
struct Tap {
  Tensor at, inside, w, d, dd;  // dd undefined: zero
};
std::vector<Tap> taps_of(const Tensor& coordinate, int64_t size, int64_t mode, int64_t padding, bool corners) {
  Place p;
  Tensor whole, fixed;
  {
    GradMode no(false);
    fixed = op<"detach">(coordinate);
    const double half = double(corners ? size - 1 : size) / 2;
    p = {op<"sub">(times(op<"add">(fixed, 1.0), half), corners ? 0.0 : 0.5), op<"full_like">(fixed, Scalar(half))};
    if (mode != kCubic) pad(p, size, padding, corners);
    // Far places and NaN are outside of everything.
    const Tensor near = op<"lt">(op<"abs">(p.at), Scalar(2e9));
    whole = op<"where">(near, op<"floor">(p.at), op<"full_like">(p.at, Scalar(-100.0)));
  }
  // The place as a function of the grid.
  const Tensor t = op<"sub">(op<"add">(p.at, times(p.slope, op<"sub">(coordinate, fixed))), whole);
  std::vector<Tap> taps;
  auto add = [&](int64_t k, const Tensor& w, const Tensor& d, const Tensor& dd) {
    GradMode no(false);
    Place q{op<"add">(whole, double(k)), p.slope};
    if (mode == kCubic) pad(q, size, padding, corners);
    const Tensor inside = padding == kZeros ? op<"logical_and">(op<"ge">(q.at, Scalar(0.0)), op<"le">(q.at, Scalar(double(size - 1)))) : Tensor();
    taps.push_back({op<"to.dtype">(op<"clamp">(q.at, Scalar(0.0), Scalar(double(size - 1))), DType::i64), inside, w, d, dd});
  };
  if (mode == kLinear) {
    add(0, op<"rsub">(t, Scalar(1.0)), op<"neg">(p.slope), Tensor());
    add(1, t, p.slope, Tensor());
    return taps;
  }
  const double a = -0.75;
  const Tensor square = times(p.slope, p.slope);
  auto polynomial = [&](const Tensor& x, double c3, double c2, double c1, double c0) {
    return op<"add">(times(op<"add">(times(op<"add">(times(x, c3), c2), x), c1), x), c0);
  };
  for (int k = -1; k <= 2; ++k) {
    const bool far = k < 0 || k > 1;
    const double side = k < 1 ? 1 : -1;                                // the distance grows with the place, or falls
    const Tensor x = op<"add">(times(t, side), k < 1 ? double(-k) : double(k));  // t + 1, t, 1 - t, 2 - t
    const double c3 = far ? a : a + 2, c2 = far ? -5 * a : -(a + 3), c1 = far ? 8 * a : 0, c0 = far ? -4 * a : 1;
    add(k, polynomial(x, c3, c2, c1, c0), times(times(polynomial(x, 0, 3 * c3, 2 * c2, c1), side), p.slope), times(polynomial(x, 0, 0, 6 * c3, 2 * c2), square));
  }
  return taps;
}

}  // namespace

std::array<Tensor, 3> second_derivatives(int64_t nd, const Tensor& u0, const Tensor& v0, const Tensor& g0, const Tensor& x0, const Tensor& grid0, int64_t mode,
                                         int64_t padding, bool corners) {
  std::array<Tensor, 3> r;
  if (mode == kNearest) {  // samples do not move with the grid
    if (!u0.defined()) return r;
    r[0] = nd == 2 ? op<"grid_sampler_2d">(u0, grid0, mode, padding, corners) : op<"grid_sampler_3d">(u0, grid0, mode, padding, corners);
    return r;
  }
  auto wide = [](const Tensor& t) { return t.defined() && is_half(t.dtype()) ? op<"to.dtype">(t, DType::f32) : t; };
  const Ints sizes = x0.sizes();
  const int64_t n = sizes[0], channels = sizes[1], places = numel_of(g0.sizes().slice(2, nd)), elements = numel_of(sizes.slice(2, nd));
  auto flat = [&](const Tensor& t, int64_t last) { return t.defined() ? op<"reshape">(wide(t), Ints{n, channels, last}) : t; };
  const Tensor g = flat(g0, places), x = flat(x0, elements), u = flat(u0, elements);
  const Tensor grid = op<"reshape">(wide(grid0), Ints{n, places, nd}), v = v0.defined() ? op<"reshape">(wide(v0), Ints{n, places, nd}) : v0;
  auto coordinate = [&](const Tensor& t, int64_t k) { return op<"unsqueeze">(op<"select">(t, int64_t(2), k), int64_t(1)); };  // (n, 1, places)
  std::vector<std::vector<Tap>> taps;  // x, y, z
  std::vector<Tensor> move;
  int64_t stride[3] = {1, 0, 0}, count = 1;
  for (int64_t k = 0; k < nd; ++k) {
    taps.push_back(taps_of(coordinate(grid, k), sizes[nd + 1 - k], mode, padding, corners));
    if (v.defined()) move.push_back(coordinate(v, k));
    if (k) stride[k] = stride[k - 1] * sizes[nd + 2 - k];
    count *= int64_t(taps.back().size());
  }
  std::array<Tensor, 3> to_grid;
  Tensor to_g, to_x;
  for (int64_t c = 0; c < count; ++c) {
    const Tap* tap[3];
    Tensor at, inside;
    for (int64_t k = 0, rest = c; k < nd; ++k) {
      tap[k] = &taps[size_t(k)][size_t(rest % int64_t(taps[size_t(k)].size()))];
      rest /= int64_t(taps[size_t(k)].size());
      at = plus(at, op<"mul">(tap[k]->at, Scalar(stride[k])));
      if (tap[k]->inside.defined()) inside = inside.defined() ? op<"logical_and">(inside, tap[k]->inside) : tap[k]->inside;
    }
    const Tensor index = op<"expand">(at, Ints{n, channels, places});
    auto there = [&](const Tensor& t) { return inside.defined() ? op<"masked_fill">(t, op<"logical_not">(inside), 0.0) : t; };
    // The product of the weights, those of coordinates i and j (-1: none) differentiated.
    auto weight = [&](int64_t i, int64_t j) {
      Tensor w;
      for (int64_t k = 0; k < nd; ++k) {
        const Tensor& f = k == i && k == j ? tap[k]->dd : k == i || k == j ? tap[k]->d : tap[k]->w;
        if (!f.defined()) return Tensor();
        w = w.defined() ? times(w, f) : f;
      }
      return w;
    };
    Tensor moved;  // the weight's derivative along v
    for (size_t k = 0; k < move.size(); ++k) moved = plus(moved, times(move[k], weight(int64_t(k), -1)));
    const Tensor from_u = u.defined() ? there(op<"gather">(u, int64_t(2), index)) : Tensor(), from_x = v.defined() ? there(op<"gather">(x, int64_t(2), index)) : Tensor();
    if (u.defined()) to_g = plus(to_g, times(from_u, weight(-1, -1)));
    if (v.defined()) {
      to_g = plus(to_g, times(from_x, moved));
      to_x = op<"scatter_add">(to_x.defined() ? to_x : op<"zeros_like">(x), int64_t(2), index, there(times(g, moved)));
    }
    for (int64_t j = 0; j < nd; ++j) {
      Tensor s = u.defined() ? times(from_u, weight(j, -1)) : Tensor(), second;
      for (size_t k = 0; k < move.size(); ++k)
        if (const Tensor w = weight(j, int64_t(k)); w.defined()) second = plus(second, times(move[k], w));
      if (second.defined()) s = plus(s, times(from_x, second));
      if (s.defined()) to_grid[size_t(j)] = plus(to_grid[size_t(j)], op<"sum">(times(g, s), Dims{1}, false));  // (n, places)
    }
  }
  if (to_g.defined()) r[0] = op<"reshape">(to_g, g0.sizes());
  if (to_x.defined()) r[1] = op<"reshape">(to_x, sizes);
  if (to_grid[0].defined()) {
    std::vector<Tensor> l;
    for (int64_t k = 0; k < nd; ++k) l.push_back(to_grid[size_t(k)].defined() ? to_grid[size_t(k)] : op<"zeros_like">(to_grid[0]));
    r[2] = op<"reshape">(op<"stack">(l, int64_t(-1)), grid0.sizes());
  }
  return r;
}

}  // namespace fb::cards::grid_sampling
