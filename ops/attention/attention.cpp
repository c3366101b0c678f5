#include "ops/attention/attention.h"

#include <cmath>
#include <limits>

#include "dispatch/thread_state.h"
#include "dispatch/trace.h"

namespace fb::cards {

Tensor safe_softmax::lowering(const Tensor& self, int64_t dim, DType dtype) {
  const Tensor y = op<"softmax.int">(self, dim, dtype == DType::none ? Value() : Value(dtype));
  const Tensor nothing = op<"all.dim">(op<"eq">(self, -std::numeric_limits<double>::infinity()), dim, true);
  return op<"masked_fill">(y, nothing, 0.0);
}

namespace {

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p) {
  constexpr auto name = "scaled_dot_product_attention";
  FB_CHECK(q.dtype() == k.dtype() && q.dtype() == v.dtype(), name, ": query, key and value must be of one type, theirs are ", q.dtype(), ", ", k.dtype(), " and ", v.dtype());
  const bool followed = (q->flags | k->flags | v->flags) & kTraced;   // stand-ins beside tensors from outside of a graph
  FB_CHECK(followed || (q.device() == k.device() && q.device() == v.device()), name, ": query, key and value must be on one device, theirs are ", q.device(), ", ", k.device(), " and ", v.device());
  FB_CHECK(q.ndim() >= 2 && k.ndim() >= 2 && v.ndim() >= 2, name, ": query, key and value have at least 2 dimensions, their shapes are ", q.sizes(), ", ", k.sizes(), " and ", v.sizes());
  FB_CHECK(!mask.defined() || mask.dtype() == DType::boolean || mask.dtype() == DType::f32 || mask.dtype() == q.dtype(), name, ": attn_mask must be bool, float32 or of the query's type ",
           q.dtype(), ", it is ", mask.defined() ? mask.dtype() : q.dtype());
  FB_CHECK(dropout_p >= 0 && dropout_p <= 1, name, ": dropout_p must be between 0 and 1, ", dropout_p, " was given");
}

bool features_adjacent(const Tensor& q, const Tensor& k, const Tensor& v) { return q.stride(-1) == 1 && k.stride(-1) == 1 && v.stride(-1) == 1; }

// Whether the fused operator takes these, whatever their strides.
bool fits_fused(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p, bool enable_gqa) {
  // Stand-ins of a graph that is made for the CPU are on no device.
  const bool followed = (q->flags | k->flags | v->flags) & kTraced;
  if (!(followed || q.device().is_cpu()) || dropout_p != 0 || !is_floating(q.dtype()) || q.dtype() != k.dtype() || q.dtype() != v.dtype()) return false;
  const int64_t d = q.ndim();
  if ((d != 3 && d != 4) || k.ndim() != d || v.ndim() != d) return false;
  const Ints a = q.sizes(), b = k.sizes(), c = v.sizes();
  if (a[d - 1] != b[d - 1] || a[d - 1] != c[d - 1] || b[d - 2] != c[d - 2] || b[d - 3] != c[d - 3]) return false;
  const int64_t heads = a[d - 3], shared = b[d - 3];
  if (!(shared == heads || shared == 1 || (enable_gqa && shared > 0 && heads % shared == 0))) return false;
  if (d == 4 && (a[0] != b[0] || a[0] != c[0])) return false;
  for (const Tensor* t : {&q, &k, &v})
    if (t->numel() == 0) return false;
  if (!mask.defined()) return true;
  if ((followed || mask->flags & kTraced) && mask.dtype() != DType::boolean)
    raise_not_implemented("scaled_dot_product_attention: whether a gradient is wanted of attn_mask is not known while it is followed");
  if (mask->requires_grad && tls.grad_enabled) return false;
  if (mask.ndim() != 2 && !(mask.ndim() == 4 && d == 4)) return false;
  const Dims scores{d == 4 ? a[0] : 1, heads, a[d - 2], b[d - 2]};
  for (int64_t i = 0; i < mask.ndim(); ++i) {
    const int64_t want = scores[4 - mask.ndim() + i];
    if (mask.sizes()[i] != want && mask.sizes()[i] != 1) return false;
  }
  return true;
}

// Zero where a boolean mask is True, -inf elsewhere.
Tensor additive(const Tensor& mask, DType type) {
  if (!mask.defined() || mask.dtype() != DType::boolean) return mask;
  GradMode no(false);
  const Tensor zero = op<"scalar_tensor">(0.0, type, std::nullopt, mask.device()),
               never = op<"scalar_tensor">(-std::numeric_limits<double>::infinity(), type, std::nullopt, mask.device());
  return op<"where">(mask, zero, never);
}

}  // namespace

