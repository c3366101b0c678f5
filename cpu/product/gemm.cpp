#include "cpu/product/gemm.h"

#include "cpu/product/matvec.h"
#include "cpu/product/store.h"

namespace fb::product {
namespace {

template <class T>
struct Item {
  const T *a, *b, *add;
  T* c;
};

template <class T>
Item<T> item(const Gemm<T>& g, int64_t i) {
  auto at = [i](auto* p, int64_t stride, const int64_t* table) {
    return p ? p + (table ? table[i] : i * stride) : nullptr;
  };
  return {at(g.a, g.a_batch, g.a_offsets), at(g.b, g.b_batch, g.b_offsets),
          at(g.add, g.add_batch, g.add_offsets), at(g.c, g.c_batch, g.c_offsets)};
}

// Cycles per k step of an m × n product by register tiles: two fused multiply-adds a cycle, each with a
// latency of four cycles, so tiles of less than four rows wait.
double tile_cost(int64_t m, int64_t n) {
  const int64_t panels = (m + 5) / 6;
  const double rows = double(m) / double(panels);
  return double(panels) * std::max(4.0, rows) * double((n + 15) / 16);
}

template <class T, class Real>
void set_operand(Operand<Real>& o, const Strided<T>& s) {
  o.pack = pack_strided<T, Real>;
  o.source = &s;
  if constexpr (std::is_same_v<T, Real>) o.direct = s.p;
  o.i_stride = s.i_stride;
  o.k_stride = s.k_stride;
}

template <class T>
void multiply_one(const Gemm<T>& g, const Item<T>& x) {
  using Real = typename ChainType<T>::type;
  int64_t m = g.m, n = g.n;
  Strided<T> a{x.a, g.a_row, g.a_col}, b{x.b, g.b_col, g.b_row};
  MatrixStore<T, Real> store{x.c, g.c_row, g.c_col, g.beta == Real(0) ? nullptr : x.add,
                             g.add_row, g.add_col, g.alpha, g.beta};
  // Columns are the lanes: the transposed product is taken where its tiles fit better. The product
  // of two reals commutes, so the bits are the same.
  const double as_is = tile_cost(m, n), turned = tile_cost(n, m);
  const bool turn = m != 1 && n == 1 ? true
                    : g.c_col != 1 && g.c_row == 1 ? turned < as_is * 1.3 : turned * 1.3 < as_is;
  if (turn) {
    std::swap(m, n);
    std::swap(a, b);
    std::swap(store.i_stride, store.j_stride);
    std::swap(store.add_i, store.add_j);
  }
  Problem<Real> p;
  p.m = m;
  p.n = n;
  p.k = g.k;
  set_operand<T, Real>(p.a, a);
  set_operand<T, Real>(p.b, b);
  p.out.store = store_matrix<T, Real>;
  p.out.target = &store;
  if constexpr (std::is_same_v<T, Real>) {
    if (store.j_stride == 1 && store.alpha == Real(1) && !store.add) {
      p.out.direct = store.out;
      p.out.i_stride = store.i_stride;
    }
  }
  if (m == 1 && matvec<T, Real>(b.p, b.i_stride, b.k_stride, n, p.k, a.p, a.k_stride, p.out)) return;
  multiply(p);
}

template <class R>
void multiply_one(const Gemm<Complex<R>>& g, const Item<Complex<R>>& x) {
  using C = Complex<R>;
  Strided<C> a{x.a, g.a_row, g.a_col, nullptr, g.conj_a}, b{x.b, g.b_col, g.b_row, nullptr, g.conj_b};
  ComplexStore<R> store{x.c, g.c_row, g.c_col, g.beta == C(0) ? nullptr : x.add, g.add_row, g.add_col, g.alpha, g.beta};
  Problem<R> p;
  p.m = g.m;
  p.n = g.n;
  p.k = g.k;
  p.a.pack = pack_complex_left<R>;
  p.a.source = &a;
  p.b.pack = pack_complex_right<R>;
  p.b.source = &b;
  p.out.store = store_complex<R>;
  p.out.target = &store;
  multiply_complex(p);
}

}  // namespace

template <class T>
void gemm(const Gemm<T>& given) {
  Gemm<T> g = given;
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return;
  if (g.k < 0) g.k = 0;
  const bool tables = g.a_offsets || g.b_offsets || g.c_offsets || g.add_offsets;
  // A batch of left operands against one right operand is one taller product where rows go on.
  if (g.batch > 1 && !tables && g.b_batch == 0 && g.a_batch == g.m * g.a_row && g.c_batch == g.m * g.c_row &&
      (!g.add || g.add_batch == g.m * g.add_row)) {
    g.m *= g.batch;
    g.batch = 1;
  }
  if (g.batch == 1) return multiply_one(g, item(g, 0));
  const int64_t work = std::max<int64_t>(1, g.m * g.n * g.k);
  const int threads = in_parallel_region() ? 1 : get_num_threads();
  if (g.batch < 2 * threads && work > 1 << 18) {
    for (int64_t i = 0; i < g.batch; ++i) multiply_one(g, item(g, i));
    return;
  }
  parallel_for(0, g.batch, std::max<int64_t>(1, (1 << 17) / work), [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) multiply_one(g, item(g, i));
  });
}

template void gemm(const Gemm<float>&);
template void gemm(const Gemm<double>&);
template void gemm(const Gemm<half>&);
template void gemm(const Gemm<bfloat16>&);
template void gemm(const Gemm<cfloat>&);
template void gemm(const Gemm<cdouble>&);

}  // namespace fb::product
