#include "ops/index/embedding_bag.h"

namespace fb::cards {

namespace {

Tensor column(const Tensor& t) { return op<"unsqueeze">(t, int64_t(1)); }
Tensor both(const Tensor& a, const Tensor& b) { return a.defined() ? op<"mul">(a, b) : b; }
Tensor rows_at(const Tensor& table, const Tensor& indices) { return op<"index_select">(table, int64_t(0), indices); }

// A gradient with respect to the table of `rows` rows is a sum of rows of the bags' gradients: row indices[j] takes that of
// bag map[j], times a factor of its own.
struct Bags {
  const Tensor &indices, &map, &sizes;
  int64_t rows, mode, padding;
  bool scale;
  DType type;

  // The factors but for the samples' weights, of shape (indices,); undefined where they are all 1.
  Tensor factors() const {
    Tensor f;
    if (padding >= 0) f = op<"to.dtype">(op<"ne">(indices, Scalar(padding)), type);
    if (scale) {
      const Tensor many = op<"bincount">(indices, std::nullopt, rows);
      f = both(f, op<"reciprocal">(op<"to.dtype">(rows_at(many, indices), type)));
    }
    if (mode == int64_t(BagMode::mean)) f = both(f, op<"reciprocal">(op<"to.dtype">(op<"clamp_min">(rows_at(sizes, map), Scalar(1)), type)));
    return f;
  }
};

std::array<Tensor, 2> of_table(const Tensor& u, const Tensor& g, const Bags& b, const Tensor& places, const Tensor& per_sample, bool want_g, bool want_samples) {
  std::array<Tensor, 2> r;
  if (b.mode == int64_t(BagMode::max)) {
    const Tensor taken = op<"gather">(u, int64_t(0), op<"to.dtype">(places, DType::i64));
    if (want_g) r[0] = op<"masked_fill">(taken, column(op<"eq">(b.sizes, Scalar(0))), 0.0);
    return r;
  }
  const Tensor f = b.factors(), rows = rows_at(u, b.indices);  // (indices, width)
  if (want_g) {
    const Tensor all = per_sample.defined() ? both(f, per_sample) : f;
    r[0] = op<"index_add">(op<"zeros_like">(g), int64_t(0), b.map, all.defined() ? op<"mul">(rows, column(all)) : rows);
  }
  if (want_samples) r[1] = both(f, op<"sum">(op<"mul">(rows_at(g, b.map), rows), Dims{1}, false));
  return r;
}

}  // namespace

std::array<Tensor, 2> _embedding_bag_dense_backward::second(grad<0> u, in<0> g, in<1> indices, in<2> map, in<3> sizes, in<4> places, arg<6, bool> scale,
                                                            arg<7, int64_t> mode, in<8> per_sample, arg<9, int64_t> padding, needs want) {
  return of_table(*u, *g, {*indices, *map, *sizes, u->sizes()[0], *mode, *padding, *scale, u->dtype()}, *places, *per_sample, want[0], want[8]);
}

std::array<Tensor, 2> _embedding_bag_backward::second(grad<0> u, in<0> g, in<1> indices, in<2> offsets, in<3> map, in<4> sizes, in<5> places, arg<7, bool> scale,
                                                      arg<8, int64_t> mode, in<10> per_sample, arg<11, int64_t> padding, needs want) {
  const Tensor bags = *mode == int64_t(BagMode::max) ? *map : bag_of_each(*indices, *offsets, *map);
  return of_table(*u, *g, {*indices, bags, *sizes, u->sizes()[0], *mode, *padding, *scale, u->dtype()}, *places, *per_sample, want[0], want[10]);
}

// The gradient of a sample's weight is the product of its row of weight with the gradient of its bag.
std::array<Tensor, 2> _embedding_bag_per_sample_weights_backward::second(grad<0> u, in<0> g, in<1> weight, in<2> indices, in<4> map, arg<6, int64_t> padding,
                                                                         needs want) {
  const Tensor each = column(*padding >= 0 ? op<"masked_fill">(*u, op<"eq">(*indices, Scalar(*padding)), 0.0) : *u);  // (indices, 1)
  std::array<Tensor, 2> r;
  if (want[0]) r[0] = op<"index_add">(op<"zeros_like">(*g), int64_t(0), *map, op<"mul">(rows_at(*weight, *indices), each));
  if (want[1]) r[1] = op<"index_add">(op<"zeros_like">(*weight), int64_t(0), *indices, op<"mul">(rows_at(*g, *map), each));
  return r;
}

}  // namespace fb::cards