namespace {
Tensor product(const Tensor& a, const Tensor& b) { return op<"matmul">(a, b); }
Tensor turned(const Tensor& t) { return op<"transpose">(t, int64_t(-2), int64_t(-1)); }
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : b.defined() ? op<"add">(a, b) : a; }
Tensor row_sums(const Tensor& a, const Tensor& b) { return op<"sum">(op<"mul">(a, b), Dims{-1}, true); }
}  // namespace

// With P = softmax(s q k' + mask), D = g v', r the row sums of P D and T = P (D - r), the first derivatives are s T k, s T' q and
// P' g. x, y and z are what the loss takes of these three; elementwise products are written without a sign, transposes with '.
std::array<Tensor, 4> flash_attention_backward::second(maybe_grad<0> x0, maybe_grad<1> y0, maybe_grad<2> z0, in<0> g0, in<1> q0, in<2> k0, in<3> v0,
                                                       arg<7, bool> is_causal, in<8> mask0, arg<9, std::optional<double>> scale) {
  const double s = attention::scale_of(*q0, *scale);
  const int64_t heads = q0->size(1), shared = k0->size(1);
  const bool half_type = is_half(q0->dtype());
  auto wide = [&](const Tensor& t) { return half_type && t.defined() && is_half(t.dtype()) ? op<"to">(t, DType::f32) : t; };
  auto of_all = [&](const Tensor& t) { return heads == shared || !t.defined() ? t : op<"repeat_interleave">(t, heads / shared, int64_t(1)); };
  auto of_shared = [&](const Tensor& t) {  // a group of heads is one of key and value
    if (heads == shared || !t.defined()) return t;
    return op<"sum">(op<"view">(op<"contiguous">(t), Dims{t.size(0), shared, heads / shared, t.size(2), t.size(3)}), Dims{2}, false);
  };
  const Tensor g = wide(*g0), q = wide(*q0), k = of_all(wide(*k0)), v = of_all(wide(*v0)), x = wide(*x0), y = of_all(wide(*y0)), z = of_all(wide(*z0));
  Tensor scores = op<"mul">(product(q, turned(k)), s);
  const Tensor mask = *is_causal ? op<"tril">(op<"ones">(Dims{q.size(-2), k.size(-2)}, DType::boolean, std::nullopt, q.device())) : wide(*mask0);
  if (mask.defined()) scores = op<"add">(scores, additive(mask, q.dtype()));
  const Tensor p = op<"_safe_softmax">(scores, int64_t(-1)), d = product(g, turned(v)), d_off = op<"sub">(d, row_sums(p, d)), t = op<"mul">(p, d_off);
  Tensor to_g, to_q, to_k, to_v, to_p, w;
  if (x.defined()) {
    to_k = op<"mul">(product(turned(t), x), s);
    w = product(x, turned(k));
  }
  if (y.defined()) {
    to_q = op<"mul">(product(t, y), s);
    w = plus(w, product(q, turned(y)));
  }
  if (z.defined()) {
    to_g = product(p, z);
    to_p = product(g, turned(z));
  }
  if (w.defined()) {  // of T
    w = op<"mul">(w, s);
    const Tensor sums = row_sums(p, w), to_d = op<"mul">(p, op<"sub">(w, sums));
    to_g = plus(to_g, product(to_d, v));
    to_v = product(turned(to_d), g);
    to_p = plus(to_p, op<"sub">(op<"mul">(w, d_off), op<"mul">(sums, d)));
  }
  if (to_p.defined()) {
    const Tensor to_scores = op<"mul">(op<"mul">(p, op<"sub">(to_p, row_sums(p, to_p))), s);
    to_q = plus(to_q, product(to_scores, k));
    to_k = plus(to_k, product(turned(to_scores), q));
  }
  return {to_g, to_q, of_shared(to_k), of_shared(to_v)};
}

