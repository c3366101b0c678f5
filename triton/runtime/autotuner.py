"""autotune, heuristics and Config: kernels that choose their constants."""
import inspect
import time

from .. import knobs
from .errors import OutOfResources
from .jit import KernelInterface


class Config:
    """Constants and options that an autotuned kernel may take."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = num_warps, num_stages, num_ctas, maxnreg
        self.pre_hook, self.ir_override = pre_hook, ir_override

    def all_kwargs(self):
        options = (("num_warps", self.num_warps), ("num_ctas", self.num_ctas), ("num_stages", self.num_stages), ("maxnreg", self.maxnreg))
        return {**self.kwargs, **{k: v for k, v in options if v is not None}}

    def __str__(self):
        return ", ".join(f"{k}: {v}" for k, v in {**self.kwargs, "num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages, "maxnreg": self.maxnreg}.items())

    __repr__ = __str__

    def __hash__(self): return hash((*self.all_kwargs().items(), self.pre_hook))
    def __eq__(self, other): return isinstance(other, Config) and self.all_kwargs() == other.all_kwargs() and self.pre_hook is other.pre_hook


class Autotuner(KernelInterface):
    """Times the configurations once for each key and launches the fastest."""

    __triton_jit__ = False

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None, prune_configs_by=None, warmup=None,
                 rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
        self.fn, self.arg_names = fn, arg_names
        self.configs = list(configs) if configs else [Config({})]
        self.keys = list(key)
        self.cache, self.configs_timings = {}, {}
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self.pre_hook_given, self.post_hook_given = pre_hook, post_hook
        prune = prune_configs_by or {}
        self.perf_model, self.configs_top_k, self.early_config_prune = prune.get("perf_model"), prune.get("top_k", 1.0), prune.get("early_config_prune")
        self.warmup_ms, self.rep_ms, self.bench = warmup, rep, do_bench
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn):
            self.base_fn = self.base_fn.fn
        self.__name__, self.__doc__ = self.base_fn.__name__, self.base_fn.__doc__
        self.best_config = None
        self.bench_time = None
        self.nargs = None

    def _before(self, nargs, reset_only=False):
        for n in self.reset_to_zero:
            nargs[n].zero_()
        if self.pre_hook_given is not None:
            self.pre_hook_given(nargs, reset_only=reset_only)

    def _time(self, config, args, grid, kwargs):
        both = set(config.kwargs) & set(kwargs)
        if both:
            raise ValueError(f"the configurations of {self.__name__} set {', '.join(sorted(both))}, which the call gives as well")
        now = {**kwargs, **config.all_kwargs()}
        full = {**self.nargs, **now}
        kept = {n: full[n].clone() for n in self.restore_value}

        def once():
            if config.pre_hook:
                config.pre_hook(full)
            self._before(full)
            try:
                self.fn.run(*args, grid=grid, **now)
            finally:
                for n, v in kept.items():
                    full[n].copy_(v)
                if self.post_hook_given is not None:
                    self.post_hook_given(full, exception=None)
        try:
            if self.bench is not None:
                return self.bench(once, quantiles=(0.5, 0.2, 0.8))
            from ..testing import do_bench
            return do_bench(once, warmup=self.warmup_ms or 5, rep=self.rep_ms or 20, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, NotImplementedError):
            return [float("inf")] * 3

    def _pruned(self, kwargs):
        configs = self.configs
        if self.early_config_prune:
            configs = self.early_config_prune(configs, self.nargs, **kwargs)
        if self.perf_model:
            top = self.configs_top_k
            top = int(len(self.configs) * top) if isinstance(top, float) and top <= 1.0 else top
            if len(configs) > top:
                estimate = {c: self.perf_model(**self.nargs, **kwargs, **c.all_kwargs()) for c in configs}
                configs = sorted(configs, key=estimate.get)[:top]
        return configs

    def run(self, *args, grid, warmup=False, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        if len(self.configs) > 1:
            every = {**self.nargs, **kwargs}
            key = tuple(every[k] for k in self.keys if k in every) + tuple(str(v.dtype) for v in every.values() if hasattr(v, "dtype"))
            if key not in self.cache:
                start = time.time()
                timings = {c: self._time(c, args, grid, kwargs) for c in self._pruned(kwargs)}
                self.bench_time = time.time() - start
                self.cache[key] = min(timings, key=lambda c: timings[c][0] if isinstance(timings[c], (list, tuple)) else timings[c])
                self.configs_timings = timings
                self._before({**every, **self.cache[key].all_kwargs()}, reset_only=True)
                if knobs.autotuning.print:
                    print(f"autotuning of {self.__name__} with {key} took {self.bench_time:.2f} s; best: {self.cache[key]}")
            config = self.cache[key]
        else:
            config = self.configs[0]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        r = self.fn.run(*args, grid=grid, warmup=True, **kwargs, **config.all_kwargs()) if warmup else self.fn[grid](*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return r

    def warmup(self, *args, grid=(1,), **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        return [self.fn.warmup(*args, grid=grid, **kwargs, **c.all_kwargs()) for c in self._pruned(kwargs)]


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None, warmup=None, rep=None,
             use_cuda_graph=False, do_bench=None, cache_results=False):
    """Decorates a kernel to be timed with each Config whenever the arguments named by key change."""
    def decorate(fn):
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook, prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results)
    return decorate


class Heuristics(KernelInterface):
    """Constants computed from the arguments of a call."""

    def __init__(self, fn, arg_names, values):
        self.fn, self.arg_names, self.values = fn, arg_names, values
        self.__name__ = fn.__name__

    def run(self, *args, grid, warmup=False, **kwargs):
        for name, f in self.values.items():
            kwargs[name] = f({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


def heuristics(values):
    """Decorates a kernel with functions of its arguments that give its constants by name."""
    def decorate(fn):
        return Heuristics(fn, fn.arg_names, values)
    return decorate
