"""triton.runtime.driver.active: the CPU that kernels run on."""
import collections
import os

GPUTarget = collections.namedtuple("GPUTarget", ["backend", "arch", "warp_size"])
# A program is one thread that computes on vector registers, so a warp has one lane.
target = GPUTarget("cpu", "x86-64-v3", 1)


def _cache_bytes(level):
    """Bytes of the data cache of a level, from the system."""
    base = "/sys/devices/system/cpu/cpu0/cache"
    try:
        for index in os.listdir(base):
            def read(name, index=index):
                with open(os.path.join(base, index, name)) as f:
                    return f.read().strip()
            if index.startswith("index") and read("level") == str(level) and read("type") != "Instruction":
                size = read("size")
                return int(size[:-1]) * {"K": 1024, "M": 1 << 20, "G": 1 << 30}[size[-1]]
    except (OSError, ValueError, KeyError):
        pass
    return {1: 32 << 10, 2: 512 << 10}[level]


class CPUUtils:
    """What the machine has."""

    def get_device_properties(self, device=0):
        """max_shared_mem: the second-level cache of a core, where programs keep tiles; max_num_regs: how many vector registers'
        values its first level holds; multiprocessor_count: threads that kernels are spread over."""
        import torch
        return {"max_shared_mem": _cache_bytes(2), "max_num_regs": _cache_bytes(1) // 32, "multiprocessor_count": torch.get_num_threads(), "warpSize": 1,
                "sm_clock_rate": 0, "mem_clock_rate": 0, "mem_bus_width": 64}


class CPUDriver:
    """The driver of the CPU, with the questions that programs ask a GPU's."""

    def __init__(self):
        self.utils = CPUUtils()

    @staticmethod
    def is_active(): return True
    def get_current_device(self): return 0
    def set_current_device(self, device): pass
    def get_current_stream(self, device=None): return 0
    def get_current_target(self): return target

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_device_interface(self):
        import torch
        return torch.cpu

    def get_device_capability(self, device=0): return (0, 0)
    def get_benchmarker(self):
        from ..testing import do_bench
        return do_bench

    def get_empty_cache_for_benchmark(self):
        import torch
        return torch.empty(_cache_bytes(2) * 8 // 4, dtype=torch.int32)

    def clear_cache(self, cache): cache.zero_()


class _Driver:
    """`active` is the driver in use; there is one."""

    def __init__(self):
        self.default = self.active = CPUDriver()

    def set_active(self, driver): self.active = driver
    def reset_active(self): self.active = self.default


driver = _Driver()
active = driver.active
utils = active.utils
