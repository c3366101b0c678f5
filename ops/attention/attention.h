// scaled_dot_product_attention: the fused operator for CPUs, the composition, and the choice between them.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/first_result.h"

namespace fb::cards {

namespace attention {

// 1 / sqrt(E) where no scale is given.
inline double scale_of(const Tensor& query, std::optional<double> scale) { return scale ? *scale : 1 / __builtin_sqrt(double(query.size(-1))); }
template <class T>
void check_fused(const char* name, const T& q, const T& k, const T& v, double dropout_p, bool is_causal, const T& mask) {
  FB_CHECK(q.ndim() == 4 && k.ndim() == 4 && v.ndim() == 4, name, ": query, key and value have dimensions (batch, heads, length, features), their shapes are ", q.sizes(), ", ", k.sizes(),
           " and ", v.sizes());
  FB_CHECK(q.dtype() == k.dtype() && q.dtype() == v.dtype() && is_floating(q.dtype()), name, ": query, key and value must be of one floating type, theirs are ", q.dtype(), ", ", k.dtype(),
           " and ", v.dtype());
  const int64_t b = q.sizes()[0], e = q.sizes()[3];
  FB_CHECK(k.sizes()[0] == b && v.sizes()[0] == b && k.sizes()[3] == e && v.sizes()[3] == e && k.sizes()[2] == v.sizes()[2] && k.sizes()[1] == v.sizes()[1], name,
           ": shapes of query ", q.sizes(), ", key ", k.sizes(), " and value ", v.sizes(), " do not fit");
  FB_CHECK(k.sizes()[1] > 0 && q.sizes()[1] % k.sizes()[1] == 0, name, ": the ", k.sizes()[1], " heads of key and value do not divide the ", q.sizes()[1], " of the query");
  FB_CHECK(dropout_p == 0, name, ": dropout is not there, dropout_p is ", dropout_p);
  FB_CHECK(!mask.defined() || !is_causal, name, ": attn_mask and is_causal exclude each other");
  if (mask.defined()) {
    const Dims scores{b, q.sizes()[1], q.sizes()[2], k.sizes()[2]};
    FB_CHECK((mask.ndim() == 2 || mask.ndim() == 4) && broadcast_sizes(mask.sizes(), scores) == scores, name, ": an attn_mask of shape ", mask.sizes(), " does not fit scores of shape ", scores);
    FB_CHECK(mask.dtype() == q.dtype() || mask.dtype() == DType::f32, name, ": attn_mask must be float32 or of the query's type, it is ", mask.dtype());
  }
}
// Strides of (batch, heads, length, features) laid out as (batch, length, heads, features).
inline Dims heads_inside(Ints s) { return {s[1] * s[2] * s[3], s[3], s[1] * s[3], 1}; }

}  // namespace attention

struct flash_attention_backward : structured<flash_attention_backward> {
  static constexpr auto schema =
      "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, "
      "Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)";
  static constexpr uint32_t forms = form::hidden;
  template <class T>
  static std::array<T, 3> meta(const T& g, const T& q, const T& k, const T& v, const T& out, const T& lse, double dropout_p, bool is_causal, const T& mask, std::optional<double>) {
    attention::check_fused("_scaled_dot_product_flash_attention_for_cpu_backward", q, k, v, dropout_p, is_causal, mask);
    FB_CHECK(g.sizes() == q.sizes() && out.sizes() == q.sizes() && lse.sizes() == q.sizes().slice(0, 3), "_scaled_dot_product_flash_attention_for_cpu_backward: grad_out and out must have the query's shape ",
             q.sizes(), " and logsumexp its first three dimensions, their shapes are ", g.sizes(), ", ", out.sizes(), " and ", lse.sizes());
    auto like = [](const T& t) { return T::empty_strided(t.sizes(), attention::heads_inside(t.sizes()), t.options()); };
    return {like(q), like(k), like(v)};
  }
  // Composed of products: of grad_out, query, key and value, which out and logsumexp are functions of.
  static std::array<Tensor, 4> second(maybe_grad<0> x, maybe_grad<1> y, maybe_grad<2> z, in<0> g, in<1> query, in<2> key, in<3> value, arg<7, bool> is_causal,
                                      in<8> mask, arg<9, std::optional<double>> scale);
  using vjp = rules<joint<second, 0, 1, 2, 3>>;
};
FB_CARD(flash_attention_backward)

struct flash_attention : structured<flash_attention> {
  static constexpr auto schema =
      "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) "
      "-> (Tensor output, Tensor logsumexp)";
  static constexpr uint32_t forms = form::fn | form::first_result_differentiable;
  static constexpr auto grad_name = "ScaledDotProductFlashAttentionForCpuBackward0";
  template <class T>
  static std::array<T, 2> meta(const T& q, const T& k, const T& v, double dropout_p, bool is_causal, const T& mask, std::optional<double>) {
    attention::check_fused("_scaled_dot_product_flash_attention_for_cpu", q, k, v, dropout_p, is_causal, mask);
    const int64_t heads = q.sizes()[1], length = q.sizes()[2];
    return {T::empty_strided(q.sizes(), preserved_strides(q.sizes(), q.strides()), q.options()),
            T::empty_strided(q.sizes().slice(0, 3), Dims{heads * length, 1, heads}, {q.dtype() == DType::f64 ? DType::f64 : DType::f32, q.device()})};
  }
  static std::array<Tensor, 3> d_all(grad<0> g, in<0> q, in<1> k, in<2> v, result<0> out, result<1> lse, arg<3, double> dropout_p, arg<4, bool> is_causal, in<5> mask,
                                     arg<6, std::optional<double>> scale) {
    return ops<"_scaled_dot_product_flash_attention_for_cpu_backward", 3>(*g, *q, *k, *v, *out, *lse, *dropout_p, *is_causal, *mask, *scale);
  }
  using vjp = rules<joint<d_all, 0, 1, 2>>;
  static constexpr auto doc = R"(_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p=0, is_causal=False, *, attn_mask=None, scale=None)

softmax(query key^T * scale + attn_mask) value by blocks of queries that stay in the cache (after Dao et al. 2022), and the
logarithm of each row's sum: (B, H, L, E), (B, Hk, S, E) twice, Hk dividing H, to (B, H, L, E) and (B, H, L). attn_mask is
added, of shape (L, S) or 4 dimensions that broadcast. A query that may look at nothing gets zeros.)";
};
FB_CARD(flash_attention)

