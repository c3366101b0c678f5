// Layer, group, batch, instance and root-mean-square normalisation, and renorm.
#pragma once
#include "dispatch/call.h"
#include "dispatch/first_result.h"
#include "dispatch/thread_state.h"
#include "dispatch/out_rule.h"
#include "ops/norm/passes.h"
#include "ops/reduce/shape.h"

namespace fb {

// Where a graph of the backward pass is wanted, it is written in other operators: gradients of
// (x - mean) * rstd * weight + bias over the dimensions `dims` that mean and rstd have size 1 in.
struct NormGradients {
  Tensor input, weight, bias;
};
NormGradients norm_gradients(const Tensor& g, const Tensor& x, Ints dims, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                             bool through_statistics);
// The statistics as differentiable functions of x: mean and 1 / sqrt(var + eps), dims kept.
std::array<Tensor, 2> norm_statistics(const Tensor& x, Ints dims, double eps);

void check_norm_parameter(const char* op, const char* name, const Tensor& t, int64_t n);

}  // namespace fb

namespace fb::cards {

// The type of saved statistics: that of the parameters where they are float beside a half input.
inline DType norm_stat_type(const Tensor& x, const Tensor& w, const Tensor& b) {
  return w.defined() ? w.dtype() : b.defined() ? b.dtype() : x.dtype();
}
inline void check_norm_types(const char* name, const Tensor& x, const Tensor& w, const Tensor& b) {
  if (!is_floating(x.dtype())) raise_not_implemented(name, " is not there for type ", x.dtype());
  for (const Tensor* t : {&w, &b})
    if (t->defined())
      FB_CHECK((*t).dtype() == x.dtype() || (is_half(x.dtype()) && t->dtype() == DType::f32), name, ": the input is ", x.dtype(),
               ", a parameter ", t->dtype(), "; parameters have the input's type, or float32 beside a half type");
}

struct native_layer_norm : structured<native_layer_norm> {
  static constexpr auto schema =
      "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)";
  using passes = fb::passes::layer_norm;
  static constexpr uint32_t forms = form::fn | form::out | form::first_result_differentiable;
  static void check(const char* name, Ints sizes, Ints shape, const Tensor& w, const Tensor& b) {
    FB_CHECK(shape.n > 0, name, ": normalized_shape is ", shape, "; it names at least one dimension");
    for (const Tensor* t : {&w, &b})
      FB_CHECK(!t->defined() || t->sizes() == shape, name, ": ", t == &w ? "weight" : "bias", " has shape ", t->sizes(),
               ", normalized_shape is ", shape);
    FB_CHECK(sizes.n >= shape.n && sizes.slice(sizes.n - shape.n, shape.n) == shape, name, ": the input has shape ", sizes,
             ", which does not end in normalized_shape ", shape);
  }
  template <class T> static std::array<T, 3> meta(const T& x, Ints shape, const T& w, const T& b, double) {
    check("layer_norm", x.sizes(), shape, w, b);
    check_norm_types("layer_norm", x, w, b);
    Dims stat(x.sizes());
    for (int64_t d = x.ndim() - shape.n; d < x.ndim(); ++d) stat[d] = 1;
    const Options o{norm_stat_type(x, w, b), x.device()};
    return {T::empty(x.sizes(), x.options()), T::empty(stat, o), T::empty(stat, o)};
  }
  static std::array<Tensor, 3> gradients(grad<0> g, in<0> x, arg<1, Ints> shape, result<1> mean, result<2> rstd, in<2> w, in<3> b,
                                         arg<4, double> eps, needs n) {
    if (!tls.grad_enabled) {
      const bool mask[3] = {n[0], n[2], n[3]};
      return ops<"native_layer_norm_backward", 3>(*g, *x, *shape, *mean, *rstd, *w, *b, Span<bool>(mask, 3));
    }
    Dims dims, lead;
    for (int64_t d = 0; d < x->ndim(); ++d) (d < x->ndim() - shape->n ? lead : dims).push_back(d);
    const auto [m, r] = norm_statistics(*x, dims, *eps);
    NormGradients all = norm_gradients(*g, *x, dims, *w, m, r, true);
    auto down = [&](const Tensor& t) { return lead.empty() ? t : op<"sum">(t, lead, false); };
    return {all.input, n[2] ? down(all.weight) : Tensor(), n[3] ? down(all.bias) : Tensor()};
  }
  using vjp = rules<joint<gradients, 0, 2, 3>>;
};
FB_CARD(native_layer_norm)
struct native_layer_norm_backward : direct<native_layer_norm_backward> {
  static constexpr auto schema =
      "native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, "
      "Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)";
  using passes = fb::passes::layer_norm_backward;
  static constexpr uint32_t forms = form::hidden;
  static std::array<Tensor, 3> check(const Tensor& g, const Tensor& x, Ints shape, const Tensor& mean, const Tensor& rstd, const Tensor& w,
                                     const Tensor& b, Span<bool> mask) {
    FB_CHECK(g.sizes() == x.sizes(), "native_layer_norm_backward: grad_out has shape ", g.sizes(), ", input ", x.sizes());
    native_layer_norm::check("native_layer_norm_backward", x.sizes(), shape, w, b);
    int64_t rows = 1;
    for (int64_t s : x.sizes().slice(0, x.ndim() - shape.n)) rows *= s;
    FB_CHECK(mean.numel() == rows && rstd.numel() == rows, "native_layer_norm_backward: mean and rstd have one element for each of ", rows,
             " rows of an input of shape ", x.sizes(), ", their shapes are ", mean.sizes(), " and ", rstd.sizes());
    if (!x.is_meta()) return {};
    auto parameter = [&](const Tensor& t) { return Tensor::empty(shape, {(t.defined() ? t : x).dtype(), x.device()}); };
    return {mask[0] ? Tensor::empty(x.sizes(), x.options()) : Tensor(), mask[1] ? parameter(w) : Tensor(), mask[2] ? parameter(b) : Tensor()};
  }
};
FB_CARD(native_layer_norm_backward)
struct layer_norm : composite<layer_norm> {
  static constexpr auto schema =
      "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, Ints shape, const Tensor& w, const Tensor& b, double eps, bool) {
    return ops<"native_layer_norm", 3>(x, shape, w, b, eps)[0];
  }
  static constexpr auto doc = R"(layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5) -> Tensor

(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, which are normalized_shape (Ba, Kiros, Hinton 2016).
A sample alone or in a batch has the same bits.)";
};
FB_CARD(layer_norm)

