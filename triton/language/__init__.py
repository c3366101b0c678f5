"""triton.language: what kernels are written in. See README.md for what holds on the CPU."""
from . import math, extra
from .types import (bfloat16, block_type, constexpr, dtype, float16, float32, float64, float8e4b8, float8e4b15, float8e4nv, float8e5, float8e5b16,
                    int1, int8, int16, int32, int64, pi32_t, pointer_type, uint8, uint16, uint32, uint64, void)
from .semantic import tensor
from .core import (PROPAGATE_NAN, PropagateNan, TRITON_MAX_TENSOR_NUMEL, abs, add, advance, arange, associative_scan, assume, atomic_add, atomic_and,
                   atomic_cas, atomic_max, atomic_min, atomic_or, atomic_xchg, atomic_xor, broadcast, broadcast_to, cast, cat, cdiv, ceil, clamp,
                   condition, cos, debug_barrier, device_assert, device_print, div_rn, dot, dot_scaled, erf, exp, exp2, expand_dims, fdiv, flip, floor,
                   fma, full, full_like, gather, histogram, inline_asm_elementwise, interleave, join, load, load_tensor_descriptor, log, log2,
                   make_block_ptr, make_tensor_descriptor, max_constancy, max_contiguous, maximum, minimum, mul, multiple_of, num_programs, permute,
                   program_id, range, ravel, reduce, reshape, rsqrt, sigmoid, sin, split, sqrt, sqrt_rn, static_assert, static_print, static_range,
                   store, store_tensor_descriptor, sub, swizzle2d, tensor_descriptor, trans, umulhi, view, where, zeros, zeros_like)
from .standard import argmax, argmin, cumprod, cumsum, max, min, next_power_of_2, reduce_or, softmax, sort, sum, topk, xor_sum
from .random import (pair_uniform_to_normal, philox, philox_impl, rand, rand4x, randint, randint4x, randn, randn4x, uint_to_uniform_float)

tuple = tuple
