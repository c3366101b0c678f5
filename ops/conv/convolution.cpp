#include "ops/conv/convolution.h"

namespace fb::cards::conv {

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

}  // namespace fb::cards::conv
