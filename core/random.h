// Random fills of raw memory, number for number those of PyTorch on the CPU.
//
// Every function draws from `g` whose lock the caller holds, and writes n elements of type t to the
// contiguous `out` in the order of the stream; a strided tensor is filled through its own order of
// memory by the caller. A draw depends on the seed and its place alone, never on threads.
// Ranges of scalar parameters are checked by the caller.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "core/generator.h"

namespace fb {

enum class RandomStatus : uint8_t {
  ok,
  unsupported,    // no such fill for the type
  bad_parameter,  // an element of a parameter lies outside its range (or is NaN)
  zero_sum,       // a row of weights sums to zero
};

// [from, to), float types; complex types fill both parts.
RandomStatus random_uniform(Generator& g, DType t, void* out, int64_t n, double from, double to);

// Float types. `dense`: the tensor's memory is contiguous; 16 elements and more then follow the
// block-wise stream, all others the pairwise one. A complex element has the mean in both parts and
// the deviation std / sqrt(2) in each.
RandomStatus random_normal(Generator& g, DType t, void* out, int64_t n, double mean, double std,
                           bool dense = true);

// base + (draw mod range), integers, bool and float types. range 0 stands for all
// 2^64 values of int64 (base does not matter).
RandomStatus random_range(Generator& g, DType t, void* out, int64_t n, int64_t base, uint64_t range);
// Tensor.random_() without bounds: every value of an integer type from 0 on, the exact integers of
// a float type.
RandomStatus random_any(Generator& g, DType t, void* out, int64_t n);

// One with probability p (p as a number), integers, bool and float types.
RandomStatus random_bernoulli(Generator& g, DType t, void* out, int64_t n, double p);
// The same with a probability of float type pt for each element.
RandomStatus random_bernoulli_each(Generator& g, DType t, void* out, int64_t n, DType pt,
                                   const void* p);

RandomStatus random_exponential(Generator& g, DType t, void* out, int64_t n, double lambda);
RandomStatus random_geometric(Generator& g, DType t, void* out, int64_t n, double p);
RandomStatus random_cauchy(Generator& g, DType t, void* out, int64_t n, double median, double sigma);
RandomStatus random_log_normal(Generator& g, DType t, void* out, int64_t n, double mean, double std);

// A permutation of 0 .. n-1.
RandomStatus random_permutation(Generator& g, DType t, void* out, int64_t n);

// out[rows, samples] of column numbers drawn with the weights[rows, columns] of float type t.
// Without replacement, samples <= columns is checked by the caller.
RandomStatus random_multinomial(Generator& g, DType t, const void* weights, int64_t rows,
                                int64_t columns, int64_t samples, bool replacement, int64_t* out);

// One draw for each element of the parameters, which have the type of the result.
RandomStatus random_poisson(Generator& g, DType t, void* out, int64_t n, const void* rate);
RandomStatus random_binomial(Generator& g, DType t, void* out, int64_t n, const void* count,
                             const void* probability);
RandomStatus random_gamma(Generator& g, DType t, void* out, int64_t n, const void* alpha);
// out[rows, columns], each row summing to one.
RandomStatus random_dirichlet(Generator& g, DType t, void* out, int64_t rows, int64_t columns,
                              const void* alpha);

}  // namespace fb
