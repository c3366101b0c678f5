"""triton.language.math: the mathematics of the language by its own name, and what triton.language.extra.libdevice offers."""
from .core import abs, ceil, cos, div_rn, erf, exp, exp2, fdiv, floor, fma, log, log2, rsqrt, sin, sqrt, sqrt_rn, umulhi