struct rms_norm : composite<rms_norm> {
  static constexpr auto schema = "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, Ints shape, const Tensor& w, std::optional<double> eps) {
    native_layer_norm::check("rms_norm", x.sizes(), shape, w, Tensor());
    if (!is_floating(x.dtype()) && !is_complex(x.dtype())) raise_not_implemented("rms_norm is not there for type ", x.dtype());
    Dims dims;
    for (int64_t d = x.ndim() - shape.n; d < x.ndim(); ++d) dims.push_back(d);
    const Tensor up = is_half(x.dtype()) ? op<"to">(x, DType::f32) : x;
    const double e = eps ? *eps : to_real(x.dtype()) == DType::f64 ? 0x1p-52 : 0x1p-23;
    const Tensor scale = op<"rsqrt">(op<"add">(op<"mean">(op<"pow">(up, Scalar(2)), dims, true), Scalar(e)));
    Tensor r = op<"mul">(up, scale);
    if (w.defined()) r = op<"mul">(r, w);
    return r.dtype() == x.dtype() ? r : op<"to">(r, x.dtype());
  }
  static constexpr auto doc = R"(rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor

x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang, Sennrich 2019). eps is the machine epsilon where absent.)";
};
FB_CARD(rms_norm)

// N, C and HxW are those of an input of these sizes, and the groups divide the channels.
inline void check_group_sizes(const char* name, Ints x, int64_t n, int64_t c, int64_t hw, int64_t group) {
  FB_CHECK(group > 0 && c > 0 && c % group == 0, name, ": ", c, " channels do not divide into ", group, " groups; the input has shape ", x);
  int64_t elements = 1, all = 0, planes = 0;
  for (int64_t s : x) elements *= s;
  FB_CHECK(n >= 0 && hw >= 0 && !__builtin_mul_overflow(n, c, &planes) && !__builtin_mul_overflow(planes, hw, &all) && all == elements, name,
           ": N, C, HxW are ", n, ", ", c, ", ", hw, ", the input has shape ", x);
}