std::array<Tensor, 2> attention_math::body(const Tensor& q0, const Tensor& k0, const Tensor& v0, const Tensor& mask0, double dropout_p, bool is_causal, const Tensor& dropout_mask,
                                           std::optional<double> scale, bool enable_gqa) {
  constexpr auto name = "scaled_dot_product_attention";
  check_inputs(q0, k0, v0, mask0, dropout_p);
  FB_CHECK(!is_causal || !mask0.defined(), name, ": attn_mask and is_causal exclude each other");
  Tensor q = q0, k = k0, v = v0, mask = mask0;
  const DType type = q0.dtype();
  const bool half_type = type == DType::f16 || type == DType::bf16;  // computed in float, rounded at the end
  if (half_type)
    for (Tensor* t : {&q, &k, &v}) *t = op<"to">(*t, DType::f32);
  if (enable_gqa) {
    FB_CHECK(q.ndim() >= 3 && k.ndim() >= 3 && v.ndim() >= 3, name, ": enable_gqa needs a dimension of heads, the shapes are ", q.sizes(), ", ", k.sizes(), " and ", v.sizes());
    const int64_t heads = q.size(-3), of_k = k.size(-3), of_v = v.size(-3);
    FB_CHECK(of_k > 0 && of_v > 0 && heads % of_k == 0 && heads % of_v == 0, name, ": heads of key (", of_k, ") and value (", of_v, ") must divide those of the query (", heads, ")");
    if (of_k != heads) k = op<"repeat_interleave">(k, heads / of_k, int64_t(-3));
    if (of_v != heads) v = op<"repeat_interleave">(v, heads / of_v, int64_t(-3));
  }
  // The root of the scale on both sides, so that neither product grows large.
  const double s = attention::scale_of(q, scale), root = std::sqrt(std::abs(s));
  const Tensor left = op<"mul">(q, s < 0 ? -root : root), right = op<"mul">(op<"transpose">(k, int64_t(-2), int64_t(-1)), root);
  Tensor scores = op<"matmul">(left, right);
  if (is_causal) mask = op<"tril">(op<"ones">(Dims{q.size(-2), k.size(-2)}, DType::boolean, std::nullopt, q.device()));
  mask = additive(mask, q.dtype());
  if (mask.defined()) scores = op<"add">(scores, mask);
  Tensor weights = op<"_safe_softmax">(scores, int64_t(-1));
  auto rounded = [&](const Tensor& t) { return half_type ? op<"to">(t, type) : t; };
  if (dropout_p > 0) {
    if (dropout_mask.defined()) {
      weights = op<"masked_fill">(weights, op<"logical_not">(dropout_mask), 0.0);
      return {rounded(op<"matmul">(weights, op<"mul">(v, 1 / (1 - dropout_p)))), rounded(weights)};
    }
    weights = op<"dropout">(weights, dropout_p, true);
  }
  return {rounded(op<"matmul">(weights, v)), rounded(weights)};
}

int64_t fused_sdp_choice::body(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p, bool, std::optional<double>, bool enable_gqa) {
  check_inputs(q, k, v, mask, dropout_p);
  return fits_fused(q, k, v, mask, dropout_p, enable_gqa) && features_adjacent(q, k, v);
}

Tensor scaled_dot_product_attention::body(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p, bool is_causal, std::optional<double> scale,
                                          bool enable_gqa) {
  check_inputs(q, k, v, mask, dropout_p);
  FB_CHECK(!is_causal || !mask.defined(), "scaled_dot_product_attention: attn_mask and is_causal exclude each other");
  if (fits_fused(q, k, v, mask, dropout_p, enable_gqa)) {
    const Tensor add = additive(mask, q.dtype());
    // The values do not depend on strides; only the layout of the result does, as _fused_sdp_choice tells.
    auto laid_out = [&](const Tensor& t) { return features_adjacent(q, k, v) ? t : op<"contiguous">(t); };
    if (q.ndim() == 4) return laid_out(ops<"_scaled_dot_product_flash_attention_for_cpu", 2>(q, k, v, dropout_p, is_causal, add, scale)[0]);
    auto batch_of_one = [](const Tensor& t) { return op<"unsqueeze">(t, int64_t(0)); };
    return laid_out(op<"squeeze">(ops<"_scaled_dot_product_flash_attention_for_cpu", 2>(batch_of_one(q), batch_of_one(k), batch_of_one(v), dropout_p, is_causal, add, scale)[0], int64_t(0)));
  }
  return ops<"_scaled_dot_product_attention_math", 2>(q, k, v, mask, dropout_p, is_causal, Tensor(), scale, enable_gqa)[0];
}

}  // namespace fb::cards
