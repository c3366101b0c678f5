"""Switches of libraries and devices behind operators. Kernels here are our own: most switches only remember."""
import contextlib
import sys
import types


class _Switches(types.ModuleType):
    def __init__(self, name, available=False, **values):
        super().__init__("torch.backends." + name)
        self.__dict__.update(values)
        self.__dict__["is_available"] = lambda: available
        self.__dict__["is_built"] = lambda: available
        sys.modules[self.__name__] = self

        @contextlib.contextmanager
        def flags(**kw):
            old = {k: self.__dict__.get(k) for k in kw}
            self.__dict__.update(kw)
            try:
                yield
            finally:
                self.__dict__.update(old)
        self.__dict__["flags"] = flags


class _MatmulFlags:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False


cudnn = _Switches("cudnn", enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10, version=lambda: None,
                  is_acceptable=lambda tensor: False)
cuda = _Switches("cuda", matmul=_MatmulFlags(), flash_sdp_enabled=lambda: True, mem_efficient_sdp_enabled=lambda: True, math_sdp_enabled=lambda: True,
                 enable_flash_sdp=lambda enabled: None, enable_mem_efficient_sdp=lambda enabled: None, enable_math_sdp=lambda enabled: None)
mps = _Switches("mps", is_macos13_or_newer=lambda *a: False)
mkl = _Switches("mkl")
mkldnn = _Switches("mkldnn", enabled=False)
openmp = _Switches("openmp")
xnnpack = _Switches("xnnpack", enabled=False)
opt_einsum = _Switches("opt_einsum", enabled=False, strategy=None)
nnpack = _Switches("nnpack", set_flags=lambda enabled: (False,))
cpu = _Switches("cpu", True, get_cpu_capability=lambda: "AVX2")
quantized = _Switches("quantized", engine="none", supported_engines=["none"])
