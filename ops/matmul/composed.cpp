#include "ops/matmul/composed.h"

#include <algorithm>
#include <string>

namespace fb::cards {

Tensor addr::lowering(const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha) {
  FB_CHECK(vec1.ndim() == 1 && vec2.ndim() == 1, "addr: expected two vectors (1-d), got shapes ", vec1.sizes(), " and ", vec2.sizes());
  const Dims shape{vec1.sizes()[0], vec2.sizes()[0]};
  FB_CHECK(is_expandable_to(self.sizes(), shape), "addr: self of shape ", self.sizes(), " does not expand to the result's shape ", shape);
  Tensor p = op<"mul">(op<"unsqueeze">(vec1, int64_t(1)), vec2);
  if (p.dtype() == DType::boolean && self.dtype() == DType::boolean) {
    FB_CHECK(beta.is_boolean() || beta.is_integral(), "addr: beta must be a bool or an integer for bool tensors, got ", beta);
    if (!alpha.to_bool()) p = op<"zeros_like">(p);
    return beta.to_bool() ? op<"logical_or">(self, p) : op<"clone">(p);
  }
  const DType type = promote(self.dtype(), p.dtype());
  for (const Scalar* s : {&beta, &alpha}) {
    const char* which = s == &beta ? "beta" : "alpha";
    FB_CHECK(!s->is_boolean() || type == DType::boolean, "addr: ", which, " is a bool, the result's type is ", type);
    FB_CHECK(s->is_integral() || !is_integral(type, true), "addr: ", which, " is ", *s, ", the result's type ", type, " is an integer one");
    check_fits("addr", *s, type);
  }
  p = products::times(p, alpha);
  if (!beta.to_bool()) {
    const DType d = promote(self.dtype(), p.dtype());
    return op<"to.dtype">(p, d);
  }
  return op<"add">(products::times(self, beta), p);
}

Tensor matmul::body(const Tensor& a, const Tensor& b) {
  const int64_t na = a.ndim(), nb = b.ndim();
  FB_CHECK(na > 0 && nb > 0, "matmul: both arguments need at least one dimension, got shapes ", a.sizes(), " and ", b.sizes());
  if (na == 1 && nb == 1) return op<"dot">(a, b);
  if (na == 2 && nb == 1) return op<"mv">(a, b);
  if (na == 1 && nb == 2) return op<"squeeze">(op<"mm">(op<"unsqueeze">(a, int64_t(0)), b), int64_t(0));
  if (na == 2 && nb == 2) return op<"mm">(a, b);
  const bool left_many = na >= 3 && nb <= 2, right_many = nb >= 3 && na <= 2;
  if (left_many || right_many) {
    // One side has no batch: fold the other's batch into its rows, as one product. A transposed right side folds
    // its columns.
    const Tensor& t1 = left_many ? a : op<"transpose">(b, int64_t(-2), int64_t(-1));
    const Tensor& t2 = left_many ? b : (na == 2 ? op<"t">(a) : a);
    const bool foldable = [&] {
      // Keeping the batch apart would expand the small side, and its gradient with it.
      if (t2->requires_grad) return true;
      // A matrix on the left would give a transposed result, to be copied again.
      if (right_many && na == 2) return false;
      if (t1.numel() == 0) return true;
      // Folding is free only where the batch dimensions are one run.
      auto sz = t1.sizes();
      auto st = t1.strides();
      for (int64_t i = 0; i + 2 < t1.ndim(); ++i)
        if (st[i] != st[i + 1] * sz[i + 1]) return false;
      return true;
    }();
    if (foldable) {
      Dims out(t1.sizes());
      const int64_t k = out.back();
      out.pop_back();
      const Tensor folded = op<"reshape">(t1, Ints{numel_of(out), k});
      if (t2.ndim() == 2) {
        out.push_back(t2.sizes()[1]);
        const Tensor r = op<"_unsafe_view">(op<"mm">(folded, t2), out);
        return right_many ? op<"contiguous">(op<"transpose">(r, int64_t(-2), int64_t(-1))) : r;
      }
      return op<"_unsafe_view">(op<"mv">(folded, t2), out);
    }
  }
  // Batches on both sides.
  const int64_t n = na > 1 ? a.sizes()[na - 2] : 1, m = a.sizes()[na - 1];
  const int64_t m2 = nb > 1 ? b.sizes()[nb - 2] : b.sizes()[0], p = nb > 1 ? b.sizes()[nb - 1] : 1;
  const Ints batch_a = na > 2 ? a.sizes().slice(0, na - 2) : Ints(), batch_b = nb > 2 ? b.sizes().slice(0, nb - 2) : Ints();
  FB_CHECK(m == m2, "matmul: shapes ", a.sizes(), " and ", b.sizes(), " cannot be multiplied: ", m, " columns meet ", m2, " rows");
  for (int64_t i = 1; i <= batch_a.n && i <= batch_b.n; ++i) {
    const int64_t sa = batch_a[batch_a.n - i], sb = batch_b[batch_b.n - i];
    FB_CHECK(sa == sb || sa == 1 || sb == 1, "matmul: the batches of shapes ", a.sizes(), " and ", b.sizes(), " do not broadcast: ", sa, " meets ", sb);
  }
  const Dims batch = broadcast_sizes(batch_a, batch_b);
  Dims ea = batch, eb = batch, out = batch;
  ea.push_back(n);
  ea.push_back(m);
  eb.push_back(m);
  eb.push_back(p);
  const int64_t count = numel_of(batch);
  const Tensor xa = op<"reshape">(op<"expand">(na == 1 ? op<"unsqueeze">(a, int64_t(0)) : a, ea), Ints{count, n, m});
  const Tensor xb = op<"reshape">(op<"expand">(nb == 1 ? op<"unsqueeze">(b, int64_t(1)) : b, eb), Ints{count, m, p});
  if (na > 1) out.push_back(n);
  if (nb > 1) out.push_back(p);
  return op<"_unsafe_view">(op<"bmm">(xa, xb), out);
}

Tensor linear::body(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  FB_CHECK(input.ndim() > 0 && (weight.ndim() == 1 || weight.ndim() == 2), "linear: input of shape ", input.sizes(), " and weight of shape ", weight.sizes(),
           ": expected (*, in) and (out, in) or (in)");
  FB_CHECK(weight.ndim() == 2 || !bias.defined() || bias.ndim() == 0, "linear: a weight of one dimension takes a bias without dimensions, got ", bias.sizes());
  const int64_t in_features = weight.sizes().back();
  FB_CHECK(input.sizes().back() == in_features, "linear: shapes of input ", input.sizes(), " and weight ", weight.sizes(), " cannot be multiplied: ",
           input.sizes().back(), " features meet ", in_features);
  if (weight.ndim() == 2 && bias.defined()) {
    if (input.ndim() == 2) return op<"addmm">(bias, input, op<"t">(weight));
    if (input.ndim() >= 3 && input.is_contiguous()) {
      Dims out(input.sizes());
      out.back() = weight.sizes()[0];
      const Tensor flat = op<"view">(input, Ints{numel_of(input.sizes().slice(0, input.ndim() - 1)), in_features});
      return op<"view">(op<"addmm">(bias, flat, op<"t">(weight)), out);
    }
  }
  const Tensor r = op<"matmul">(input, weight.ndim() == 2 ? op<"t">(weight) : weight);
  return bias.defined() ? op<"add">(r, bias) : r;
}

Tensor inner::body(const Tensor& a, const Tensor& b) {
  if (a.ndim() == 0 || b.ndim() == 0) return op<"mul">(a, b);
  FB_CHECK(a.sizes().back() == b.sizes().back(), "inner: the last dimensions of shapes ", a.sizes(), " and ", b.sizes(), " differ");
  return op<"tensordot">(a, b, Ints{a.ndim() - 1}, Ints{b.ndim() - 1});
}

Tensor tensordot::body(const Tensor& a0, const Tensor& b0, Ints da, Ints db) {
  FB_CHECK(da.n == db.n, "tensordot: ", da.n, " dimensions of the first and ", db.n, " of the second tensor were given");
  Tensor a = a0, b = b0;
  SmallVec<bool, 16> sum_a(a.ndim(), false), sum_b(b.ndim(), false);
  Dims pa, pb;
  int64_t k = 1;
  for (int64_t i = 0; i < da.n; ++i) {
    const int64_t x = wrap_dim(da[i], a.ndim()), y = wrap_dim(db[i], b.ndim());
    FB_CHECK(!sum_a[x] && !sum_b[y], "tensordot: a dimension appears twice in ", da, " or ", db);
    const int64_t sx = a.sizes()[x], sy = b.sizes()[y];
    FB_CHECK(sx == sy || sx == 1 || sy == 1, "tensordot: contracted dimensions ", da[i], " of size ", sx, " and ", db[i], " of size ", sy, " differ");
    if (sy == 1 && sx != 1) a = op<"sum">(a, Ints{x}, true, a.dtype());
    else if (sx == 1 && sy != 1) b = op<"sum">(b, Ints{y}, true, b.dtype());
    else k *= sx;
    sum_a[x] = sum_b[y] = true;
  }
  Dims out;
  int64_t m = 1, n = 1;
  for (int64_t i = 0; i < a.ndim(); ++i)
    if (!sum_a[i]) {
      pa.push_back(i);
      m *= a.sizes()[i];
      out.push_back(a.sizes()[i]);
    }
  for (int64_t d : da) pa.push_back(wrap_dim(d, a.ndim()));
  for (int64_t d : db) pb.push_back(wrap_dim(d, b.ndim()));
  for (int64_t i = 0; i < b.ndim(); ++i)
    if (!sum_b[i]) {
      pb.push_back(i);
      n *= b.sizes()[i];
      out.push_back(b.sizes()[i]);
    }
  const Tensor x = op<"reshape">(op<"permute">(a, pa), Ints{m, k}), y = op<"reshape">(op<"permute">(b, pb), Ints{k, n});
  return op<"reshape">(op<"mm">(x, y), out);
}

Tensor kron::body(const Tensor& a, const Tensor& b) {
  // [a0, 1, a1, 1, ...] * [1, b0, 1, b1, ...], pairs of dimensions joined.
  const int64_t n = std::max(a.ndim(), b.ndim());
  Dims sa, sb, out;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t x = i < n - a.ndim() ? 1 : a.sizes()[i - (n - a.ndim())], y = i < n - b.ndim() ? 1 : b.sizes()[i - (n - b.ndim())];
    sa.push_back(x);
    sa.push_back(1);
    sb.push_back(1);
    sb.push_back(y);
    out.push_back(x * y);
  }
  return op<"reshape">(op<"mul">(op<"reshape">(a, sa), op<"reshape">(b, sb)), out);
}

