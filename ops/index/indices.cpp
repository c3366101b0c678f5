#include "ops/index/indices.h"

namespace fb {

std::vector<Tensor> indices_of(const Tensor& self, TensorSpan indices) {
  std::vector<Tensor> out;
  const int64_t nd = self.ndim();
  for (int64_t k = 0; k < indices.size(); ++k) {
    const Tensor& t = indices[k];
    if (!t.defined()) {
      out.emplace_back();
      continue;
    }
    const DType d = t.dtype();
    if (d != DType::i64 && d != DType::i32 && d != DType::boolean && d != DType::u8)
      raise_index("index ", k, " is of type ", d, "; an index is int64, int32, or a mask of type bool or uint8");
    if (d == DType::boolean || d == DType::u8) {
      if (d == DType::u8) warn("indexing with a uint8 mask is deprecated; use a bool mask");
      const int64_t first = int64_t(out.size());
      for (int64_t i = 0; i < t.ndim(); ++i)
        if (first + i >= nd || t.sizes()[i] != self.sizes()[first + i])
          raise_index("mask ", k, " of shape ", t.sizes(), " does not match the tensor of shape ", self.sizes(), " at dimension ", first + i);
      const Tensor at = op<"nonzero">(t);
      for (int64_t i = 0; i < t.ndim(); ++i) out.push_back(at.alias(Ints{at.sizes()[0]}, Ints{at.strides()[0]}, at.offset() + i * at.strides()[1]));
    } else {
      out.push_back(d == DType::i64 ? t : op<"to.dtype">(t, DType::i64));
    }
  }
  if (int64_t(out.size()) > nd) raise_index("too many indices: ", out.size(), " for a tensor of shape ", self.sizes(), " with ", nd, " dimensions");
  return out;
}

IndexedShape indexed_shape(const Tensor& self, const std::vector<Tensor>& indices) {
  IndexedShape r;
  int64_t first = -1, last = -1, count = 0;
  for (int64_t d = 0; d < int64_t(indices.size()); ++d) {
    const Tensor& t = indices[size_t(d)];
    if (!t.defined()) continue;
    if (first < 0) first = d;
    last = d;
    if (++count == 1) r.index = Dims(t.sizes());
    else {
      const int64_t n = std::max(r.index.size(), t.ndim());
      Dims both(n, 1);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t p = r.index.size() - n + i, q = t.ndim() - n + i;
        const int64_t a = p < 0 ? 1 : r.index[p], b = q < 0 ? 1 : t.sizes()[q];
        if (a != b && a != 1 && b != 1) {
          std::string shapes;
          for (const Tensor& x : indices)
            if (x.defined()) shapes += (shapes.empty() ? "" : ", ") + text(x.sizes());
          raise_index("indices of shapes ", shapes, " do not broadcast to one shape");
        }
        both[i] = a == 1 ? b : a;
      }
      r.index = both;
    }
  }
  if (!count) raise_index("an index of a tensor of shape ", self.sizes(), " holds no tensor");
  const bool adjacent = last - first + 1 == count;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (d >= int64_t(indices.size()) || !indices[size_t(d)].defined()) r.rest.push_back(d);
  r.at = adjacent ? first : 0;
  for (int64_t i = 0; i < r.rest.size() + 1; ++i) {
    if (i == r.at)
      for (int64_t s : r.index) r.sizes.push_back(s);
    if (i < r.rest.size()) r.sizes.push_back(self.sizes()[r.rest[i]]);
  }
  const int64_t selected = numel_of(r.sizes);
  for (int64_t d = 0; d < int64_t(indices.size()); ++d)
    if (indices[size_t(d)].defined() && self.sizes()[d] == 0 && selected != 0)
      raise_index("dimension ", d, " of a tensor of shape ", self.sizes(), " has size 0: no index is within its bounds");
  return r;
}

Dims indexed_strides(const Tensor& self, const std::vector<Tensor>& indices, const IndexedShape& s) {
  const int64_t nd = s.sizes.size(), ni = s.index.size();
  std::vector<Dims> operands;
  Dims base(nd, 0);
  for (int64_t i = 0; i < s.rest.size(); ++i) base[i < s.at ? i : i + ni] = self.strides()[s.rest[i]];
  operands.push_back(base);
  for (const Tensor& t : indices) {
    if (!t.defined()) continue;
    Dims st(nd, 0);
    for (int64_t i = 0; i < t.ndim(); ++i)
      if (t.sizes()[i] != 1) st[s.at + ni - t.ndim() + i] = t.strides()[i];
    operands.push_back(st);
  }
  return ordered_strides(s.sizes, [&](int64_t a, int64_t b) {
    for (const Dims& o : operands) {
      if (o[a] == 0 || o[b] == 0) continue;
      if (o[a] != o[b]) return o[a] < o[b] ? -1 : 1;
      if (s.sizes[a] > s.sizes[b]) return 1;
    }
    return 0;
  });
}

void check_index_values(const char* name, const Tensor& self, const IndexedShape& s, const Tensor& values) {
  FB_CHECK(self.dtype() == values.dtype(), name, ": self is ", self.dtype(), " and values are ", values.dtype(), "; both must have one type");
  // Leading dimensions of size 1 that the selection lacks are of no account.
  Ints v = values.sizes();
  while (v.n > s.sizes.size() && v[0] == 1) v = v.slice(1, v.n - 1);
  FB_CHECK(is_expandable_to(v, s.sizes), name, ": values of shape ", values.sizes(), " do not broadcast to the selected shape ", s.sizes.span());
}

}  // namespace fb
