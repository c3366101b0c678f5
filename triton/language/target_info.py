"""What kernels are compiled for: tl.target_info."""


def current_target():
    """The target of the driver in use: a GPUTarget whose backend is "cpu"."""
    from ..runtime.driver import driver
    return driver.active.get_current_target()


def is_cuda():
    """False: kernels run on the CPU."""
    return current_target().backend == "cuda"


def is_hip():
    """False: kernels run on the CPU."""
    return current_target().backend == "hip"


def cuda_capability_geq(major, minor=0):
    """Whether kernels run on a CUDA device of this capability or a later one."""
    return is_cuda() and divmod(current_target().arch, 10) >= (major, minor)


is_hip_cdna3 = is_hip_cdna4 = is_hip_gfx1250 = is_hip
for _f in (current_target, is_cuda, is_hip, cuda_capability_geq):
    _f.__triton_builtin__ = True
__all__ = ["cuda_capability_geq", "current_target", "is_cuda", "is_hip", "is_hip_cdna3", "is_hip_cdna4", "is_hip_gfx1250"]
