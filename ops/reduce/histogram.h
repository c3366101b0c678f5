// histc histogram bincount, and the parts of histogramdd.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/repeated.h"
#include "dispatch/shape_of_values.h"

namespace fb::cards {

struct histc : direct<histc> {
  static constexpr auto schema = "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_repeated;
  static constexpr auto doc = R"(histc(input, bins=100, min=0, max=0) -> Tensor

How many elements fall into each of bins equal intervals of [min, max]; where both are equal, of the input's own range.)";
};
FB_CARD(histc)
struct histogram_edges : direct<histogram_edges> {
  static constexpr auto schema =
      "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static constexpr auto doc = R"(histogram(input, bins, *, range=None, weight=None, density=False) -> (hist, bin_edges)

Counts, or sums of weights, in the intervals between neighbouring edges: a tensor of edges, or a number of equal intervals
of range. Intervals are closed on the left, the last one on both sides.)";
};
FB_CARD(histogram_edges)
struct histogram_count : direct<histogram_count> {
  static constexpr auto schema =
      "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
};
FB_CARD(histogram_count)

struct histogramdd_bin_edges : direct<histogramdd_bin_edges> {
  static constexpr auto schema =
      "_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]";
  static constexpr uint32_t forms = form::fn;
};
FB_CARD(histogramdd_bin_edges)
struct histogramdd_from_bin_cts : direct<histogramdd_from_bin_cts> {
  static constexpr auto schema =
      "_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
};
FB_CARD(histogramdd_from_bin_cts)
struct histogramdd_from_bin_tensors : direct<histogramdd_from_bin_tensors> {
  static constexpr auto schema = "_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
};
FB_CARD(histogramdd_from_bin_tensors)

struct bincount : direct<bincount> {
  static constexpr auto schema = "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor";
  static constexpr uint32_t forms = direct<bincount>::forms | form::shape_of_values;
  static constexpr auto doc = R"(bincount(input, weights=None, minlength=0) -> Tensor

How often each number from 0 on occurs in a row of non-negative integers, or the sum of the weights of its places.)";
};
FB_CARD(bincount)

}  // namespace fb::cards