Tensor matrix_power::body(const Tensor& a, int64_t n) {
  FB_CHECK(a.ndim() >= 2 && a.sizes()[a.ndim() - 1] == a.sizes()[a.ndim() - 2], "linalg.matrix_power: expected square matrices, got shape ", a.sizes());
  if (n == 0) {
    const Tensor eye = op<"eye">(a.sizes().back(), a.dtype(), std::nullopt, a.device());
    // Written, so that the result has a history where a has one.
    return op<"copy_">(op<"clone">(a, MemoryFormat::contiguous), eye);
  }
  Tensor base = n < 0 ? op<"linalg_inv">(a) : a, r;
  uint64_t e = n < 0 ? 0 - uint64_t(n) : uint64_t(n);
  if (e == 1) return n < 0 ? base : op<"clone">(a);
  while (true) {
    if (e & 1) r = r.defined() ? op<"matmul">(r, base) : base;
    e >>= 1;
    if (!e) return r;
    base = op<"matmul">(base, base);
  }
}

Tensor multi_dot::body(TensorSpan t) {
  const int64_t n = t.n;
  FB_CHECK(n >= 2, "linalg.multi_dot: expected at least 2 tensors, got ", n);
  std::vector<Tensor> x(t.begin(), t.end());
  FB_CHECK((x[0].ndim() == 1 || x[0].ndim() == 2) && (x.back().ndim() == 1 || x.back().ndim() == 2),
           "linalg.multi_dot: the first and the last tensor must have 1 or 2 dimensions, got shapes ", x[0].sizes(), " and ", x.back().sizes());
  const bool first = x[0].ndim() == 1, last = x.back().ndim() == 1;
  if (first) x[0] = op<"unsqueeze">(x[0], int64_t(0));
  if (last) x.back() = op<"unsqueeze">(x.back(), int64_t(-1));
  for (int64_t i = 0; i < n; ++i) {
    FB_CHECK(x[size_t(i)].ndim() == 2, "linalg.multi_dot: tensor ", i, " must have 2 dimensions, got shape ", x[size_t(i)].sizes());
    FB_CHECK(x[size_t(i)].dtype() == x[0].dtype(), "linalg.multi_dot: tensors must have one dtype, got ", x[0].dtype(), " and ", x[size_t(i)].dtype());
    if (i)
      FB_CHECK(x[size_t(i - 1)].sizes()[1] == x[size_t(i)].sizes()[0], "linalg.multi_dot: tensors ", i - 1, " and ", i, " with shapes ", x[size_t(i - 1)].sizes(),
               " and ", x[size_t(i)].sizes(), " cannot be multiplied");
  }
  // The order of least multiplications (Cormen et al., matrix-chain order).
  std::vector<std::vector<double>> cost(static_cast<size_t>(n), std::vector<double>(static_cast<size_t>(n), 0));
  std::vector<std::vector<int64_t>> cut(static_cast<size_t>(n), std::vector<int64_t>(static_cast<size_t>(n), 0));
  auto dim = [&](int64_t i) { return i < n ? double(x[size_t(i)].sizes()[0]) : double(x.back().sizes()[1]); };
  for (int64_t len = 1; len < n; ++len)
    for (int64_t i = 0; i + len < n; ++i) {
      const int64_t j = i + len;
      double best = __builtin_inf();
      for (int64_t k = i; k < j; ++k) {
        const double c = cost[size_t(i)][size_t(k)] + cost[size_t(k + 1)][size_t(j)] + dim(i) * dim(k + 1) * dim(j + 1);
        if (c < best) best = c, cut[size_t(i)][size_t(j)] = k;
      }
      cost[size_t(i)][size_t(j)] = best;
    }
  auto product = [&](auto& self, int64_t i, int64_t j) -> Tensor {
    if (i == j) return x[size_t(i)];
    const int64_t k = cut[size_t(i)][size_t(j)];
    return op<"mm">(self(self, i, k), self(self, k + 1, j));
  };
  Tensor r = product(product, 0, n - 1);
  if (last) r = op<"squeeze">(r, int64_t(-1));
  if (first) r = op<"squeeze">(r, int64_t(0));
  return r;
}

