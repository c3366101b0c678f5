// gather and the scatters: one index for each element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/threads.h"
#include "cpu/kernels/index_walk.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// body over every position of index: `self` moves along dim where index says, `other` lies at the position itself.
// Writing shares columns among threads, never what lies along dim, so equal targets keep their order.
void run_lines(const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other, LineBody body, bool reading) {
  if (index.numel() == 0) return;
  const int64_t item = self.item_bytes(), nd = index.ndim();
  const int64_t d = wrap_dim(dim, nd);
  const int64_t size = self.ndim() ? self.sizes()[wrap_dim(dim, self.ndim())] : 1;
  const Positions at(index);
  const int64_t jump = self.ndim() ? self.strides()[wrap_dim(dim, self.ndim())] * item : 0;
  auto stride = [&](const Tensor& t, int64_t i) { return i < t.ndim() ? t.strides()[i] * item : 0; };
  // Lines run along the last dimension; where that is not dim, lines along dim follow one another.
  const int64_t n = nd ? index.sizes()[nd - 1] : 1, length = nd ? index.sizes()[d] : 1;
  const bool last = nd == 0 || d == nd - 1;
  const int64_t along = last ? 1 : length;              // lines in a task
  int64_t outer = index.numel() / (n * along);
  const Dims own = contiguous_strides(index.sizes());
  const int64_t step = last ? 0 : stride(self, nd - 1), other_step = nd ? stride(other, nd - 1) : 0;
  // Reading shares whatever there is; writing shares columns, of two lines of the cache or more.
  const int64_t columns = std::min<int64_t>(1024, std::max<int64_t>(128 / item, (n / 8 + 31) / 32 * 32));
  const int64_t piece = reading ? 1024 : last ? n : outer >= 64 ? 1024 : columns, pieces = (n + piece - 1) / piece;
  parallel_for(0, outer * pieces, std::max<int64_t>(1, 16384 / (std::min(n, piece) * along)), [&](int64_t lo, int64_t hi) {
    constexpr int64_t kBlock = 1024;  // checked, then used
    for (int64_t u = lo; u < hi; ++u) {
      int64_t o = u / pieces, a = 0, b = 0, i0 = 0;
      const int64_t first = u % pieces * piece, end = std::min(n, first + piece);
      for (int64_t i = nd - 1; i >= 0; --i) {
        if (i == nd - 1 || i == d) continue;
        const int64_t c = o % index.sizes()[i];
        a += c * stride(self, i);
        b += c * stride(other, i);
        i0 += c * own[i];
        o /= index.sizes()[i];
      }
      const int64_t index_line = last ? 0 : own[d], other_line = last ? 0 : stride(other, d);
      const int64_t* p = at.p + i0;
      char* q = other.ptr<char>() + b;
      for (int64_t l = 0; l < along; ++l, p += index_line, q += other_line) {
        // Short pieces of lines far apart: what comes soon is asked for.
        constexpr int64_t kAhead = 8;
        if (l + kAhead < along && pieces > 1) {
          for (int64_t k = first; k < std::min(end, first + 64); k += 8) __builtin_prefetch(p + kAhead * index_line + k);
          for (int64_t k = 0; k < 2; ++k) __builtin_prefetch(q + kAhead * other_line + first * other_step + k * 64);
        }
        for (int64_t k = first; k < end; k += kBlock) {
          const int64_t m = std::min(kBlock, end - k);
          if (!all_within(p + k, m, 0, size)) raise_position(name, p + k, m, 0, size, d, false);
          body({self.ptr<char>() + a + k * step, p + k, q + k * other_step, m, step, jump, other_step});
        }
      }
    }
  });
}

void gather_cpu(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, bool) {
  run_lines("gather", self, dim, index, out, line_read(self.item_bytes()), true);
}

Tensor apart(const Tensor& self, const Tensor& src) { return may_overlap(self, src) ? op<"clone">(src) : src; }

void scatter_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  run_lines("scatter_", self, dim, index, apart(self, src), line_write(self.item_bytes()), false);
}
void combine_into(const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, IndexCombine c) {
  LineBody body = line_combine(c, self.dtype());
  if (!body) raise_not_implemented(name, " is not there for type ", self.dtype());
  run_lines(name, self, dim, index, apart(self, src), body, false);
}
void scatter_reduce_kind_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  combine_into("scatter_", self, dim, index, src, reduce == "add" ? IndexCombine::add : IndexCombine::multiply);
}
void scatter_add_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  combine_into("scatter_add_", self, dim, index, src, IndexCombine::add);
}

Scalar reduce_identity(std::string_view reduce, DType d) {
  if (reduce == "sum" || reduce == "mean") return Scalar(0);
  if (reduce == "prod") return Scalar(1);
  const bool least = reduce == "amax";  // what amax starts from
  if (is_floating(d)) return Scalar(least ? -INFINITY : INFINITY);
  Scalar r(least ? 0 : 1);
  visit_types<int64_t, int32_t, int16_t, int8_t, uint8_t>(
      d, [&]<class T>() { r = Scalar(int64_t(least ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max())); });
  return r;
}
void scatter_reduce_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self) {
  if (index.numel() == 0) return;
  const Tensor from = apart(self, src);
  const IndexCombine c = reduce == "prod" ? IndexCombine::multiply : reduce == "amax" ? IndexCombine::greatest
                         : reduce == "amin" ? IndexCombine::least : IndexCombine::add;
  if (!line_combine(c, self.dtype())) raise_not_implemented("scatter_reduce with reduce='", reduce, "' is not there for type ", self.dtype());
  if (!include_self) op_list<"scatter_">(self, dim, index, reduce_identity(reduce, self.dtype()));
  combine_into("scatter_reduce", self, dim, index, from, c);
  if (reduce != "mean") return;
  const Tensor ones = op<"expand">(op<"ones">(Ints(), self.dtype()), index.sizes());
  const Tensor count = op<"full_like">(self, Scalar(include_self ? 1 : 0));
  op_list<"scatter_add_">(count, dim, index, ones);
  const Tensor divisor = op<"masked_fill">(count, op<"eq">(count, Scalar(0)), Scalar(1));
  if (is_integral(self.dtype(), true)) op_list<"copy_">(self, op<"div">(self, divisor, std::string_view("floor")));
  else op_list<"div_">(self, divisor);
}

}  // namespace

FB_KERNEL("gather", gather_cpu)
FB_KERNEL_DIRECT("scatter_.src", scatter_cpu)
FB_KERNEL_DIRECT("scatter_.reduce", scatter_reduce_kind_cpu)
FB_KERNEL_DIRECT("scatter_add_", scatter_add_cpu)
FB_KERNEL_DIRECT("scatter_reduce_.two", scatter_reduce_cpu)

}  // namespace fb