// The gradients that a normalisation over channels has, without values.
inline std::array<Tensor, 3> channel_gradients(const Tensor& x, const Tensor& w, int64_t c, Span<bool> mask) {
  const Options o{(w.defined() ? w : x).dtype(), x.device()};
  return {mask[0] ? Tensor::empty_format(x.sizes(), x.options(), x.suggested_format()) : Tensor(), mask[1] ? Tensor::empty({c}, o) : Tensor(),
          mask[2] ? Tensor::empty({c}, o) : Tensor()};
}

struct native_group_norm : structured<native_group_norm> {
  static constexpr auto schema =
      "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor, Tensor, Tensor)";
  using passes = fb::passes::group_norm;
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T>
  static std::array<T, 3> meta(const T& x, const T& w, const T& b, int64_t n, int64_t c, int64_t hw, int64_t group, double) {
    check_group_sizes("group_norm", x.sizes(), n, c, hw, group);
    check_norm_parameter("group_norm", "weight", w, c);
    check_norm_parameter("group_norm", "bias", b, c);
    check_norm_types("group_norm", x, w, b);
    const Options o{norm_stat_type(x, w, b), x.device()};
    return {T::empty_format(x.sizes(), x.options(), x.suggested_format()), T::empty({n, group}, o), T::empty({n, group}, o)};
  }
  static std::array<Tensor, 3> gradients(grad<0> g, maybe_grad<1> gmean, maybe_grad<2> grstd, in<0> x, in<1> w, in<2> b, result<1> mean,
                                         result<2> rstd, arg<3, int64_t> N, arg<4, int64_t> C, arg<5, int64_t> HxW, arg<6, int64_t> group,
                                         arg<7, double> eps, needs n) {
    const Dims split{*N, *group, *C / *group, *HxW}, dims{2, 3}, stat{*N, *group, 1, 1};
    // What comes in through mean and rstd: d mean / dx = 1 / n, d rstd / dx = -rstd^3 (x - mean) / n.
    auto add_statistics = [&](Tensor& to, const Tensor& m, const Tensor& r) {
      if (!to.defined() || !(gmean->defined() || grstd->defined())) return;
      const double count = double(*C / *group * *HxW);
      Tensor extra;
      if (gmean->defined()) extra = op<"expand">(op<"reshape">(*gmean, stat) / count, split);
      if (grstd->defined()) {
        const Tensor s = op<"reshape">(*grstd, stat) * (r * r * r) * (op<"reshape">(*x, split) - m) * (-1.0 / count);
        extra = extra.defined() ? extra + s : s;
      }
      to = to + op<"reshape">(extra, x->sizes());
    };
    if (!tls.grad_enabled) {
      const bool mask[3] = {n[0], n[1], n[2]};
      auto all = ops<"native_group_norm_backward", 3>(*g, *x, *mean, *rstd, *w, *N, *C, *HxW, *group, Span<bool>(mask, 3));
      add_statistics(all[0], op<"reshape">(*mean, stat), op<"reshape">(*rstd, stat));
      return all;
    }
    const Tensor xs = op<"reshape">(*x, split), gs = op<"reshape">(*g, split);
    const Tensor ws = w->defined() ? op<"reshape">(*w, Dims{1, *group, *C / *group, 1}) : Tensor();
    const auto [m, r] = norm_statistics(xs, dims, *eps);
    NormGradients all = norm_gradients(gs, xs, dims, ws, m, r, true);
    auto down = [&](const Tensor& t) { return op<"reshape">(op<"sum">(t, Dims{0, 3}, false), Dims{*C}); };
    Tensor input = op<"reshape">(all.input, x->sizes());
    add_statistics(input, m, r);
    return {input, n[1] ? down(all.weight) : Tensor(), n[2] ? down(all.bias) : Tensor()};
  }
  using vjp = rules<joint<gradients, 0, 1, 2>>;
};
FB_CARD(native_group_norm)
struct native_group_norm_backward : direct<native_group_norm_backward> {
  static constexpr auto schema =
      "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, "
      "bool[3] output_mask) -> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden;
  static std::array<Tensor, 3> check(const Tensor& g, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& w, int64_t n,
                                     int64_t c, int64_t hw, int64_t group, Span<bool> mask) {
    FB_CHECK(g.sizes() == x.sizes(), "native_group_norm_backward: grad_out has shape ", g.sizes(), ", input ", x.sizes());
    check_group_sizes("native_group_norm_backward", x.sizes(), n, c, hw, group);
    check_norm_parameter("native_group_norm_backward", "weight", w, c);
    FB_CHECK(mean.numel() == n * group && rstd.numel() == n * group, "native_group_norm_backward: mean and rstd have one element for each of ", n,
             " x ", group, " groups, their shapes are ", mean.sizes(), " and ", rstd.sizes());
    if (!x.is_meta()) return {};
    return channel_gradients(x, w, c, mask);
  }
  // The sums of g and of g (x - mean) over each channel of each sample; from them those over a group, weighted, and those over
  // the batch. Each number of a group stands for each of its channels before it meets x. Half inputs become float where they
  // meet such a number, and the gradient has a mean of its own, known after the sums: so no number of x's shape is kept for it.
  static std::array<Tensor, 3> lowering(const Tensor& g, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& w, int64_t n,
                                        int64_t c, int64_t hw, int64_t group, Span<bool> mask) {
    const int64_t nd = x.ndim(), within = c / group;
    if (nd < 2 || x.numel() == 0 || x.sizes()[0] != n || x.sizes()[1] != c)
      raise_not_implemented("native_group_norm_backward of an input of shape ", x.sizes(), " is not written in other operators");
    const DType type = compute_type(x.dtype());
    auto in_type = [](const Tensor& t, DType d) { return t.dtype() == d ? t : op<"to">(t, d); };
    const Dims split{n, group, within};
    Dims along(nd, 1), spatial;
    along[0] = n;
    along[1] = c;
    for (int64_t d = 2; d < nd; ++d) spatial.push_back(d);
    auto of_groups = [&](const Tensor& t) { return op<"reshape">(in_type(t, type), Dims{n, group, 1}); };
    auto spread = [&](const Tensor& t) { return op<"reshape">(op<"contiguous">(op<"expand">(t, split)), along); };
    const Tensor gs = g.dtype() == x.dtype() ? g : in_type(g, type), r = of_groups(rstd), m = spread(of_groups(mean));
    const Tensor ws = w.defined() ? op<"reshape">(in_type(w, type), Dims{1, group, within}) : Tensor();
    auto over_plane = [&](const Tensor& t) { return op<"reshape">(spatial.empty() ? in_type(t, type) : op<"sum">(t, spatial, false, type), split); };
    Tensor sum, dot;
    if (mask[0] || mask[1]) dot = over_plane(op<"mul">(gs, op<"sub">(x, m)));
    if (mask[0] || mask[2]) sum = over_plane(gs);
    std::array<Tensor, 3> all;
    if (mask[0]) {
      auto weighted = [&](const Tensor& t) { return ws.defined() ? op<"mul">(t, ws) : t; };
      const Tensor s1 = op<"sum">(weighted(sum), Dims{2}, true), s2 = op<"sum">(weighted(dot), Dims{2}, true);
      const Scalar count(double(within * hw));
      const Tensor a = ws.defined() ? op<"mul">(ws, r) : r, d = op<"mul">(r, op<"div">(s1, count));
      const Tensor b = op<"mul">(r, op<"div">(op<"mul">(op<"mul">(s2, r), r), count));
      const Tensor of_group[] = {of_groups(mean), b, d};
      const Tensor spreads = op<"contiguous">(op<"expand">(op<"stack">(TensorSpan(of_group, 3), int64_t(0)), Dims{3, n, group, within}));
      auto one = [&](int64_t i) { return op<"reshape">(op<"select">(spreads, int64_t(0), i), along); };
      const Tensor dx = op<"sub">(op<"sub">(op<"mul">(gs, spread(a)), op<"mul">(op<"sub">(x, one(0)), one(1))), one(2));
      all[0] = op<"contiguous">(in_type(dx, x.dtype()), x.suggested_format());
    }
    auto parameter = [&](const Tensor& t) { return in_type(op<"reshape">(op<"sum">(t, Dims{0}, false), Dims{c}), (w.defined() ? w : x).dtype()); };
    if (mask[1]) all[1] = parameter(op<"mul">(dot, r));
    if (mask[2]) all[2] = parameter(sum);
    return all;
  }
};
FB_CARD(native_group_norm_backward)
struct group_norm : composite<group_norm> {
  static constexpr auto schema =
      "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, int64_t groups, const Tensor& w, const Tensor& b, double eps, bool) {
    FB_CHECK(x.ndim() >= 2, "group_norm: the input has shape ", x.sizes(), "; it needs a batch and a channel dimension");
    const int64_t n = x.sizes()[0], c = x.sizes()[1];
    FB_CHECK(groups > 0, "group_norm: num_groups is ", groups, "; it must be positive");
    int64_t hw = 1;
    for (int64_t d = 2; d < x.ndim(); ++d) hw *= x.sizes()[d];
    return ops<"native_group_norm", 3>(x, w, b, n, c, hw, groups, eps)[0];
  }
  static constexpr auto doc = R"(group_norm(input, num_groups, weight=None, bias=None, eps=1e-5) -> Tensor

