#include "ops/conv/convolution.h"

namespace fb::cards::conv {
namespace {

// A list of nd values; one value stands for all.
Dims full(const char* name, const char* arg, Ints v, int64_t nd) {
  FB_CHECK(v.n == nd || v.n == 1, name, ": expected ", nd, " values for ", arg, ", got ", v);
  Dims d(v);
  while (d.size() < nd) d.push_back(v[0]);
  return d;
}

// Adds a batch dimension to an input without one; says so.
Tensor batched(const char* name, int64_t nd, const Tensor& x, const Tensor& w, bool& added) {
  FB_CHECK(w.ndim() == nd + 2, name, ": expected a weight of ", nd + 2, " dimensions, got shape ", w.sizes());
  FB_CHECK(x.ndim() == nd + 2 || x.ndim() == nd + 1, name, ": expected an input of ", nd + 1, " (one sample) or ", nd + 2, " dimensions (a batch), got shape ", x.sizes());
  added = x.ndim() == nd + 1;
  return added ? op<"unsqueeze">(x, int64_t(0)) : x;
}

Tensor run(bool added, const Tensor& x, const Tensor& w, const Tensor& b, Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups) {
  const Tensor y = op<"convolution">(x, w, b, stride, padding, dilation, transposed, output_padding, groups);
  return added ? op<"squeeze">(y, int64_t(0)) : y;
}

}  // namespace

Tensor plain(const char* name, int64_t nd, const Tensor& x, const Tensor& w, const Tensor& b, Ints stride, Ints padding, Ints dilation, int64_t groups) {
  bool added;
  const Tensor xb = batched(name, nd, x, w, added);
  return run(added, xb, w, b, full(name, "stride", stride, nd), full(name, "padding", padding, nd), full(name, "dilation", dilation, nd), false, Dims(nd, 0), groups);
}

Tensor named(const char* name, int64_t nd, const Tensor& x, const Tensor& w, const Tensor& b, Ints stride, std::string_view padding, Ints dilation, int64_t groups) {
  bool added;
  Tensor xb = batched(name, nd, x, w, added);
  const Dims st = full(name, "stride", stride, nd), dil = full(name, "dilation", dilation, nd);
  Dims pad(nd, 0);
  if (padding == "same") {
    for (int64_t s : st) FB_CHECK(s == 1, name, ": padding='same' is not supported for strided convolutions, got stride ", st);
    // An odd total goes to the high side, by padding the input there first.
    Dims extra(2 * nd, 0);
    bool uneven = false;
    for (int64_t i = 0; i < nd; ++i) {
      const int64_t total = dil[i] * (w.sizes()[2 + i] - 1);
      pad[i] = total / 2;
      if (total % 2) {
        extra[2 * (nd - 1 - i) + 1] = 1;
        uneven = true;
      }
    }
    if (uneven) xb = op<"constant_pad_nd">(xb, extra, 0.0);
  } else {
    FB_CHECK(padding == "valid", name, ": padding must be 'valid', 'same' or numbers, got '", padding, "'");
  }
  return run(added, xb, w, b, st, pad, dil, false, Dims(nd, 0), groups);
}

Tensor transposed(const char* name, int64_t nd, const Tensor& x, const Tensor& w, const Tensor& b, Ints stride, Ints padding, Ints output_padding, int64_t groups, Ints dilation) {
  bool added;
  const Tensor xb = batched(name, nd, x, w, added);
  return run(added, xb, w, b, full(name, "stride", stride, nd), full(name, "padding", padding, nd), full(name, "dilation", dilation, nd), true,
             full(name, "output_padding", output_padding, nd), groups);
}

}  // namespace fb::cards::conv
