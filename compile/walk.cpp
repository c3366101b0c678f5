#include "compile/walk.h"

#include <utility>

namespace fb::compile {

Walk::Walk(Ints sizes, const std::vector<Tensor>& tensors) {
  const int64_t nd = sizes.n;
  numel = 1;
  for (int64_t s : sizes) numel *= s;
  std::vector<Dims> full;
  for (const Tensor& t : tensors) {
    Dims s;
    s.resize(nd, 0);
    for (int64_t d = 0, pad = nd - t.ndim(); d < t.ndim(); ++d)
      if (t.sizes()[d] != 1) s[pad + d] = t.strides()[d] * t.item_bytes();
    full.push_back(s);
    operands.push_back({numel ? static_cast<char*>(t.data()) : nullptr, {}});
  }
  SmallVec<int64_t, 8> order(nd);
  for (int64_t i = 0; i < nd; ++i) order[i] = nd - 1 - i;
  auto key = [&](int64_t d) {
    for (const Dims& s : full)
      if (s[d]) return s[d];
    return int64_t(0);
  };
  for (int64_t i = 1; i < nd; ++i)
    for (int64_t j = i; j > 0 && key(order[j]) && key(order[j - 1]) > key(order[j]); --j) std::swap(order[j], order[j - 1]);
  for (int64_t i = 0; i < nd; ++i) {
    const int64_t d = order[i];
    if (sizes[d] == 1) continue;
    bool join = !shape.empty();
    for (size_t k = 0; k < full.size() && join; ++k) join = full[k][d] == operands[k].strides.back() * shape.back();
    if (join) {
      shape.back() *= sizes[d];
      continue;
    }
    shape.push_back(sizes[d]);
    for (size_t k = 0; k < full.size(); ++k) operands[k].strides.push_back(full[k][d]);
  }
  if (shape.empty()) {
    shape.push_back(1);
    for (Operand& o : operands) o.strides.push_back(0);
  }
}

}  // namespace fb::compile