Tensor bilinear::body(const Tensor& x1, const Tensor& x2, const Tensor& w, const Tensor& bias) {
  FB_CHECK(x1.ndim() == x2.ndim(), "bilinear: inputs of shapes ", x1.sizes(), " and ", x2.sizes(), " have different numbers of dimensions");
  FB_CHECK(w.ndim() == 3, "bilinear: expected a weight (out, in1, in2), got shape ", w.sizes());
  for (int64_t i = 0; i + 1 < x1.ndim(); ++i)
    FB_CHECK(x1.sizes()[i] == x2.sizes()[i], "bilinear: input sizes differ at dimension ", i, ": shapes ", x1.sizes(), " and ", x2.sizes());
  FB_CHECK(x1.sizes().back() == w.sizes()[1] && x2.sizes().back() == w.sizes()[2], "bilinear: inputs of shapes ", x1.sizes(), " and ", x2.sizes(),
           " do not fit the weight of shape ", w.sizes());
  FB_CHECK(!bias.defined() || (bias.ndim() == 1 && bias.sizes()[0] == w.sizes()[0]), "bilinear: expected a bias of ", w.sizes()[0], " elements, got shape ", bias.sizes());
  Dims out(x1.sizes());
  out.back() = w.sizes()[0];
  const int64_t rows = numel_of(x1.sizes().slice(0, x1.ndim() - 1));
  const Tensor a = op<"reshape">(x1, Ints{rows, x1.sizes().back()}), b = op<"reshape">(x2, Ints{rows, x2.sizes().back()});
  // [rows, in1] x [in1, out * in2] -> [rows, out, in2], then the product with b over in2.
  const Tensor wt = op<"reshape">(op<"permute">(w, Ints{1, 0, 2}), Ints{w.sizes()[1], w.sizes()[0] * w.sizes()[2]});
  const Tensor t = op<"reshape">(op<"mm">(a, wt), Ints{rows, w.sizes()[0], w.sizes()[2]});
  const Tensor r = op<"reshape">(op<"squeeze">(op<"bmm">(t, op<"unsqueeze">(b, int64_t(2))), int64_t(2)), out);
  return bias.defined() ? op<"add">(r, bias) : r;
}

