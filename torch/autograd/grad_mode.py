"""Contexts that switch recording on and off; each is also a decorator."""
import functools
import inspect

from torch import _C


class _Context:
    """A context manager that works as a decorator, of generators too."""

    def clone(self):
        return type(self)()

    def __call__(self, func):
        if isinstance(func, type):
            raise TypeError(f"{type(self).__name__} decorates functions and methods; {func.__name__} is a class")
        make = self.clone
        if inspect.isgeneratorfunction(func):
            @functools.wraps(func)
            def generator(*args, **kwargs):
                gen = func(*args, **kwargs)
                send, value = gen.send, None
                while True:
                    try:
                        with make():
                            out = send(value)
                    except StopIteration as stop:
                        return stop.value
                    try:
                        value = yield out
                        send = gen.send
                    except GeneratorExit:
                        gen.close()
                        raise
                    except BaseException as e:  # noqa: BLE001 - handed to the generator
                        value, send = e, gen.throw
            return generator

        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            with make():
                return func(*args, **kwargs)
        return wrapped


class _NoParam(_Context):
    def __new__(cls, orig_func=None):
        self = object.__new__(cls)
        if orig_func is None:
            return self
        self.__init__()
        return self(orig_func)


class no_grad(_NoParam):
    """Within it nothing is recorded for backward."""

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.prev)


class enable_grad(_NoParam):
    """Within it operations are recorded, also inside no_grad."""

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.prev)


class set_grad_enabled(_Context):
    """Switches recording to `mode`, at once; as a context, until its end."""

    def __init__(self, mode):
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, func):
        _C._set_grad_enabled(self.prev)
        return super().__call__(func)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.prev)

    def clone(self):
        return type(self)(self.mode)


class inference_mode(_Context):
    """no_grad without version counters and view tracking; tensors made within stay out of autograd."""

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return object.__new__(cls)
        return cls()(mode)

    def __init__(self, mode=True):
        self.mode = mode

    def __enter__(self):
        self.prev = _C.is_inference_mode_enabled(), _C.is_grad_enabled()
        _C._set_inference_mode(self.mode)
        if self.mode:
            _C._set_grad_enabled(False)
        elif self.prev[0]:
            _C._set_grad_enabled(True)

    def __exit__(self, *exc):
        _C._set_inference_mode(self.prev[0])
        _C._set_grad_enabled(self.prev[1])

    def clone(self):
        return type(self)(self.mode)


class set_multithreading_enabled(_Context):
    """Whether backward may use several threads for several devices; here it always runs on the calling one."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass

    def clone(self):
        return type(self)(self.mode)
