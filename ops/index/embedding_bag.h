// Bags of rows of a table: embedding_bag and its gradients, embedding_renorm_.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

enum class BagMode : int64_t { sum = 0, mean = 1, max = 2 };

inline bool is_index_type(DType d) { return d == DType::i64 || d == DType::i32; }
inline DType bag_index_type(const Tensor& indices, const Tensor& offsets) {
  return indices.dtype() == DType::i32 && offsets.dtype() == DType::i32 ? DType::i32 : DType::i64;
}
// Sums without padding need no map from index to bag; the map then stays empty.
inline bool bags_need_no_map(DType weight, int64_t mode, int64_t padding) {
  return mode == int64_t(BagMode::sum) && padding < 0 && weight != DType::f64;
}

// Gradient with respect to the table. offset2bag[j] is the bag of index j.
struct _embedding_bag_dense_backward : structured<_embedding_bag_dense_backward> {
  static constexpr auto schema =
      "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, int num_weights, "
      "bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T>
  static T meta(const T& g, const T& indices, const T& map, const T&, const T&, int64_t num_weights, bool, int64_t mode, const T&, int64_t) {
    FB_CHECK(g.ndim() == 2, "_embedding_bag_dense_backward: grad must have 2 dimensions, its shape is ", g.sizes());
    FB_CHECK(is_index_type(indices.dtype()), "_embedding_bag_dense_backward: indices are ", indices.dtype(), ", they must be int64 or int32");
    FB_CHECK(mode == int64_t(BagMode::max) || map.numel() == indices.numel(), "_embedding_bag_dense_backward: offset2bag of shape ", map.sizes(),
             " must have one element for each of indices, of shape ", indices.sizes());
    return T::empty(Ints{num_weights, g.sizes()[1]}, g.options());
  }
  static std::array<Tensor, 2> second(grad<0> u, in<0> g, in<1> indices, in<2> map, in<3> sizes, in<4> places, arg<6, bool> scale, arg<7, int64_t> mode,
                                      in<8> per_sample, arg<9, int64_t> padding, needs want);
  using vjp = rules<joint<second, 0, 8>>;
};
FB_CARD(_embedding_bag_dense_backward)

struct _embedding_bag_per_sample_weights_backward : structured<_embedding_bag_per_sample_weights_backward> {
  static constexpr auto schema =
      "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int "
      "padding_idx=-1) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static T meta(const T& g, const T& weight, const T& indices, const T&, const T&, int64_t mode, int64_t) {
    FB_CHECK(mode == int64_t(BagMode::sum), "embedding_bag: per_sample_weights work with mode 0 (sum), mode is ", mode);
    FB_CHECK(g.ndim() == 2 && weight.ndim() == 2 && g.sizes()[1] == weight.sizes()[1], "embedding_bag: grad of shape ", g.sizes(),
             " and weight of shape ", weight.sizes(), " must be matrices of one width");
    return T::empty(Ints{indices.numel()}, g.options());
  }
  static std::array<Tensor, 2> second(grad<0> u, in<0> g, in<1> weight, in<2> indices, in<4> map, arg<6, int64_t> padding, needs want);
  using vjp = rules<joint<second, 0, 1>>;
};
FB_CARD(_embedding_bag_per_sample_weights_backward)

// offset2bag where the forward pass did not need it.
inline Tensor bag_of_each(const Tensor& indices, const Tensor& offsets, const Tensor& map) {
  if (map.numel() || indices.numel() == 0) return map;
  const Tensor places = op<"arange">(Scalar(indices.numel()), offsets.dtype(), std::nullopt, offsets.device());
  return op<"sub">(op<"bucketize">(places, offsets, false, true), Scalar(1));
}
struct _embedding_bag_backward : lowered<_embedding_bag_backward> {
  static constexpr auto schema =
      "_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, int "
      "num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor lowering(const Tensor& g, const Tensor& indices, const Tensor& offsets, const Tensor& map, const Tensor& sizes, const Tensor& places,
                         int64_t num_weights, bool scale, int64_t mode, bool sparse, const Tensor& per_sample, int64_t padding) {
    if (sparse) raise_not_implemented("embedding_bag with sparse=True: sparse gradients are not there");
    return op<"_embedding_bag_dense_backward">(g, indices, bag_of_each(indices, offsets, map), sizes, places, num_weights, scale, mode,
                                               per_sample, padding);
  }
  static std::array<Tensor, 2> second(grad<0> u, in<0> g, in<1> indices, in<2> offsets, in<3> map, in<4> sizes, in<5> places, arg<7, bool> scale,
                                      arg<8, int64_t> mode, in<10> per_sample, arg<11, int64_t> padding, needs want);
  using vjp = rules<joint<second, 0, 10>>;
};
FB_CARD(_embedding_bag_backward)

