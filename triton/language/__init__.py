"""triton.language: what kernels are written in. See README.md for what holds on the CPU."""
from ..absent import lookup
from . import math, extra, target_info
from .types import (bfloat16, block_type, const, constexpr, constexpr_type, dtype, float16, float32, float64, float8e4b8, float8e4b15, float8e4nv, float8e5, float8e5b16,
                    int1, int8, int16, int32, int64, pi32_t, pointer_type, str_to_ty, tuple_type,
                    uint8, uint16, uint32, uint64, void)
from .semantic import tensor, to_tensor
from .core import (PROPAGATE_NAN, PropagateNan, TRITON_MAX_TENSOR_NUMEL, abs, add, advance, arange, associative_scan, assume, atomic_add, atomic_and,
                   atomic_cas, atomic_load, atomic_max, atomic_min, atomic_or, atomic_poll, atomic_store, atomic_xchg, atomic_xor, broadcast, broadcast_to, cast, cat, cdiv, ceil, clamp,
                   condition, cos, debug_barrier, device_assert, device_print, div_rn, dot, dot_scaled, erf, exp, exp2, expand_dims, expect_zero, fdiv, flip, floor,
                   fma, full, full_like, gather, histogram, inline_asm_elementwise, interleave, join, load, load_tensor_descriptor, log, log2,
                   make_block_ptr, make_tensor_descriptor, map_elementwise, max_constancy, max_contiguous, maximum, minimum, mul, multiple_of, num_programs, permute,
                   program_id, range, ravel, reduce, reshape, rsqrt, sigmoid, sin, split, sqrt, sqrt_rn, squeeze, static_assert, static_print, static_range,
                   store, store_tensor_descriptor, sub, swizzle2d, tensor_descriptor, trans, umulhi, unsqueeze, view, where, zeros, zeros_like)
from .standard import argmax, argmin, bitonic_merge, cumprod, cumsum, max, min, next_power_of_2, reduce_or, softmax, sort, sum, topk, xor_sum
from .random import (pair_uniform_to_normal, philox, philox_impl, rand, rand4x, randint, randint4x, randn, randn4x, uint_to_uniform_float)

slice, tuple = slice, tuple


__getattr__ = lookup("triton.language", dict.fromkeys(("aggregate_replace", "tensor_descriptor_type"), "kernels have tuples and named tuples for values of several parts"))
