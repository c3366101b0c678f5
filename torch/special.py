"""Special functions (Abramowitz and Stegun; DLMF)."""
from torch import _C
from torch._C import _VariableFunctions

globals().update({k: v for k, v in vars(_C._special).items() if not k.startswith("__")})
for _name in ("softmax", "log_softmax", "logsumexp", "expm1", "exp2", "erf", "erfc", "erfinv", "log1p", "round", "sinc", "xlogy", "i0", "logit", "digamma", "polygamma"):
    if _name not in globals() and hasattr(_VariableFunctions, _name):
        globals()[_name] = getattr(_VariableFunctions, _name)
for _new, _old in (("psi", "digamma"), ("gammaln", "lgamma"), ("expit", "sigmoid"), ("gammainc", "igamma"), ("gammaincc", "igammac"), ("multigammaln", "mvlgamma")):
    if _new not in globals() and hasattr(_VariableFunctions, _old):
        globals()[_new] = getattr(_VariableFunctions, _old)


def __getattr__(name):
    from torch import _absent
    raise _absent.error(__name__, name)
