// Random fills of tensors: the stream runs in the order of memory of a dense tensor, or of a row-major copy.
#include "core/random.h"
#include "core/drawing.h"

#include <cmath>

#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// Calls fill(generator, out, n, dense) on memory that holds t in one run, and brings a copy home where t is not one.
template <class F> void on_memory(const char* name, const Tensor& t, Generator* g, F&& fill) {
  if (t.numel() == 0 || t.is_meta()) return;
  Generator& gen = g ? *g : default_cpu_generator();
  RandomStatus s;
  const bool plain = !(t->flags & (kConj | kNeg));
  if (plain && t.is_contiguous()) {
    const Drawing lock(gen);
    s = fill(gen, t.data(), t.numel(), true);
  } else {
    FB_CHECK(!has_internal_overlap(t), name, ": the tensor of shape ", t.sizes(), " and strides ", t.strides(), " has elements that share memory; clone() it first");
    // A dense tensor of other strides is walked in memory order, as a fill through an iterator would.
    const bool dense = plain && t.is_non_overlapping_and_dense();
    Tensor flat = dense ? t.alias({t.numel()}, {1}, t.offset()) : Tensor::empty(t.sizes(), t.options());
    {
      const Drawing lock(gen);
      s = fill(gen, flat.data(), flat.numel(), false);
    }
    if (!dense) op_list<"copy_">(t, flat);
  }
  if (s == RandomStatus::unsupported) raise_not_implemented("operator ", name, " is not implemented for type ", t.dtype());
  FB_CHECK(s == RandomStatus::ok, name, ": a parameter lies outside its range");
}

void uniform_(const Tensor& t, double from, double to, Generator* g) {
  on_memory("uniform_", t, g, [&](Generator& r, void* p, int64_t n, bool) { return random_uniform(r, t.dtype(), p, n, from, to); });
}
void normal_(const Tensor& t, double mean, double std, Generator* g) {
  on_memory("normal_", t, g, [&](Generator& r, void* p, int64_t n, bool dense) { return random_normal(r, t.dtype(), p, n, mean, std, dense); });
}
void log_normal_(const Tensor& t, double mean, double std, Generator* g) {
  on_memory("log_normal_", t, g, [&](Generator& r, void* p, int64_t n, bool) { return random_log_normal(r, t.dtype(), p, n, mean, std); });
}
void cauchy_(const Tensor& t, double median, double sigma, Generator* g) {
  on_memory("cauchy_", t, g, [&](Generator& r, void* p, int64_t n, bool) { return random_cauchy(r, t.dtype(), p, n, median, sigma); });
}
void exponential_(const Tensor& t, double lambda, Generator* g) {
  on_memory("exponential_", t, g, [&](Generator& r, void* p, int64_t n, bool) { return random_exponential(r, t.dtype(), p, n, lambda); });
}
void geometric_(const Tensor& t, double p, Generator* g) {
  on_memory("geometric_", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_geometric(r, t.dtype(), out, n, p); });
}
void bernoulli_float_(const Tensor& t, double p, Generator* g) {
  on_memory("bernoulli_", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_bernoulli(r, t.dtype(), out, n, p); });
}
void bernoulli_tensor_(const Tensor& t, const Tensor& p, Generator* g) {
  const Tensor e = op<"contiguous">(op<"expand">(p, t.sizes()));
  if (!t.is_contiguous()) {
    const Tensor c = Tensor::empty(t.sizes(), t.options());
    bernoulli_tensor_(c, e, g);
    op_list<"copy_">(t, c);
    return;
  }
  on_memory("bernoulli_", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_bernoulli_each(r, t.dtype(), out, n, e.dtype(), e.data()); });
}

