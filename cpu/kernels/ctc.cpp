// Connectionist temporal classification: sums over paths forwards and backwards, in logarithms. Threads take samples.
#include <limits>
#include <vector>

#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/loss/ctc.h"
#include "ops/math/math.h"

namespace fb {
namespace {

template <class T> constexpr T kNever = -std::numeric_limits<T>::infinity();
template <class T> T log_sum(std::initializer_list<T> terms) {
  T m = kNever<T>, s = 0;
  for (T t : terms) m = t > m ? t : m;
  if (m == kNever<T>) return m;
  for (T t : terms) s += math::exp(t - m);
  return math::log(s) + m;
}

// What both directions read: log-probabilities and, for each sample, its targets with blanks around them.
struct Problem {
  Tensor probs, targets;
  Ints input_lengths, target_lengths;
  int64_t steps, n, classes, blank;
  std::vector<int64_t> starts;  // of each sample's targets
  int64_t longest = 0;

  Problem(const Tensor& log_probs, const Tensor& targets0, Ints inputs, Ints lengths, int64_t blank)
      : probs(op<"contiguous">(log_probs)), targets(op<"contiguous">(targets0.dtype() == DType::i64 ? targets0 : op<"to">(targets0, DType::i64))), input_lengths(inputs),
        target_lengths(lengths), blank(blank) {
    cards::ctc::check_sizes(probs, inputs, lengths);
    FB_CHECK(targets0.dtype() == DType::i64 || targets0.dtype() == DType::i32, "ctc_loss: targets are of type int64 or int32, got ", targets0.dtype());
    steps = probs.sizes()[0], n = probs.sizes()[1], classes = probs.sizes()[2];
    FB_CHECK(blank >= 0 && blank < classes, "ctc_loss: blank ", blank, " is none of the ", classes, " classes");
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) {
      FB_CHECK(inputs[i] >= 0 && inputs[i] <= steps, "ctc_loss: input_lengths must be between 0 and ", steps, ", entry ", i, " is ", inputs[i]);
      FB_CHECK(lengths[i] >= 0, "ctc_loss: target_lengths must not be negative, entry ", i, " is ", lengths[i]);
      starts.push_back(targets.ndim() == 1 ? total : i * targets.size(-1));
      total += lengths[i];
      longest = std::max(longest, lengths[i]);
    }
    if (targets.ndim() == 1) {
      FB_CHECK(targets.numel() == total, "ctc_loss: target_lengths add up to ", total, ", there are ", targets.numel(), " targets");
    } else {
      FB_CHECK(targets.ndim() == 2 && targets.sizes()[0] == n && targets.sizes()[1] >= longest, "ctc_loss: targets of shape ", targets.sizes(), " do not hold ", n, " targets of up to ", longest);
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t s = 0; s < lengths[i]; ++s) {
        const int64_t c = targets.ptr<int64_t>()[starts[size_t(i)] + s];
        FB_CHECK(c >= 0 && c < classes, "ctc_loss: target ", c, " is none of the ", classes, " classes");
      }
  }
  int64_t states() const { return 2 * longest + 1; }
  int64_t label(int64_t i, int64_t s) const { return s % 2 ? targets.ptr<int64_t>()[starts[size_t(i)] + s / 2] : blank; }
  // Whether a path may skip the blank between states s - 2 and s.
  bool skips(int64_t i, int64_t s) const { return s >= 2 && label(i, s) != label(i, s - 2); }
  template <class T> T prob(int64_t t, int64_t i, int64_t c) const { return probs.ptr<T>()[(t * n + i) * classes + c]; }
  template <class F> void each_sample(F f) const {
    const int64_t grain = std::max<int64_t>(1, (1 << 10) / std::max<int64_t>(1, steps * states()));
    parallel_for(0, n, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) f(i);
    });
  }
};

