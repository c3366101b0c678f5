"""What a fake implementation may ask of the call it stands for."""
import contextlib

_current = None


class FakeImplCtx:
    """The context of a fake implementation: `torch.library.get_ctx()`."""

    def __init__(self, op, shape_env=None):
        self._op, self._shape_env = op, shape_env

    def create_unbacked_symint(self, *, min=0, max=None):
        return self.new_dynamic_size(min=min, max=max)

    def new_dynamic_size(self, *, min=0, max=None):
        """A size that depends on the elements: a SymInt without example. DynamicOutputShapeException where sizes are plain numbers."""
        from torch._subclasses.fake_tensor import DynamicOutputShapeException
        if self._shape_env is None:
            raise DynamicOutputShapeException(self._op)
        if not self._shape_env.allow_dynamic_output_shape_ops:
            raise DynamicOutputShapeException(self._op)
        from torch._subclasses.symbolic import fresh_size
        return fresh_size(self._shape_env, min, max)


@contextlib.contextmanager
def running(op, shape_env=None):
    global _current
    before, _current = _current, FakeImplCtx(op, shape_env)
    try:
        yield _current
    finally:
        _current = before


def get_ctx():
    return _current