Normalises each sample's channels (dimension 1) in num_groups groups (Wu, He 2018); weight and bias have one number a channel.)";
};
FB_CARD(group_norm)

struct native_batch_norm : structured<native_batch_norm> {
  static constexpr auto schema =
      "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
      "float momentum, float eps) -> (Tensor, Tensor, Tensor)";
  static constexpr auto aliases = ".out:out,save_mean,save_invstd";
  using passes = fb::passes::batch_norm;
  static constexpr uint32_t forms = form::fn | form::out | form::first_result_differentiable;
  static void check(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& rm, const Tensor& rv, bool training) {
    FB_CHECK(x.ndim() >= 2, "batch_norm: the input has shape ", x.sizes(), "; it needs a batch and a channel dimension");
    const int64_t c = x.sizes()[1];
    check_norm_parameter("batch_norm", "running_mean", rm, c);
    check_norm_parameter("batch_norm", "running_var", rv, c);
    check_norm_parameter("batch_norm", "weight", w, c);
    check_norm_parameter("batch_norm", "bias", b, c);
    FB_CHECK_VALUE(rm.defined() == rv.defined(), "batch_norm: running_mean and running_var must both be given or both be None; ",
                   rm.defined() ? "running_var" : "running_mean", " is None");
    FB_CHECK(training || rm.defined(), "batch_norm: running_mean and running_var are needed in evaluation mode");
  }
  template <class T>
  static std::array<T, 3> meta(const T& x, const T& w, const T& b, const T& rm, const T& rv, bool training, double, double) {
    check(x, w, b, rm, rv, training);
    check_norm_types("batch_norm", x, w, b);
    FB_CHECK(!training || x.numel() > 0, "batch_norm: the input of shape ", x.sizes(), " has no elements to train on");
    const DType stat = w.defined() || b.defined() ? norm_stat_type(x, w, b) : rm.defined() ? rm.dtype() : x.dtype();
    const Dims n{training ? x.sizes()[1] : 0};
    return {T::empty_format(x.sizes(), x.options(), x.suggested_format()), T::empty(n, {stat, x.device()}), T::empty(n, {stat, x.device()})};
  }
  static std::array<Tensor, 3> gradients(grad<0> g, in<0> x, in<1> w, in<3> rm, in<4> rv, result<1> mean, result<2> invstd, arg<5, bool> training,
                                         arg<7, double> eps, needs n) {
    if (!tls.grad_enabled) {
      const bool mask[3] = {n[0], n[1], n[2]};
      return ops<"native_batch_norm_backward", 3>(*g, *x, *w, *rm, *rv, *mean, *invstd, *training, *eps, Span<bool>(mask, 3));
    }
    Dims dims, row(x->ndim(), 1);
    row[1] = x->sizes()[1];
    for (int64_t d = 0; d < x->ndim(); ++d)
      if (d != 1) dims.push_back(d);
    const Tensor ws = w->defined() ? op<"reshape">(*w, row) : Tensor();
    Tensor m, r;
    if (*training) {
      auto s = norm_statistics(*x, dims, *eps);
      m = s[0], r = s[1];
    } else {
      m = op<"reshape">(*rm, row);
      r = op<"rsqrt">(op<"add">(op<"reshape">(*rv, row), Scalar(*eps)));
    }
    NormGradients all = norm_gradients(*g, *x, dims, ws, m, r, *training);
    return {all.input, n[1] ? op<"sum">(all.weight, dims, false) : Tensor(), n[2] ? op<"sum">(all.bias, dims, false) : Tensor()};
  }
  using vjp = rules<joint<gradients, 0, 1, 2>>;
};
FB_CARD(native_batch_norm)
struct native_batch_norm_backward : direct<native_batch_norm_backward> {
  static constexpr auto schema =
      "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, "
      "Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)";
  using passes = fb::passes::batch_norm_backward;
  static constexpr uint32_t forms = form::hidden;
  static std::array<Tensor, 3> check(const Tensor& g, const Tensor& x, const Tensor& w, const Tensor& rm, const Tensor& rv, const Tensor& mean,
                                     const Tensor& invstd, bool train, double, Span<bool> mask) {
    FB_CHECK(g.sizes() == x.sizes(), "native_batch_norm_backward: grad_out has shape ", g.sizes(), ", input ", x.sizes());
    FB_CHECK(x.ndim() > 1, "native_batch_norm_backward: input of shape ", x.sizes(), " has no channels");
    for (const Tensor* t : {&w, train ? &mean : &rm, train ? &invstd : &rv})
      FB_CHECK(t->defined() ? t->numel() == x.sizes()[1] : t == &w, "native_batch_norm_backward: ", t == &w ? "weight" : "the statistics", " of shape ",
               t->defined() ? t->sizes() : Ints(), " for ", x.sizes()[1], " channels");
    if (!x.is_meta()) return {};
    return channel_gradients(x, w, x.sizes()[1], mask);
  }
};
FB_CARD(native_batch_norm_backward)
struct batch_norm : composite<batch_norm> {
  static constexpr auto schema =
      "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
      "float eps, bool cudnn_enabled) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& rm, const Tensor& rv, bool training, double momentum,
                     double eps, bool) {
    if (x.numel() == 0) {  // no channel has anything to normalise
      Tensor y = op<"clone">(x);
      if (w.defined()) y = op<"mul">(y, op<"select">(w, int64_t(0), int64_t(0)));
      if (b.defined()) y = op<"add">(y, op<"select">(b, int64_t(0), int64_t(0)));
      return y;
    }
    FB_CHECK(training || (rm.defined() && rv.defined()), "batch_norm: running_mean and running_var are needed in evaluation mode");
    native_batch_norm::check(x, w, b, rm, rv, training);
    return ops<"native_batch_norm", 3>(x, w, b, rm, rv, training, momentum, eps)[0];
  }
  static constexpr auto doc = R"(batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled) -> Tensor