// The integers that type d holds exactly.
void limits(DType d, int64_t& lo, int64_t& hi) {
  auto bits = [&](int b) { lo = -(int64_t(1) << b), hi = int64_t(1) << b; };
  switch (d) {
    case DType::boolean: lo = 0, hi = 1; return;
    case DType::u8: lo = 0, hi = 255; return;
    case DType::i8: lo = -128, hi = 127; return;
    case DType::i16: lo = INT16_MIN, hi = INT16_MAX; return;
    case DType::i32: lo = INT32_MIN, hi = INT32_MAX; return;
    case DType::u16: lo = 0, hi = 65535; return;
    case DType::u32: lo = 0, hi = 4294967295; return;
    case DType::f16: bits(11); return;
    case DType::bf16: bits(8); return;
    case DType::f32: bits(24); return;
    case DType::f64: bits(53); return;
    default: lo = INT64_MIN, hi = INT64_MAX; return;
  }
}
void random_from_(const Tensor& t, int64_t from, std::optional<int64_t> to, Generator* g) {
  int64_t lo, hi;
  limits(t.dtype(), lo, hi);
  if (to) {
    FB_CHECK(from < *to, "random_: expected from < to, got from ", from, " and to ", *to);
    if (t.is_floating()) {
      // Bounds of float types are those the type can tell apart from their neighbours.
    } else {
      FB_CHECK(from >= lo && from <= hi, "random_: from ", from, " is out of bounds for ", t.dtype(), ", ", lo, " to ", hi);
      FB_CHECK(*to - 1 >= lo && *to - 1 <= hi, "random_: to - 1 = ", *to - 1, " is out of bounds for ", t.dtype(), ", ", lo, " to ", hi);
    }
    const uint64_t range = uint64_t(*to) - uint64_t(from);
    return on_memory("random_", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_range(r, t.dtype(), out, n, from, range); });
  }
  if (from == INT64_MIN) return on_memory("random_", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_range(r, t.dtype(), out, n, 0, 0); });
  FB_CHECK(from >= lo && from <= hi, "random_: from ", from, " is out of bounds for ", t.dtype(), ", ", lo, " to ", hi);
  const uint64_t range = uint64_t(hi) - uint64_t(from) + 1;
  on_memory("random_", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_range(r, t.dtype(), out, n, from, range); });
}
void random_to_(const Tensor& t, int64_t to, Generator* g) { random_from_(t, 0, to, g); }
void random_any_(const Tensor& t, Generator* g) {
  on_memory("random_", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_any(r, t.dtype(), out, n); });
}
void randperm_(const Tensor& t, Generator* g) {
  int64_t lo, hi;
  limits(t.dtype(), lo, hi);
  FB_CHECK(t.numel() <= 1 || t.numel() - 1 <= hi, "randperm: n = ", t.numel(), " is too large for type ", t.dtype());
  on_memory("randperm", t, g, [&](Generator& r, void* out, int64_t n, bool) { return random_permutation(r, t.dtype(), out, n); });
}

Tensor multinomial(const Tensor& w, int64_t samples, bool replacement, Generator* g) {
  FB_CHECK(w.ndim() == 1 || w.ndim() == 2, "multinomial: expected weights of 1 or 2 dimensions, got shape ", w.sizes());
  FB_CHECK(w.is_floating(), "multinomial: expected weights of a floating type, got ", w.dtype());
  FB_CHECK(samples > 0, "multinomial: num_samples must be positive, got ", samples);
  const int64_t cols = w.sizes().back(), rows = w.ndim() == 2 ? w.sizes()[0] : 1;
  FB_CHECK(replacement || samples <= cols, "multinomial: cannot draw ", samples, " samples without replacement from ", cols, " categories");
  FB_CHECK(cols <= (int64_t(1) << 24), "multinomial: at most 2^24 categories are possible, got ", cols);
  Tensor out = w.ndim() == 2 ? Tensor::empty({rows, samples}, {DType::i64, w.device()}) : Tensor::empty({samples}, {DType::i64, w.device()});
  if (out.numel() == 0) return out;
  const Tensor c = op<"contiguous">(w);
  Generator& gen = g ? *g : default_cpu_generator();
  const Drawing lock(gen);
  const RandomStatus s = random_multinomial(gen, c.dtype(), c.data(), rows, cols, samples, replacement, out.ptr<int64_t>());
  FB_CHECK(s != RandomStatus::bad_parameter, "multinomial: the weights contain inf, nan or an element below 0");
  FB_CHECK(s != RandomStatus::zero_sum, "multinomial: the weights of a row sum to 0");
  if (s == RandomStatus::unsupported) raise_not_implemented("operator multinomial is not implemented for type ", w.dtype());
  return out;
}