template <class T>
std::array<T, 4> bag_results(const T& weight, const T& indices, const T& offsets, int64_t mode, const T& per_sample, bool last, int64_t padding) {
  FB_CHECK(weight.ndim() == 2, "embedding_bag: weight must have 2 dimensions, its shape is ", weight.sizes());
  FB_CHECK(indices.ndim() == 1, "embedding_bag: indices must be a vector, their shape is ", indices.sizes());
  FB_CHECK(offsets.ndim() == 1, "embedding_bag: offsets must be a vector, their shape is ", offsets.sizes());
  FB_CHECK(is_index_type(indices.dtype()), "embedding_bag: indices are ", indices.dtype(), ", they must be int64 or int32");
  FB_CHECK(is_index_type(offsets.dtype()), "embedding_bag: offsets are ", offsets.dtype(), ", they must be int64 or int32");
  FB_CHECK(weight.is_floating() && !is_float8(weight.dtype()), "embedding_bag: weight is ", weight.dtype(),
           ", it must be float16, bfloat16, float32 or float64");
  FB_CHECK(mode >= 0 && mode <= 2, "embedding_bag: mode is ", mode, ", it must be 0 (sum), 1 (mean) or 2 (max)");
  FB_CHECK(!last || offsets.numel() >= 1, "embedding_bag: include_last_offset needs at least one offset");
  if (per_sample.defined()) {
    FB_CHECK(mode == int64_t(BagMode::sum), "embedding_bag: per_sample_weights work with mode 0 (sum), mode is ", mode);
    FB_CHECK(per_sample.dtype() == weight.dtype(), "embedding_bag: weight is ", weight.dtype(), " and per_sample_weights are ", per_sample.dtype(),
             "; both must have one type");
    FB_CHECK(per_sample.ndim() == 1 && per_sample.numel() == indices.numel(), "embedding_bag: per_sample_weights of shape ", per_sample.sizes(),
             " must have the shape of indices, ", indices.sizes());
  }
  const int64_t bags = offsets.numel() - (last ? 1 : 0), width = weight.sizes()[1];
  const Options at{bag_index_type(indices, offsets), weight.device()};
  const int64_t mapped = bags_need_no_map(weight.dtype(), mode, padding) ? 0 : indices.numel();
  return {T::empty(Ints{bags, width}, weight.options()), T::empty(Ints{mapped}, at), T::empty(Ints{bags}, at),
          mode == int64_t(BagMode::max) ? T::empty(Ints{bags, width}, at) : T::empty(Ints{bags}, at)};
}

struct _embedding_bag : structured<_embedding_bag> {
  static constexpr auto schema =
      "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
      "per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "EmbeddingBagBackward0";
  template <class T>
  static std::array<T, 4> meta(const T& weight, const T& indices, const T& offsets, bool, int64_t mode, bool, const T& per_sample, bool last,
                               int64_t padding) {
    return bag_results(weight, indices, offsets, mode, per_sample, last, padding);
  }
  static Tensor d_weight(grad<0> g, shape_of<0> weight, in<1> indices, in<2> offsets, arg<3, bool> scale, arg<4, int64_t> mode, arg<5, bool> sparse,
                         in<6> per_sample, arg<8, int64_t> padding, result<1> map, result<2> sizes, result<3> places) {
    return op<"_embedding_bag_backward">(*g, *indices, *offsets, *map, *sizes, *places, weight.sizes()[0], *scale, *mode, *sparse,
                                         *per_sample, *padding);
  }
  static Tensor d_samples(grad<0> g, in<0> weight, in<1> indices, in<2> offsets, arg<4, int64_t> mode, arg<8, int64_t> padding, result<1> map) {
    return op<"_embedding_bag_per_sample_weights_backward">(*g, *weight, *indices, *offsets, bag_of_each(*indices, *offsets, *map), *mode, *padding);
  }
  using vjp = rules<wrt<0, d_weight>, wrt<6, d_samples>>;
};
FB_CARD(_embedding_bag)

