// Sampling at given positions (Jaderberg et al., Spatial Transformer Networks, 2015).
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/levels.h"

namespace fb::cards {

namespace grid_sampling {
template <class T> Dims check(const char* name, const T& x, const T& grid, int64_t mode, int64_t padding, int64_t nd) {
  FB_CHECK(x.ndim() == nd + 2 && grid.ndim() == nd + 2, name, ": expected input and grid of ", nd + 2, " dimensions, got shapes ", x.sizes(), " and ", grid.sizes());
  FB_CHECK(x.dtype() == grid.dtype(), name, ": input and grid must be of one type, got ", x.dtype(), " and ", grid.dtype());
  FB_CHECK(x.sizes()[0] == grid.sizes()[0], name, ": input and grid must have as many samples, got shapes ", x.sizes(), " and ", grid.sizes());
  FB_CHECK(grid.sizes()[nd + 1] == nd, name, ": the last dimension of grid must have size ", nd, ", its shape is ", grid.sizes());
  FB_CHECK(mode >= 0 && mode <= 2, name, ": interpolation_mode must be 0 (bilinear), 1 (nearest) or 2 (bicubic), got ", mode);
  FB_CHECK(padding >= 0 && padding <= 2, name, ": padding_mode must be 0 (zeros), 1 (border) or 2 (reflection), got ", padding);
  FB_CHECK(nd == 2 || mode != 2, name, ": bicubic interpolation takes planes only, got an input of shape ", x.sizes());
  Dims out(x.sizes().slice(0, 2));
  for (int64_t i = 0; i < nd; ++i) {
    FB_CHECK(x.sizes()[i + 2] > 0, name, ": spatial sizes of the input must not be zero, its shape is ", x.sizes());
    out.push_back(grid.sizes()[i + 1]);
  }
  return out;
}
// Gradients of a loss that takes u of the input's gradient and v of the grid's (either may be absent): with respect to
// grad_output, the input and the grid. Of `nd` spatial dimensions.
std::array<Tensor, 3> second_derivatives(int64_t nd, const Tensor& u, const Tensor& v, const Tensor& g, const Tensor& x, const Tensor& grid, int64_t mode,
                                         int64_t padding, bool corners);
}  // namespace grid_sampling

#define FB_GRID_SAMPLER(N)                                                                                              \
  struct grid_sampler_##N##d_backward : structured<grid_sampler_##N##d_backward> {                                      \
    static constexpr auto schema = "grid_sampler_" #N                                                                   \
                                   "d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, " \
                                   "int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)";    \
    static constexpr uint32_t forms = form::hidden;                                                                     \
    template <class T> static std::array<T, 2> meta(const T& g, const T& x, const T& grid, int64_t mode, int64_t pad, bool, Span<bool> mask) { \
      const Dims of = grid_sampling::check("grid_sampler_" #N "d_backward", x, grid, mode, pad, N);                     \
      FB_CHECK(g.sizes() == of && g.dtype() == x.dtype(), "grid_sampler_" #N "d_backward: grad_output must be of shape ", \
               of, " and type ", x.dtype(), ", got ", g.sizes(), " and ", g.dtype());                                   \
      return {mask.p[0] ? T::empty(x.sizes(), x.options()) : T(), T::empty(grid.sizes(), grid.options())};               \
    }                                                                                                                   \
    static std::array<Tensor, 3> second(maybe_grad<0> u, maybe_grad<1> v, in<0> g, in<1> x, in<2> grid, arg<3, int64_t> mode, arg<4, int64_t> pad, \
                                        arg<5, bool> corners) {                                                         \
      return grid_sampling::second_derivatives(N, *u, *v, *g, *x, *grid, *mode, *pad, *corners);                        \
    }                                                                                                                   \
    using vjp = rules<joint<second, 0, 1, 2>>;                                                                          \
  };                                                                                                                    \
  FB_CARD(grid_sampler_##N##d_backward)                                                                                 \
  struct grid_sampler_##N##d : structured<grid_sampler_##N##d> {                                                        \
    static constexpr auto schema = "grid_sampler_" #N                                                                   \
                                   "d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "       \
                                   "align_corners) -> Tensor";                                                          \
    static constexpr uint32_t forms = form::fn;                                                                         \
    static constexpr auto doc =                                                                                         \
        "input (N, C, *spatial) sampled at grid (N, *places, " #N "), whose last dimension holds (x, y) or (x, y, z) in " \
        "[-1, 1]: with align_corners the extremes are the centres of corner elements, else their outer edges. "         \
        "interpolation_mode: 0 linear, 1 nearest, 2 cubic (planes only). padding_mode outside: 0 zeros, 1 border, 2 "    \
        "reflection. Gives (N, C, *places). Floating; both of one type.";                                               \
    template <class T> static T meta(const T& x, const T& grid, int64_t mode, int64_t pad, bool) {                      \
      return T::empty(grid_sampling::check("grid_sampler_" #N "d", x, grid, mode, pad, N), x.options());                 \
    }                                                                                                                   \
    static std::array<Tensor, 2> d(grad<0> g, in<0> x, in<1> grid, arg<2, int64_t> mode, arg<3, int64_t> pad, arg<4, bool> corners, needs want) { \
      const bool mask[2] = {want[0], want[1]};                                                                          \
      return ops<"grid_sampler_" #N "d_backward", 2>(*g, *x, *grid, *mode, *pad, *corners, Span<bool>(mask, 2));         \
    }                                                                                                                   \
    using vjp = rules<joint<d, 0, 1>>;                                                                                  \
  };                                                                                                                    \
  FB_CARD(grid_sampler_##N##d)
FB_GRID_SAMPLER(2)
FB_GRID_SAMPLER(3)
#undef FB_GRID_SAMPLER

struct grid_sampler : composite<grid_sampler> {
  static constexpr auto schema = "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc = "grid_sampler_2d or grid_sampler_3d, by the number of dimensions.";
  static Tensor body(const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool corners) {
    FB_CHECK(x.ndim() == 4 || x.ndim() == 5, "grid_sampler: expected an input of 4 or 5 dimensions, got shape ", x.sizes(), " and grid ", grid.sizes());
    return x.ndim() == 4 ? op<"grid_sampler_2d">(x, grid, mode, padding, corners) : op<"grid_sampler_3d">(x, grid, mode, padding, corners);
  }
};
FB_CARD(grid_sampler)

namespace grid_sampling {
// Positions of all places of `size` (N, C, *spatial) with a one at the end: (N, places, nd + 1).
inline Tensor base_grid(const Tensor& like, Ints size, bool corners, Options o) {
  const int64_t nd = size.n - 2;
  Dims shape;
  shape.push_back(size[0]);
  for (int64_t i = 0; i < nd; ++i) shape.push_back(size[i + 2]);
  shape.push_back(nd + 1);
  const Tensor base = beside(like, Tensor::empty(shape, o));
  int64_t places = 1;
  for (int64_t i = 0; i < nd; ++i) {
    const int64_t n = size[i + 2];
    places *= n;
    // x, the last spatial dimension, comes first.
    const Tensor column = op<"select">(base, int64_t(-1), nd - 1 - i);
    Tensor line = op<"linspace">(n <= 1 ? 0.0 : -1.0, n <= 1 ? 0.0 : 1.0, n, o.dtype);
    if (!corners) line = op<"div">(op<"mul">(line, double(n - 1)), double(n));
    Dims row;
    for (int64_t j = 0; j < nd; ++j) row.push_back(j == i ? n : 1);
    op_list<"copy_">(column, op<"reshape">(line, row));
  }
  op_list<"fill_">(op<"select">(base, int64_t(-1), nd), 1.0);
  return op<"view">(base, Ints{size[0], places, nd + 1});
}
inline void check_size(const char* name, Ints size) {
  FB_CHECK(size.n == 4 || size.n == 5, name, ": size must have 4 or 5 entries, got ", size);
  for (int64_t v : size) FB_CHECK(v >= 0, name, ": size must not be negative, got ", size);
}
}  // namespace grid_sampling

struct affine_grid_generator : lowered<affine_grid_generator> {
  static constexpr auto schema = "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc =
      "The grid for grid_sampler that maps places of an output of `size` (N, C, H, W) or (N, C, D, H, W) by theta (N, 2, 3) or (N, 3, 4). "
      "Gives (N, H, W, 2) or (N, D, H, W, 3).";
  static Tensor lowering(const Tensor& theta, Ints size, bool corners) {
    grid_sampling::check_size("affine_grid_generator", size);
    const int64_t nd = size.n - 2;
    FB_CHECK(theta.ndim() == 3 && theta.sizes()[0] == size[0] && theta.sizes()[1] == nd && theta.sizes()[2] == nd + 1, "affine_grid_generator: theta must have shape [",
             size[0], ", ", nd, ", ", nd + 1, "] for size ", size, ", got ", theta.sizes());
    const Tensor flat = op<"bmm">(grid_sampling::base_grid(theta, size, corners, theta.options()), op<"transpose">(theta, int64_t(1), int64_t(2)));
    Dims out;
    out.push_back(size[0]);
    for (int64_t i = 0; i < nd; ++i) out.push_back(size[i + 2]);
    out.push_back(nd);
    return op<"view">(flat, out);
  }
  static Tensor d(grad<0> g, arg<1, Ints> size, arg<2, bool> corners) { return op<"affine_grid_generator_backward">(*g, *size, *corners); }
  using vjp = rules<wrt<0, d>>;
};
FB_CARD(affine_grid_generator)

struct affine_grid_generator_backward : composite<affine_grid_generator_backward> {
  static constexpr auto schema = "affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& g, Ints size, bool corners) {
    grid_sampling::check_size("affine_grid_generator_backward", size);
    const Tensor base = grid_sampling::base_grid(g, size, corners, g.options());
    const Tensor flat = op<"reshape">(g, Ints{size[0], base.sizes()[1], size.n - 2});
    return op<"transpose">(op<"bmm">(op<"transpose">(base, int64_t(1), int64_t(2)), flat), int64_t(1), int64_t(2));
  }
};
FB_CARD(affine_grid_generator_backward)

}  // namespace fb::cards
