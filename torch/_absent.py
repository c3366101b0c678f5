"""Names of the API that are not there yet.

Reading one raises NotThereYet, which is a NotImplementedError to a program that calls it and an AttributeError to one
that asks first: hasattr() is False, getattr() gives its default. Any other unknown name is a plain AttributeError.
"""
import functools
import os


class NotThereYet(NotImplementedError, AttributeError):
    """A name of the API that this version does not have."""


@functools.cache
def _table():
    path = os.path.join(os.path.dirname(__file__), "_api_names.txt")
    with open(path, encoding="ascii") as f:
        return dict(line.split(" ", 1) for line in f)


@functools.cache
def names(package):
    """The public names that a package of the API has, e.g. names("torch.linalg")."""
    return frozenset(_table().get(package, "").split())


def error(package, name):
    """The exception to raise for a name that a package lacks."""
    if name in names(package):
        return NotThereYet(f"{package}.{name} is not there yet")
    return AttributeError(f"module {package!r} has no attribute {name!r}")


class _Method:
    """Stands in a class for a method that is not there."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __get__(self, instance, owner=None):
        raise NotThereYet(f"Tensor.{self._name} is not there yet")


def mark_methods(cls):
    """Gives a tensor class an entry for each method of the API that it lacks."""
    for name in names("torch.Tensor").difference(dir(cls)):
        setattr(cls, name, _Method(name))