void check(RandomStatus s, const char* name, DType d) {
  if (s == RandomStatus::unsupported) raise_not_implemented("operator ", name, " is not implemented for type ", d);
  FB_CHECK(s == RandomStatus::ok, name, ": a parameter lies outside its range");
}
Tensor poisson(const Tensor& rate, Generator* g) {
  const Tensor c = op<"contiguous">(rate);
  Tensor out = Tensor::empty(rate.sizes(), rate.options());
  Generator& gen = g ? *g : default_cpu_generator();
  const Drawing lock(gen);
  check(random_poisson(gen, c.dtype(), out.data(), c.numel(), c.data()), "poisson", c.dtype());
  return out;
}
Tensor binomial(const Tensor& count, const Tensor& prob, Generator* g) {
  const Dims shape = broadcast_sizes(count.sizes(), prob.sizes());
  const Tensor c = op<"contiguous">(op<"expand">(count, shape)), p = op<"contiguous">(op<"expand">(prob, shape));
  FB_CHECK(c.dtype() == p.dtype(), "binomial: count of type ", c.dtype(), " and prob of type ", p.dtype(), " must have the same type");
  Tensor out = Tensor::empty(shape, count.options());
  Generator& gen = g ? *g : default_cpu_generator();
  const Drawing lock(gen);
  check(random_binomial(gen, c.dtype(), out.data(), c.numel(), c.data(), p.data()), "binomial", c.dtype());
  return out;
}
Tensor standard_gamma(const Tensor& alpha, Generator* g) {
  const Tensor c = op<"contiguous">(alpha);
  Tensor out = Tensor::empty(alpha.sizes(), alpha.options());
  Generator& gen = g ? *g : default_cpu_generator();
  const Drawing lock(gen);
  check(random_gamma(gen, c.dtype(), out.data(), c.numel(), c.data()), "_standard_gamma", c.dtype());
  return out;
}
Tensor sample_dirichlet(const Tensor& alpha, Generator* g) {
  FB_CHECK(alpha.ndim() > 0, "_sample_dirichlet: expected at least one dimension");
  const Tensor c = op<"contiguous">(alpha);
  Tensor out = Tensor::empty(alpha.sizes(), alpha.options());
  if (out.numel() == 0) return out;
  Generator& gen = g ? *g : default_cpu_generator();
  const Drawing lock(gen);
  check(random_dirichlet(gen, c.dtype(), out.data(), c.numel() / c.sizes().back(), c.sizes().back(), c.data()), "_sample_dirichlet", c.dtype());
  return out;
}

FB_KERNEL_DIRECT("uniform_", uniform_)
FB_KERNEL_DIRECT("normal_", normal_)
FB_KERNEL_DIRECT("log_normal_", log_normal_)
FB_KERNEL_DIRECT("cauchy_", cauchy_)
FB_KERNEL_DIRECT("exponential_", exponential_)
FB_KERNEL_DIRECT("geometric_", geometric_)
FB_KERNEL_DIRECT("bernoulli_.float", bernoulli_float_)
FB_KERNEL_DIRECT("bernoulli_.Tensor", bernoulli_tensor_)
FB_KERNEL_DIRECT("random_.from", random_from_)
FB_KERNEL_DIRECT("random_.to", random_to_)
FB_KERNEL_DIRECT("random_", random_any_)
FB_KERNEL_DIRECT("_randperm_", randperm_)
FB_KERNEL_DIRECT("multinomial", multinomial)
FB_KERNEL_DIRECT("poisson", poisson)
FB_KERNEL_DIRECT("binomial", binomial)
FB_KERNEL_DIRECT("_standard_gamma", standard_gamma)
FB_KERNEL_DIRECT("_sample_dirichlet", sample_dirichlet)

}  // namespace
}  // namespace fb