struct _embedding_bag_forward_only : structured<_embedding_bag_forward_only> {
  static constexpr auto schema =
      "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
      "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  template <class T>
  static std::array<T, 4> meta(const T& weight, const T& indices, const T& offsets, bool, int64_t mode, bool, const T& per_sample, bool last,
                               int64_t padding) {
    return bag_results(weight, indices, offsets, mode, per_sample, last, padding);
  }
};
FB_CARD(_embedding_bag_forward_only)

struct embedding_bag : composite<embedding_bag> {
  static constexpr auto schema =
      "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
      "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 4> body(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale, int64_t mode, bool sparse,
                                    const Tensor& per_sample, bool last) {
    return ops<"_embedding_bag", 4>(weight, indices, offsets, scale, mode, sparse, per_sample, last,
                                    int64_t(-1));
  }
  static constexpr auto doc = R"(embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None) -> (output, offset2bag, bag_size, max_indices)

Reduces bags of rows of weight, shape (rows, width): bag b holds the rows named by indices[offsets[b]:offsets[b + 1]], and
output[b] is their sum (mode 0; each row times its per_sample_weights), mean (1) or elementwise maximum (2), zeros for an
empty bag. indices and offsets are int32 or int64 vectors; with include_last_offset the last offset is the end of the last
bag, which makes one bag less than offsets. Rows at padding_idx take no part. offset2bag maps each index to its bag (empty
where it is not needed), bag_size counts rows and max_indices names the rows of the maxima. RuntimeError for indices outside
[0, rows) and for offsets that do not start at 0 or decrease.)";
};
FB_CARD(embedding_bag)

struct embedding_bag_padding : composite<embedding_bag_padding> {
  static constexpr auto schema =
      "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? "
      "per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 4> body(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale, int64_t mode, bool sparse,
                                    const Tensor& per_sample, bool last, std::optional<int64_t> padding) {
    int64_t p = -1;
    if (padding) {
      const int64_t rows = weight.ndim() ? weight.sizes()[0] : 0;
      FB_CHECK(*padding >= -rows && *padding < rows, "embedding_bag: padding_idx is ", *padding, ", it must be in [", -rows, ", ", rows,
               ") for weight of shape ", weight.sizes());
      p = *padding < 0 ? *padding + rows : *padding;
    }
    return ops<"_embedding_bag", 4>(weight, indices, offsets, scale, mode, sparse, per_sample, last, p);
  }
};
FB_CARD(embedding_bag_padding)

struct embedding_renorm_ : lowered<embedding_renorm_> {
  static constexpr auto schema = "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)";
  static constexpr uint32_t forms = form::fn;
  static Tensor lowering(const Tensor& self, const Tensor& indices, double max_norm, double p) {
    FB_CHECK(self.ndim() == 2, "embedding_renorm_: self must have 2 dimensions, its shape is ", self.sizes());
    FB_CHECK(is_index_type(indices.dtype()), "embedding_renorm_: indices are ", indices.dtype(), ", they must be int64 or int32");
    if (indices.numel() == 0) return self;
    const Tensor at = op<"reshape">(indices, Ints{-1});
    const Tensor rows = op<"index_select">(self, int64_t(0), at);
    const Tensor norm = op<"to.dtype">(op<"linalg_vector_norm">(rows, Scalar(p), Ints{1}, true), DType::f64);
    const Tensor shrink = op<"mul">(op<"reciprocal">(op<"add">(norm, Scalar(1e-7))), Scalar(max_norm));
    const Tensor scale = op<"where">(op<"gt">(norm, Scalar(max_norm)), shrink, op<"ones_like">(shrink));
    const DType wide = compute_type(self.dtype());
    const Tensor scaled = op<"mul">(op<"to.dtype">(rows, wide), op<"to.dtype">(scale, wide));
    return op<"index_copy_">(self, int64_t(0), at, op<"to.dtype">(scaled, self.dtype()));
  }
  static constexpr auto doc = R"(embedding_renorm_(weight, indices, max_norm, norm_type) -> Tensor

Scales each row of weight, shape (rows, width), that indices name and whose norm_type-norm is above max_norm down to
max_norm, in place.)";
};
FB_CARD(embedding_renorm_)

}  // namespace fb::cards
