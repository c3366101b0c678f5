#include "cpu/product/gemm_batch.h"
#include "cpu/product/store.h"

namespace fb::product {

template <class R>
void multiply_one(const Gemm<Complex<R>>& g, const Item<Complex<R>>& x) {
  using C = Complex<R>;
  Strided<C> a{x.a, g.a_row, g.a_col, nullptr, g.conj_a},
      b{x.b, g.b_col, g.b_row, nullptr, g.conj_b};
  ComplexStore<R> store{x.c,       g.c_row,   g.c_col, g.beta == C(0) ? nullptr : x.add,
                        g.add_row, g.add_col, g.alpha, g.beta};
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

template void gemm(const Gemm<cfloat>&);
template void gemm(const Gemm<cdouble>&);

}  // namespace fb::product
