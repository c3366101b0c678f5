"""Context managers that are decorators too."""

import functools
import inspect

__all__ = ["context_decorator", "_DecoratorContextManager", "_NoParamDecoratorContextManager"]


def _wrap_generator(make_context, func):
    """A generator function whose body alone runs in the context, not what happens between."""
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        gen = func(*args, **kwargs)
        try:
            with make_context():
                item = gen.send(None)
            while True:
                try:
                    sent = yield item
                except GeneratorExit:
                    with make_context():
                        gen.close()
                    raise
                except BaseException:
                    import sys
                    with make_context():
                        item = gen.throw(*sys.exc_info())
                else:
                    with make_context():
                        item = gen.send(sent)
        except StopIteration as stop:
            return stop.value
    return wrapped


def context_decorator(ctx, func):
    """`func` within the context; `ctx` is a context manager or makes one."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise ValueError(f"{ctx!r} is callable and a context manager: pass it in a lambda")
    make_context = ctx if callable(ctx) else (lambda: ctx)
    if inspect.isclass(func):
        raise RuntimeError("a class cannot be decorated with a context manager: decorate its "
                           "methods")
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(make_context, func)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        with make_context():
            return func(*args, **kwargs)
    return wrapped


class _DecoratorContextManager:
    """Base of context managers that can decorate a function; each call gets a clone."""

    def __call__(self, orig_func):
        return context_decorator(self.clone, orig_func)

    def __enter__(self):
        raise NotImplementedError(f"{type(self).__name__}.__enter__")

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError(f"{type(self).__name__}.__exit__")

    def clone(self):
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without parameters, which decorates with or without parentheses."""

    def __new__(cls, orig_func=None):
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
