"""Settings of torch.compile. `patch` changes them within a with block or a decorated function."""
import contextlib
import sys
import types

recompile_limit = 8                   # graphs of one compiled function
accumulated_recompile_limit = 256     # graphs of one code object, in all functions that have it
fail_on_recompile_limit_hit = False   # an error instead of running as it is
error_on_recompile = False
suppress_errors = False               # a back end that raises leaves the graph as it is, with one warning
disable = False
dynamic_shapes = True                 # False: sizes are always guarded
automatic_dynamic_shapes = True       # from the second graph on sizes are left out of the guards where nothing reads them
assume_static_by_default = True       # False: from the first graph on
verbose = False                       # warnings show where the compiler was

_same = {"cache_size_limit": "recompile_limit", "accumulated_cache_size_limit": "accumulated_recompile_limit"}


def _unknown(name):
    return AttributeError(f"torch._dynamo.config has no setting {name!r}")


class _Settings(types.ModuleType):
    def __getattr__(self, name):
        if name in _same:
            return getattr(self, _same[name])
        raise _unknown(name)

    def __setattr__(self, name, value):
        name = _same.get(name, name)
        if name not in vars(self) and not name.startswith("__"):
            raise _unknown(name)
        super().__setattr__(name, value)

    def patch(self, changes=None, value=None, **more):
        """patch("name", value), patch({...}) or patch(name=value): the settings are so within the block."""
        if isinstance(changes, str):
            changes = {changes: value}
        changes = {**(changes or {}), **more}

        @contextlib.contextmanager
        def within():
            before = {k: getattr(self, k) for k in changes}
            for k, v in changes.items():
                setattr(self, k, v)
            try:
                yield
            finally:
                for k, v in before.items():
                    setattr(self, k, v)
        return within()


sys.modules[__name__].__class__ = _Settings
