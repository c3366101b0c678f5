// Grids and combinations of the elements of vectors.
#pragma once
#include <algorithm>

#include "dispatch/call.h"

namespace fb::cards {

inline std::vector<Tensor> grid(TensorSpan tensors, std::string_view indexing) {
  FB_CHECK(tensors.n > 0, "meshgrid: takes at least one tensor, none was given");
  FB_CHECK(indexing == "ij" || indexing == "xy", "meshgrid: indexing must be \"ij\" or \"xy\", it is \"", indexing, "\"");
  Dims shape;
  for (int64_t i = 0; i < tensors.n; ++i) {
    const Tensor& t = tensors[i];
    FB_CHECK(t.ndim() <= 1, "meshgrid: takes tensors of at most 1 dimension, tensor ", i, " has shape ", t.sizes());
    FB_CHECK(t.dtype() == tensors[0].dtype(), "meshgrid: all tensors must have one type, tensor ", i, " is ", t.dtype(), " and the first ", tensors[0].dtype());
    FB_CHECK(t.device() == tensors[0].device(), "meshgrid: all tensors must be on one device, tensor ", i, " is on ", t.device());
    shape.push_back(t.numel());
  }
  const bool swap = indexing == "xy" && tensors.n >= 2;
  if (swap) std::swap(shape[0], shape[1]);
  std::vector<Tensor> out;
  for (int64_t i = 0; i < tensors.n; ++i) {
    Dims own(tensors.n, 1);
    own[swap && i < 2 ? 1 - i : i] = tensors[i].numel();
    out.push_back(op<"expand">(op<"view">(tensors[i], own), shape));
  }
  return out;
}

struct meshgrid : composite<meshgrid> {
  static constexpr auto schema = "meshgrid(Tensor[] tensors) -> Tensor[]";
  static constexpr uint32_t forms = form::fn;
  static std::vector<Tensor> body(TensorSpan tensors) { return grid(tensors, "ij"); }
  static constexpr auto doc = R"(meshgrid(*tensors, indexing="ij") -> tuple of Tensors

Each vector expanded to the shape of the grid of all of them. With "xy" the first two dimensions are swapped.)";
};
struct meshgrid_indexing : composite<meshgrid_indexing> {
  static constexpr auto schema = "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]";
  static constexpr uint32_t forms = form::fn;
  static std::vector<Tensor> body(TensorSpan tensors, std::string_view indexing) { return grid(tensors, indexing); }
};
FB_CARD(meshgrid)
FB_CARD(meshgrid_indexing)

struct cartesian_prod : composite<cartesian_prod> {
  static constexpr auto schema = "cartesian_prod(Tensor[] tensors) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(TensorSpan tensors) {
    for (const Tensor& t : tensors) FB_CHECK(t.ndim() == 1, "cartesian_prod: takes vectors, one tensor has shape ", t.sizes());
    if (tensors.n == 1) return tensors[0];
    std::vector<Tensor> flat;
    for (const Tensor& g : grid(tensors, "ij")) flat.push_back(op<"flatten">(g));
    return op<"stack">(flat, 1);
  }
};
FB_CARD(cartesian_prod)

struct combinations : composite<combinations> {
  static constexpr auto schema = "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& self, int64_t r, bool again) {
    FB_CHECK(self.ndim() == 1, "combinations: takes a vector, the shape is ", self.sizes());
    FB_CHECK(r >= 0, "combinations: r must be at least 0, it is ", r);
    if (r == 0) return op<"new_empty">(self, Ints({int64_t(0)}));
    const int64_t n = self.numel();
    const bool none = n == 0 || (!again && r > n);
    // How many there are: C(n, r), or C(n + r - 1, r), of r elements each.
    double count = none ? 0 : double(r);
    for (int64_t i = 1, of = again ? n + r - 1 : n, few = std::min(r, of - r); i <= few && count < 1e13; ++i) count = count * double(of - few + i) / double(i);
    // Of a class of Python's the sizes may stand for others: it is asked before memory is.
    FB_CHECK(count < (self->python ? 1e7 : 1e13), "combinations: there are too many of ", r, " out of ", n, " elements");
    // Index tuples in lexicographic order.
    std::vector<int64_t> all, place(static_cast<size_t>(none ? 0 : r));
    all.reserve(size_t(count));
    for (size_t i = 0; i < place.size(); ++i) place[i] = again ? 0 : int64_t(i);
    while (!none) {
      all.insert(all.end(), place.begin(), place.end());
      int64_t k = r - 1;
      while (k >= 0 && place[size_t(k)] == (again ? n - 1 : n - r + k)) --k;
      if (k < 0) break;
      ++place[size_t(k)];
      for (int64_t j = k + 1; j < r; ++j) place[size_t(j)] = again ? place[size_t(k)] : place[size_t(j - 1)] + 1;
    }
    const Tensor index = Tensor::empty(Ints({int64_t(all.size())}), {DType::i64, Device()});
    std::copy(all.begin(), all.end(), index.ptr<int64_t>());
    return op<"view">(op<"index_select">(self, 0, op<"lift_fresh">(index)), Ints({int64_t(all.size()) / r, r}));
  }
};
FB_CARD(combinations)

}  // namespace fb::cards