Normalises each channel (dimension 1) over all others (Ioffe, Szegedy 2015): by the batch's own mean and variance where
training, which also move running_mean and running_var by momentum (the variance unbiased); else by the running ones.)";
};
FB_CARD(batch_norm)

struct instance_norm : composite<instance_norm> {
  static constexpr auto schema =
      "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
      "float momentum, float eps, bool cudnn_enabled) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& rm, const Tensor& rv, bool use_input_stats, double momentum,
                     double eps, bool cudnn) {
    FB_CHECK(use_input_stats || (rm.defined() && rv.defined()), "instance_norm: running_mean and running_var are needed where use_input_stats is False");
    FB_CHECK(x.ndim() >= 2, "instance_norm: the input has shape ", x.sizes(), "; it needs a batch and a channel dimension");
    const int64_t n = x.sizes()[0], c = x.sizes()[1];
    auto repeat = [&](const Tensor& t) { return t.defined() ? op<"repeat">(t, Dims{n}) : t; };
    Dims merged(x.sizes());
    merged[0] = 1;
    merged[1] = n * c;
    const Tensor m = repeat(rm), v = repeat(rv);
    const Tensor y = batch_norm::body(op<"view">(op<"contiguous">(x), merged), repeat(w), repeat(b), m, v, use_input_stats, momentum, eps, cudnn);
    auto back = [&](const Tensor& running, const Tensor& repeated) {
      if (!running.defined()) return;
      GradMode no(false);
      op_list<"copy_">(running, op<"mean">(op<"view">(repeated, Dims{n, c}), Dims{0}, false));
    };
    if (use_input_stats) {
      back(rm, m);
      back(rv, v);
    }
    return op<"view">(y, x.sizes());
  }
  static constexpr auto doc = R"(instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled) -> Tensor

