// sum nansum mean prod count_nonzero trace, amax amin aminmax max min, all any.
#include <algorithm>

#include "cpu/kernels/reduce_bodies.h"
#include "dispatch/box.h"
#include "ops/reduce/shape.h"

namespace fb {
namespace {

// The type that elements count in: dtype where given, else the result's own.
DType adding_type(const Tensor& out) { return sum_compute_type(out.dtype()); }

void sum_over(Tensor& out, const Tensor& self, uint64_t mask) {
  const DType c = adding_type(out);
  reduce_into(out, self, mask, sum_body(c), sum_finish(c));
}
void sum_cpu(Tensor& out, const Tensor& self, DType) { sum_over(out, self, ~uint64_t(0)); }
void sum_dim_cpu(Tensor& out, const Tensor& self, Ints dim, bool, DType) { sum_over(out, self, reduce_mask(dim, self.ndim())); }
void nansum_cpu(Tensor& out, const Tensor& self, Ints dim, bool, DType) {
  const DType c = adding_type(out);
  reduce_into(out, self, reduce_mask(dim, self.ndim()), nansum_body(c), sum_finish(c));
}
void mean_over(Tensor& out, const Tensor& self, uint64_t mask) {
  const DType c = adding_type(out);
  reduce_into(out, self, mask, sum_body(c), mean_finish(c));
}
void mean_cpu(Tensor& out, const Tensor& self, DType) { mean_over(out, self, ~uint64_t(0)); }
void mean_dim_cpu(Tensor& out, const Tensor& self, Ints dim, bool, DType) { mean_over(out, self, reduce_mask(dim, self.ndim())); }
void prod_cpu(Tensor& out, const Tensor& self, DType) { reduce_into(out, self, ~uint64_t(0), prod_body(adding_type(out))); }
void prod_dim_cpu(Tensor& out, const Tensor& self, int64_t dim, bool, DType) {
  reduce_into(out, self, reduce_mask({dim}, self.ndim()), prod_body(adding_type(out)));
}
void count_nonzero_cpu(Tensor& out, const Tensor& self, Ints dim) { reduce_into(out, self, reduce_mask(dim, self.ndim()), truth_body()); }
void trace_cpu(Tensor& out, const Tensor& self) {
  const DType c = adding_type(out);
  const int64_t n = std::min(self.sizes()[0], self.sizes()[1]);
  const Tensor diagonal = self.alias(Ints{n}, Ints{self.strides()[0] + self.strides()[1]}, self.offset());
  reduce_into(out, diagonal, ~uint64_t(0), sum_body(c), sum_finish(c));
}

void extreme(Tensor& out, const Tensor& self, uint64_t mask, bool greatest) {
  const DType c = sum_compute_type(self.dtype());
  reduce_into(out, self, mask, greatest ? max_body(c) : min_body(c));
}
void amax_cpu(Tensor& out, const Tensor& self, Ints dim, bool) { extreme(out, self, reduce_mask(dim, self.ndim()), true); }
void amin_cpu(Tensor& out, const Tensor& self, Ints dim, bool) { extreme(out, self, reduce_mask(dim, self.ndim()), false); }
void max_cpu(Tensor& out, const Tensor& self) { extreme(out, self, ~uint64_t(0), true); }
void min_cpu(Tensor& out, const Tensor& self) { extreme(out, self, ~uint64_t(0), false); }
void aminmax_cpu(Tensor& min, Tensor& max, const Tensor& self, std::optional<int64_t> dim, bool) {
  const uint64_t mask = dim ? reduce_mask({*dim}, self.ndim()) : ~uint64_t(0);
  extreme(min, self, mask, false);
  extreme(max, self, mask, true);
}

void all_true(void* v, int64_t n, int64_t count, double) {
  int64_t* a = static_cast<int64_t*>(v);
  for (int64_t i = 0; i < n; ++i) a[i] = a[i] == count;
}
void some_true(void* v, int64_t n, int64_t, double) {
  int64_t* a = static_cast<int64_t*>(v);
  for (int64_t i = 0; i < n; ++i) a[i] = a[i] != 0;
}
void all_over(Tensor& out, const Tensor& self, uint64_t mask) { reduce_into(out, self, mask, truth_body(), &all_true); }
void any_over(Tensor& out, const Tensor& self, uint64_t mask) { reduce_into(out, self, mask, truth_body(), &some_true); }
void all_cpu(Tensor& out, const Tensor& self) { all_over(out, self, ~uint64_t(0)); }
void any_cpu(Tensor& out, const Tensor& self) { any_over(out, self, ~uint64_t(0)); }
void all_dim_cpu(Tensor& out, const Tensor& self, int64_t dim, bool) { all_over(out, self, reduce_mask({dim}, self.ndim())); }
void any_dim_cpu(Tensor& out, const Tensor& self, int64_t dim, bool) { any_over(out, self, reduce_mask({dim}, self.ndim())); }
uint64_t optional_mask(std::optional<Ints> dim, int64_t ndim) { return dim ? reduce_mask(*dim, ndim, false) : ~uint64_t(0); }
void all_dims_cpu(Tensor& out, const Tensor& self, std::optional<Ints> dim, bool) { all_over(out, self, optional_mask(dim, self.ndim())); }
void any_dims_cpu(Tensor& out, const Tensor& self, std::optional<Ints> dim, bool) { any_over(out, self, optional_mask(dim, self.ndim())); }

}  // namespace

FB_KERNEL("sum", sum_cpu)
FB_KERNEL("sum.dim_IntList", sum_dim_cpu)
FB_KERNEL("nansum", nansum_cpu)
FB_KERNEL("mean", mean_cpu)
FB_KERNEL("mean.dim", mean_dim_cpu)
FB_KERNEL("prod", prod_cpu)
FB_KERNEL("prod.dim_int", prod_dim_cpu)
FB_KERNEL("count_nonzero.dim_IntList", count_nonzero_cpu)
FB_KERNEL("trace", trace_cpu)
FB_KERNEL("amax", amax_cpu)
FB_KERNEL("amin", amin_cpu)
FB_KERNEL("max", max_cpu)
FB_KERNEL("min", min_cpu)
FB_KERNEL("aminmax", aminmax_cpu)
FB_KERNEL("all", all_cpu)
FB_KERNEL("any", any_cpu)
FB_KERNEL("all.dim", all_dim_cpu)
FB_KERNEL("any.dim", any_dim_cpu)
FB_KERNEL("all.dims", all_dims_cpu)
FB_KERNEL("any.dims", any_dims_cpu)

}  // namespace fb