std::array<Tensor, 2> ctc_loss_cpu(const Tensor& log_probs, const Tensor& targets, Ints input_lengths, Ints target_lengths, int64_t blank, bool) {
  const Problem p(log_probs, targets, input_lengths, target_lengths, blank);
  const int64_t states = p.states();
  const Tensor nll = Tensor::empty({p.n}, p.probs.options()), alpha = Tensor::empty({p.n, p.steps, states}, p.probs.options());
  auto run = [&]<class T>() {
    p.each_sample([&](int64_t i) {
      T* a = alpha.ptr<T>() + i * p.steps * states;
      for (int64_t j = 0; j < p.steps * states; ++j) a[j] = kNever<T>;
      const int64_t steps = p.input_lengths[i], last = 2 * p.target_lengths[i];
      if (steps == 0) {
        nll.ptr<T>()[i] = last == 0 ? T(0) : -kNever<T>;
        return;
      }
      a[0] = p.prob<T>(0, i, p.blank);
      if (last > 0) a[1] = p.prob<T>(0, i, p.label(i, 1));
      for (int64_t t = 1; t < steps; ++t)
        for (int64_t s = 0; s <= last; ++s) {
          const T* before = a + (t - 1) * states;
          a[t * states + s] =
              log_sum<T>({before[s], s >= 1 ? before[s - 1] : kNever<T>, p.skips(i, s) ? before[s - 2] : kNever<T>}) + p.prob<T>(t, i, p.label(i, s));
        }
      const T* end = a + (steps - 1) * states;
      nll.ptr<T>()[i] = -log_sum<T>({end[last], last > 0 ? end[last - 1] : kNever<T>});
    });
  };
  visit_types<float, double>(p.probs.dtype(), run);
  return {nll, alpha};
}

Tensor ctc_loss_backward_cpu(const Tensor& grad, const Tensor& log_probs, const Tensor& targets, Ints input_lengths, Ints target_lengths, const Tensor& nll0, const Tensor& alpha0, int64_t blank,
                bool zero_infinity) {
  const Problem p(log_probs, targets, input_lengths, target_lengths, blank);
  const int64_t states = p.states();
  const Tensor g = op<"contiguous">(grad), nll = op<"contiguous">(nll0), alpha = op<"contiguous">(alpha0), out = Tensor::empty(p.probs.sizes(), p.probs.options());
  FB_CHECK(g.numel() == p.n && nll.numel() == p.n && alpha.numel() == p.n * p.steps * states && alpha.dtype() == p.probs.dtype(), "_ctc_loss_backward: grad of shape ", grad.sizes(),
           " and log_alpha of shape ", alpha0.sizes(), " do not belong to log_probs of shape ", log_probs.sizes());
  FB_CHECK(g.dtype() == p.probs.dtype() && nll.dtype() == p.probs.dtype(), "_ctc_loss_backward: grad and neg_log_likelihood have the type of log_probs, ", p.probs.dtype(),
           ", they have ", g.dtype(), " and ", nll.dtype());
  op_list<"zero_">(out);
  auto run = [&]<class T>() {
    p.each_sample([&](int64_t i) {
      const int64_t steps = p.input_lengths[i], last = 2 * p.target_lengths[i];
      const T loss = nll.ptr<T>()[i], upstream = g.ptr<T>()[i], *a = alpha.ptr<T>() + i * p.steps * states;
      if (zero_infinity && loss == -kNever<T>) return;
      // Sums over the rest of all paths from each state, at this step and the one after.
      std::vector<T> now(static_cast<size_t>(states), kNever<T>), after(now), by_class(static_cast<size_t>(p.classes));
      for (int64_t t = steps - 1; t >= 0; --t) {
        std::swap(now, after);
        for (int64_t s = 0; s <= last; ++s) {
          const T rest = t == steps - 1 ? (s >= last - 1 ? T(0) : kNever<T>)
                                        : log_sum<T>({after[size_t(s)], s < last ? after[size_t(s + 1)] : kNever<T>,
                                                      s + 2 <= last && p.skips(i, s + 2) ? after[size_t(s + 2)] : kNever<T>});
          now[size_t(s)] = rest + p.prob<T>(t, i, p.label(i, s));
        }
        for (T& v : by_class) v = kNever<T>;
        for (int64_t s = 0; s <= last; ++s) {
          T& v = by_class[size_t(p.label(i, s))];
          v = log_sum<T>({v, a[t * states + s] + now[size_t(s)]});
        }
        for (int64_t c = 0; c < p.classes; ++c) {
          const T prob = p.prob<T>(t, i, c);
          out.ptr<T>()[(t * p.n + i) * p.classes + c] = (math::exp(prob) - math::exp(by_class[size_t(c)] + loss - prob)) * upstream;
        }
      }
    });
  };
  visit_types<float, double>(p.probs.dtype(), run);
  return out;
}

}  // namespace

FB_KERNEL_DIRECT("_ctc_loss", ctc_loss_cpu)
FB_KERNEL_DIRECT("_ctc_loss_backward", ctc_loss_backward_cpu)

}  // namespace fb