Normalises each channel of each sample over its spatial dimensions (Ulyanov, Vedaldi, Lempitsky 2016).)";
};
FB_CARD(instance_norm)

struct renorm : lowered<renorm> {
  static constexpr auto schema = "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out | form::out_same_or_apart;
  static Tensor factors(const Tensor& self, Scalar p, int64_t dim, Scalar maxnorm) {
    const int64_t d = wrap_dim(dim, self.ndim());
    Dims dims;
    for (int64_t i = 0; i < self.ndim(); ++i)
      if (i != d) dims.push_back(i);
    const Tensor norm = op<"linalg_vector_norm">(self, p, dims, true);
    const Tensor factor = op<"div">(op<"full_like">(norm, maxnorm), op<"add">(norm, Scalar(1e-7)));
    return op<"where">(op<"gt">(norm, maxnorm), factor, op<"ones_like">(factor));
  }
  static Tensor lowering(const Tensor& self, Scalar p, int64_t dim, Scalar maxnorm) {
    FB_CHECK(p.to_double() > 0, "renorm: p is ", p, "; it must be positive");
    FB_CHECK(maxnorm.to_double() >= 0, "renorm: maxnorm is ", maxnorm, "; it must be at least 0");
    wrap_dim(dim, self.ndim());
    FB_CHECK(self.ndim() > 1, "renorm: the input has shape ", self.sizes(), "; it needs at least 2 dimensions");
    return op<"clone">(op<"mul">(self, factors(self, p, dim, maxnorm)), MemoryFormat::contiguous);
  }
  static Tensor d_self(grad<0> g, in<0> self, arg<1, Scalar> p, arg<2, int64_t> dim, arg<3, Scalar> maxnorm) {
    // y = x * f(|x|), f = maxnorm / (norm + eps) where the norm is too great
    const int64_t d = wrap_dim(*dim, self->ndim());
    Dims dims;
    for (int64_t i = 0; i < self->ndim(); ++i)
      if (i != d) dims.push_back(i);
    const Tensor norm = op<"linalg_vector_norm">(*self, *p, dims, true);
    const Tensor dot = op<"sum">(op<"mul">(conj(*self), *g), dims, true);
    const Tensor real = dot.is_complex() ? op<"real">(dot) : dot;
    const Tensor through = vector_norm_gradient(real, *self, p->to_double(), norm, dims, true);
    const Tensor inv = op<"reciprocal">(op<"add">(norm, Scalar(1e-7)));
    const Tensor moved = op<"mul">(op<"mul">(*g - op<"mul">(inv, through), inv), *maxnorm);
    return op<"where">(op<"gt">(norm, *maxnorm), moved, *g);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(renorm(input, p, dim, maxnorm) -> Tensor

Scales each slice along dim whose p-norm is above maxnorm down to it.)";
};
FB_CARD(renorm)

}  // namespace fb::cards
