"""What can go wrong while a function is compiled."""


class TorchDynamoException(RuntimeError):
    """The base of these errors."""


class Unsupported(TorchDynamoException):
    """The function does something that is not proven safe to compile. `reason` says what, `where` is (file, line, name)."""

    def __init__(self, reason, where=None):
        self.reason, self.where, self.depth = reason, where, None   # depth: of the frame that raised it
        super().__init__(reason)

    def __str__(self):
        return self.reason + (f"\n  at {place(self.where)}" if self.where else "")


class InvalidBackend(TorchDynamoException):
    """No back end has this name."""

    def __init__(self, name):
        super().__init__(f"no back end of torch.compile is named {name!r}; torch._dynamo.list_backends() lists them")


class BackendCompilerFailed(TorchDynamoException):
    """A back end raised while it compiled a graph."""

    def __init__(self, backend, error):
        self.inner_exception = error
        super().__init__(f"back end {getattr(backend, '__name__', backend)!r} raised {type(error).__name__}: {error}")


class RecompileError(TorchDynamoException):
    """A function was compiled again while config.error_on_recompile is set."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """A function was compiled more often than config.recompile_limit, with fullgraph=True."""


class ResetRequired(TorchDynamoException):
    """The setting can only change after torch._dynamo.reset()."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the compiler itself."""


class UserError(Unsupported):
    """The function asks for something that cannot be."""


def place(where):
    """'file "a.py", line 3, in f' and the line itself."""
    import linecache
    file, line, name = where
    text = linecache.getline(file, line).strip()
    return f'file "{file}", line {line}, in {name}' + (f": {text}" if text else "")