namespace {

// Sums the product of two tensors of one number of dimensions over `sum` (sizes 1 stay), keeping every dimension.
Tensor product_sum(Tensor a, Tensor b, const SmallVec<bool, 64>& sum) {
  const int64_t n = a.ndim();
  Dims lro, lo, ro, both;
  int64_t size_lro = 1, size_lo = 1, size_ro = 1, size_sum = 1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t sa = a.sizes()[i], sb = b.sizes()[i];
    const bool la = sa != 1, lb = sb != 1;
    if (sum[i]) {
      if (la && lb) {
        both.push_back(i);
        size_sum *= sa;
      } else if (la) a = op<"sum">(a, Ints{i}, true);
      else if (lb) b = op<"sum">(b, Ints{i}, true);
    } else if (la && lb) {
      lro.push_back(i);
      size_lro *= sa;
    } else if (la) {
      lo.push_back(i);
      size_lo *= sa;
    } else {
      ro.push_back(i);
      size_ro *= sb;
    }
  }
  Dims out, pa, pb, inverse(n, -1), perm;
  for (int64_t d : lro) out.push_back(a.sizes()[d]);
  for (int64_t d : lo) out.push_back(a.sizes()[d]);
  for (int64_t i = 0; i < n; ++i)
    if (sum[i]) out.push_back(1);
  for (int64_t d : ro) out.push_back(b.sizes()[d]);
  Dims sums;
  for (int64_t i = 0; i < n; ++i)
    if (sum[i]) sums.push_back(i);
  for (int64_t d : lro) pa.push_back(d);
  for (int64_t d : lo) pa.push_back(d);
  for (int64_t d : sums) pa.push_back(d);
  for (int64_t d : ro) pa.push_back(d);
  for (int64_t d : lro) pb.push_back(d);
  for (int64_t d : sums) pb.push_back(d);
  for (int64_t d : ro) pb.push_back(d);
  for (int64_t d : lo) pb.push_back(d);
  for (int64_t i = 0; i < n; ++i) inverse[pa[i]] = i;
  const Tensor x = op<"reshape">(op<"permute">(a, pa), Ints{size_lro, size_lo, size_sum});
  const Tensor y = op<"reshape">(op<"permute">(b, pb), Ints{size_lro, size_sum, size_ro});
  return op<"permute">(op<"view">(op<"bmm">(x, y), out), inverse);
}

}  // namespace