struct safe_softmax : lowered<safe_softmax> {
  static constexpr auto schema = "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "SafeSoftmaxBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, DType dtype);
  static Tensor d_self(grad<0> g, result<> y, arg<1, int64_t> dim, shape_of<0> self) { return op<"_softmax_backward_data">(*g, *y, *dim, self->options.dtype); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "_safe_softmax(input, dim, dtype=None) -> Tensor\n\nsoftmax, but zeros where all of a row is -inf.";
};
FB_CARD(safe_softmax)

struct attention_math : composite<attention_math> {
  static constexpr auto schema =
      "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
      "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 2> body(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p, bool is_causal, const Tensor& dropout_mask,
                                    std::optional<double> scale, bool enable_gqa);
};
FB_CARD(attention_math)

struct fused_sdp_choice : composite<fused_sdp_choice> {
  static constexpr auto schema =
      "_fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int";
  static constexpr uint32_t forms = form::fn;
  static int64_t body(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa);
  static constexpr auto doc = "_fused_sdp_choice(query, key, value, ...) -> int\n\nWhat scaled_dot_product_attention takes: 0 the composition, 1 the fused operator.";
};
FB_CARD(fused_sdp_choice)

struct scaled_dot_product_attention : composite<scaled_dot_product_attention> {
  static constexpr auto schema =
      "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) "
      "-> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa);
  static constexpr auto doc = R"(scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False) -> Tensor

softmax(query key^T * scale + attn_mask) value (Vaswani et al. 2017); scale is 1 / sqrt(E) where not given.

Shapes: query (..., L, E), key (..., S, E), value (..., S, Ev); attn_mask broadcasts to (..., L, S), boolean (True counts) or
added. is_causal lets query i look at keys 0 to i and excludes attn_mask. With enable_gqa heads (dimension -3) of key and
value are shared by groups of the query's. dropout_p, where not 0, always drops. A query that may look at nothing gets zeros.)";
};
FB_CARD(scaled_dot_product_attention)

}  // namespace fb::cards
