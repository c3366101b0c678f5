"""Settings of torch.compile. `patch` changes them within a with block or a decorated function."""
import contextlib
import sys
import types

recompile_limit = 8
accumulated_recompile_limit = 256
fail_on_recompile_limit_hit = False
error_on_recompile = False
suppress_errors = False
disable = False
automatic_dynamic_shapes = True
# Accepted, without effect: programs set them.
verbose = False
assume_static_by_default = True
dynamic_shapes = True
specialize_int = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
guard_nn_modules = True
allow_rnn = False
optimize_ddp = True
log_file_name = None

_same = {"cache_size_limit": "recompile_limit", "accumulated_cache_size_limit": "accumulated_recompile_limit"}


class _Settings(types.ModuleType):
    def __getattr__(self, name):
        if name in _same:
            return getattr(self, _same[name])
        raise AttributeError(f"torch._dynamo.config has no setting {name!r}")

    def __setattr__(self, name, value):
        name = _same.get(name, name)
        if name not in vars(self) and not name.startswith("__"):
            raise AttributeError(f"torch._dynamo.config has no setting {name!r}")
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
