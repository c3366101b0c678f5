"""Frames of this package between a function and its caller, while the function is compiled: what looks at callers is to find the
program's own lines.

warnings.warn and logging go past frames whose file names hold "importlib" and "_bootstrap", whatever their stacklevel.
"""
import os


def file_name(what):
    """The file name of code that is passed over."""
    return f"<importlib._bootstrap, {what} of torch.compile>"


def unseen(f):
    """Makes f, a function of Python, one that is passed over. May decorate."""
    f.__code__ = f.__code__.replace(co_filename=file_name(os.path.basename(f.__code__.co_filename)))
    return f