Tensor einsum::body(std::string_view equation, TensorSpan operands, std::optional<Ints> path) {
  FB_CHECK(operands.n > 0, "einsum: at least one operand is needed");
  const size_t arrow = equation.find("->");
  const std::string_view lhs = equation.substr(0, arrow);
  constexpr int kEllipsis = 52;
  auto label_of = [&](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    raise_runtime("einsum: '", std::string(1, c), "' in equation '", equation, "' is no subscript; letters are");
  };
  // Labels of each operand, the ellipsis as one label.
  std::vector<std::vector<int>> labels(1);
  for (size_t i = 0; i < lhs.size(); ++i) {
    const char c = lhs[i];
    if (c == ' ') continue;
    if (c == ',') {
      labels.emplace_back();
      continue;
    }
    if (c == '.') {
      FB_CHECK(lhs.substr(i, 3) == "...", "einsum: found '.' in equation '", equation, "' that is not part of '...'");
      FB_CHECK(std::find(labels.back().begin(), labels.back().end(), kEllipsis) == labels.back().end(), "einsum: operand ", uint64_t(labels.size() - 1),
               " has two ellipses in '", equation, "'");
      i += 2;
      labels.back().push_back(kEllipsis);
      continue;
    }
    labels.back().push_back(label_of(c));
  }
  FB_CHECK(int64_t(labels.size()) == operands.n, "einsum: equation '", equation, "' has ", uint64_t(labels.size()), " operands, ", operands.n, " tensors were given");
  int count[52] = {};
  int64_t ell = 0;
  bool has_ellipsis = false;
  for (size_t k = 0; k < labels.size(); ++k) {
    const int64_t nd = operands[int64_t(k)].ndim();
    int64_t n = 0;
    bool e = false;
    for (int l : labels[k]) {
      if (l == kEllipsis) e = true;
      else ++count[l], ++n;
    }
    has_ellipsis |= e;
    FB_CHECK(e ? n <= nd : n == nd, "einsum: operand ", uint64_t(k), " of shape ", operands[int64_t(k)].sizes(), " has ", nd, " dimensions, its subscripts name ", n);
    if (e) ell = std::max(ell, nd - n);
  }
  // Where each label stands among the dimensions: those of the output first, then those that are summed.
  int place[52];
  std::fill(place, place + 52, -1);
  int64_t at = 0, ellipsis_at = 0, out_dims = 0;
  if (arrow == std::string_view::npos) {
    ellipsis_at = 0;
    at = ell;
    for (int l = 0; l < 52; ++l)
      if (count[l] == 1) place[l] = int(at++);
  } else {
    bool e = false;
    const std::string_view rhs = equation.substr(arrow + 2);
    for (size_t i = 0; i < rhs.size(); ++i) {
      if (rhs[i] == ' ') continue;
      if (rhs[i] == '.') {
        FB_CHECK(rhs.substr(i, 3) == "..." && !e, "einsum: found '.' in the output of '", equation, "' that is not part of one '...'");
        i += 2;
        e = true;
        ellipsis_at = at;
        at += ell;
        continue;
      }
      const int l = label_of(rhs[i]);
      FB_CHECK(place[l] < 0, "einsum: output subscript '", std::string(1, rhs[i]), "' appears twice in '", equation, "'");
      FB_CHECK(count[l] > 0, "einsum: output subscript '", std::string(1, rhs[i]), "' is in no input of '", equation, "'");
      place[l] = int(at++);
    }
    if (!e && has_ellipsis) {  // dimensions of the ellipsis are summed
      ellipsis_at = at;
      out_dims = at;
      at += ell;
      e = true;
      goto summed;
    }
  }
  out_dims = at;
summed:
  for (int l = 0; l < 52; ++l)
    if (count[l] > 0 && place[l] < 0) place[l] = int(at++);
  // Each operand permuted into these places, absent ones of size 1, repeated subscripts as a diagonal.
  std::vector<Tensor> x;
  for (size_t k = 0; k < labels.size(); ++k) {
    Tensor t = operands[int64_t(k)];
    Dims perm(at, -1);
    int64_t j = 0;
    for (int l : labels[k]) {
      if (l == kEllipsis) {
        const int64_t own = operands[int64_t(k)].ndim() - (int64_t(labels[k].size()) - 1);
        for (int64_t i = ell - own; i < ell; ++i) perm[ellipsis_at + i] = j++;
      } else if (perm[place[l]] >= 0) {
        const int64_t d1 = perm[place[l]];
        FB_CHECK(t.sizes()[d1] == t.sizes()[j], "einsum: a subscript repeated for operand ", uint64_t(k), " of shape ", operands[int64_t(k)].sizes(), " has sizes ",
                 t.sizes()[d1], " and ", t.sizes()[j]);
        t = op<"movedim">(op<"diagonal">(t, int64_t(0), d1, j), int64_t(-1), d1);
      } else perm[place[l]] = j++;
    }
    for (int64_t i = 0; i < at; ++i)
      if (perm[i] < 0) {
        t = op<"unsqueeze">(t, j);
        perm[i] = j++;
      }
    x.push_back(op<"permute">(t, perm));
  }
  // Sizes agree or are 1; the last operand that carries a summed dimension decides when it goes.
  Dims last(at, 0);
  for (int64_t d = 0; d < at; ++d) {
    int64_t size = 1;
    for (size_t k = 0; k < x.size(); ++k) {
      const int64_t s = x[k].sizes()[d];
      if (s == 1) continue;
      FB_CHECK(size == 1 || size == s, "einsum: operands do not broadcast: a subscript of operand ", uint64_t(k), " has size ", s,
               ", the same subscript of an earlier one has size ", size);
      size = s;
      last[d] = int64_t(k);
    }
  }
  Tensor r = x[0];
  {
    Dims sums;
    for (int64_t d = out_dims; d < at; ++d)
      if (x.size() == 1 || (last[d] == 0 && r.sizes()[d] != 1)) sums.push_back(d);
    if (!sums.empty()) r = op<"sum">(r, sums, true);
  }
  for (size_t k = 1; k < x.size(); ++k) {
    SmallVec<bool, 64> sum(at, false);
    for (int64_t d = out_dims; d < at; ++d)
      if (last[d] == int64_t(k)) sum[d] = true;
    // Sums of small integers are of type int64, and what they are multiplied with becomes so.
    if (r.dtype() != x[k].dtype() && is_integral(r.dtype(), true) && is_integral(x[k].dtype(), true)) x[k] = op<"to.dtype">(x[k], r.dtype());
    r = product_sum(r, x[k], sum);
  }
  if (at > out_dims) {
    Dims drop;
    for (int64_t d = out_dims; d < at; ++d) drop.push_back(d);
    r = op<"squeeze">(r, drop);
  }
  return r;
}

}  // namespace fb::cards
