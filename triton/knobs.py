"""triton.knobs: what environment variables say, and what a program sets in their place.

A setting is read from its variable until the program assigns it; `del` gives it back to the variable, and with a group's scope()
all that is assigned within ends with the block. Settings of GPUs and of caches that are not there raise NotImplementedError."""
import contextlib
import os

from torch._absent import NotThereYet

from .absent import lookup

_unset = object()


class Switch:
    """A truth value by the name of an environment variable."""

    def __init__(self, variable, doc):
        self.variable, self.__doc__ = variable, doc

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, group, owner=None):
        if group is None:
            return self
        now = group.assigned.get(self.name, _unset)
        return now if now is not _unset else os.environ.get(self.variable, "0").strip().lower() in ("1", "true", "yes", "on", "y")

    def __set__(self, group, value):
        if not isinstance(value, bool):
            raise TypeError(f"knobs.{group.name}.{self.name} is True or False, not {value!r} of type {type(value).__name__}")
        group.assigned[self.name] = value

    def __delete__(self, group):
        group.assigned.pop(self.name, None)


class Knobs:
    """A group of settings."""

    absent = ()   # settings of Triton's that say nothing here

    def __init__(self, name):
        self.__dict__.update(name=name, assigned={})

    @classmethod
    def switches(cls):
        return {n: s for n, s in vars(cls).items() if isinstance(s, Switch)}

    @property
    def knobs(self):
        """All settings by name."""
        return {n: getattr(self, n) for n in self.switches()}

    def _refuse(self, name):
        if name in self.absent:
            raise NotThereYet(f"knobs.{self.name}.{name} is not there: kernels on the CPU have nothing that it sets")
        raise AttributeError(f"knobs.{self.name} has no setting {name!r}; it has {', '.join(self.switches())}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(name)

    def __setattr__(self, name, value):
        if name not in self.switches():
            self._refuse(name)
        super().__setattr__(name, value)

    def reset(self):
        """All settings as their variables say."""
        self.assigned.clear()
        return self

    @contextlib.contextmanager
    def scope(self):
        """A block at whose end the settings are what they were."""
        before = dict(self.assigned)
        try:
            yield self
        finally:
            self.assigned.clear()
            self.assigned.update(before)


class RuntimeKnobs(Knobs):
    interpret = Switch("TRITON_INTERPRET", "Kernels run on the tile interpreter, the definition of the language.")
    debug = Switch("TRITON_DEBUG", "Kernels that are defined from now on have their device_asserts.")
    absent = ("add_stages_inspection_hook", "jit_cache_hook", "jit_post_compile_hook", "kernel_load_end_hook", "kernel_load_start_hook",
              "launch_enter_hook", "launch_exit_hook", "override_arch")


class CompilationKnobs(Knobs):
    allow_non_constexpr_globals = Switch("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "Kernels read global numbers that are no tl.constexpr, as part of their code.")
    front_end_debugging = Switch("TRITON_FRONT_END_DEBUGGING", "What goes wrong in the front end is raised as it is, without its place in the kernel.")
    absent = ("always_compile", "disable_line_info", "dump_ir", "dump_ir_extract_di_local_variables", "enable_asan", "fpsan_homomorphic_casts",
              "instrumentation_mode", "listener", "override", "store_binary_only", "use_ir_loc")


class AutotuningKnobs(Knobs):
    print = Switch("TRITON_PRINT_AUTOTUNING", "Prints what an autotuned kernel chose.")
    absent = ("cache", "listener")


runtime, compilation, autotuning = RuntimeKnobs("runtime"), CompilationKnobs("compilation"), AutotuningKnobs("autotuning")
_ABSENT = ("amd", "build", "cache", "language", "nvidia", "propagate_env", "proton", "redis", "refresh_knobs", "setenv", "toenv")


__getattr__ = lookup("triton.knobs", dict.fromkeys(_ABSENT, "kernels on the CPU have nothing that it sets"))


__all__ = ["autotuning", "compilation", "runtime"]
