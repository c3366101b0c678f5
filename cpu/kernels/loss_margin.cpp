// multi_margin_loss and multilabel_margin_loss. Terms of a row are added in double, in the order of classes; rows in order.
#include <vector>

#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/loss/margin.h"

namespace fb {
namespace {

int64_t class_at(const char* name, int64_t t, int64_t classes) {
  FB_CHECK(t >= 0 && t < classes, name, ": target ", t, " is out of bounds, there are ", classes, " classes");
  return t;
}
template <class F> void on_type(const Tensor& x, F&& f) { visit_types<float, double>(x.dtype(), f); }
void check_gradient(const char* name, const Tensor& g, const Tensor& x, int64_t n) {
  FB_CHECK(g.numel() == n && g.dtype() == x.dtype(), name, ": grad_output has shape ", g.sizes(), " and type ", g.dtype(), "; it must have ", n, " elements of ", x.dtype());
}
// What the reduction makes of the row sums, and what a row's gradient is multiplied by.
double row_share(int64_t reduction, int64_t n, int64_t c) { return 1.0 / double(reduction == cards::loss::kMean ? n * c : c); }

void multi_margin(Tensor& out, const Tensor& x0, const Tensor& t0, Scalar p, Scalar margin, const Tensor& w0, int64_t reduction) {
  const auto [n, c] = cards::loss::rows_of("multi_margin_loss", x0.sizes());
  const Tensor x = op<"contiguous">(x0), t = op<"contiguous">(t0), w = w0.defined() ? op<"contiguous">(w0) : w0;
  const bool each = reduction == cards::loss::kNone, square = p.to_double() == 2;
  const double m = margin.to_double();
  on_type(x, [&, n = n, c = c]<class T>() {
    double all = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T* row = x.ptr<T>() + i * c;
      const int64_t own = class_at("multi_margin_loss", t.ptr<int64_t>()[i], c);
      const double weight = w.defined() ? double(w.ptr<T>()[own]) : 1;
      double sum = 0;
      for (int64_t j = 0; j < c; ++j) {
        const double z = m - double(row[own]) + double(row[j]);
        if (j != own && z > 0) sum += (square ? z * z : z) * weight;
      }
      if (each) out.ptr<T>()[i] = T(sum / double(c));
      else all += sum / double(c);
    }
    if (!each) *out.ptr<T>() = T(reduction == cards::loss::kMean && n > 0 ? all / double(n) : all);
  });
}
void multi_margin_backward(Tensor& gx, const Tensor& g0, const Tensor& x0, const Tensor& t0, Scalar p, Scalar margin, const Tensor& w0, int64_t reduction) {
  const auto [n, c] = cards::loss::rows_of("multi_margin_loss", x0.sizes());
  const Tensor g = op<"contiguous">(g0), x = op<"contiguous">(x0), t = op<"contiguous">(t0), w = w0.defined() ? op<"contiguous">(w0) : w0;
  const bool each = reduction == cards::loss::kNone, square = p.to_double() == 2;
  check_gradient("multi_margin_loss_backward", g, x, each ? n : 1);
  FB_CHECK(t.numel() == n && (!w.defined() || (w.numel() == c && w.dtype() == x.dtype())), "multi_margin_loss_backward: target ", t.sizes(), " or weight ",
           w.defined() ? w.sizes() : Ints(), " does not fit the input of shape ", x.sizes());
  const double m = margin.to_double(), share = row_share(reduction, n, c);
  on_type(x, [&, n = n, c = c]<class T>() {
    for (int64_t i = 0; i < n; ++i) {
      const T* row = x.ptr<T>() + i * c;
      T* to = gx.ptr<T>() + i * c;
      const int64_t own = class_at("multi_margin_loss", t.ptr<int64_t>()[i], c);
      const double scale = share * double(g.ptr<T>()[each ? i : 0]) * (w.defined() ? double(w.ptr<T>()[own]) : 1);
      double of_own = 0;
      for (int64_t j = 0; j < c; ++j) {
        const double z = m - double(row[own]) + double(row[j]);
        const double d = j != own && z > 0 ? (square ? 2 * z : 1) * scale : 0;
        to[j] = T(d);
        of_own -= d;
      }
      to[own] = T(of_own);
    }
  });
}

// Calls f(j) for each target of a row, which end at the first -1.
template <class F> void each_target(const int64_t* t, int64_t c, F f) {
  for (int64_t k = 0; k < c && t[k] >= 0; ++k) f(t[k]);
}
void multilabel(Tensor& out, Tensor& is_target, const Tensor& x0, const Tensor& t0, int64_t reduction) {
  const auto [n, c] = cards::loss::rows_of("multilabel_margin_loss", x0.sizes());
  const Tensor x = op<"contiguous">(x0), t = op<"contiguous">(t0);
  const bool each = reduction == cards::loss::kNone;
  on_type(x, [&, n = n, c = c]<class T>() {
    double all = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T* row = x.ptr<T>() + i * c;
      const int64_t* own = t.ptr<int64_t>() + i * c;
      T* mark = is_target.ptr<T>() + i * c;
      for (int64_t j = 0; j < c; ++j) {
        FB_CHECK(own[j] >= -1 && own[j] < c, "multilabel_margin_loss: target ", own[j], " is out of bounds, there are ", c, " classes");
        mark[j] = T(0);
      }
      each_target(own, c, [&](int64_t j) { mark[j] = T(1); });
      double sum = 0;
      each_target(own, c, [&](int64_t j) {
        for (int64_t d = 0; d < c; ++d) {
          const double z = 1 - double(row[j]) + double(row[d]);
          if (mark[d] == T(0) && z > 0) sum += z;
        }
      });
      if (each) out.ptr<T>()[i] = T(sum / double(c));
      else all += sum / double(c);
    }
    if (!each) *out.ptr<T>() = T(reduction == cards::loss::kMean && n > 0 ? all / double(n) : all);
  });
}
void multilabel_backward(Tensor& gx, const Tensor& g0, const Tensor& x0, const Tensor& t0, int64_t reduction, const Tensor& is_target) {
  const auto [n, c] = cards::loss::rows_of("multilabel_margin_loss", x0.sizes());
  const Tensor g = op<"contiguous">(g0), x = op<"contiguous">(x0), t = op<"contiguous">(t0), marks = op<"contiguous">(is_target);
  FB_CHECK(marks.numel() == x.numel() && marks.dtype() == x.dtype(), "multilabel_margin_loss_backward: is_target has shape ", is_target.sizes(), " and type ", is_target.dtype(),
           "; it must be as the input, ", x.sizes(), " of ", x.dtype());
  FB_CHECK(t.sizes() == x.sizes(), "multilabel_margin_loss_backward: target has shape ", t.sizes(), ", the input ", x.sizes());
  const bool each = reduction == cards::loss::kNone && x.ndim() == 2;
  check_gradient("multilabel_margin_loss_backward", g, x, each ? n : 1);
  const double share = row_share(reduction, n, c);
  on_type(x, [&, n = n, c = c]<class T>() {
    std::vector<double> sums(static_cast<size_t>(c));
    for (int64_t i = 0; i < n; ++i) {
      const T *row = x.ptr<T>() + i * c, *mark = marks.ptr<T>() + i * c;
      const double scale = share * double(g.ptr<T>()[each ? i : 0]);
      for (double& s : sums) s = 0;
      each_target(t.ptr<int64_t>() + i * c, c, [&](int64_t j) {
        class_at("multilabel_margin_loss", j, c);
        for (int64_t d = 0; d < c; ++d)
          if (mark[d] == T(0) && 1 - double(row[j]) + double(row[d]) > 0) {
            sums[size_t(d)] += scale;
            sums[size_t(j)] -= scale;
          }
      });
      for (int64_t d = 0; d < c; ++d) gx.ptr<T>()[i * c + d] = T(sums[size_t(d)]);
    }
  });
}

}  // namespace

FB_KERNEL("multi_margin_loss", multi_margin)
FB_KERNEL("multi_margin_loss_backward", multi_margin_backward)
FB_KERNEL("multilabel_margin_loss_forward", multilabel)
FB_KERNEL("multilabel_margin_loss_backward", multilabel_backward)

}  // namespace fb
