"""The version as a string that compares as versions do."""
from torch.version import __version__ as _version


class TorchVersion(str):
    """A str that compares with versions and strings by PEP 440."""

    def _cmp(self, other):
        from packaging.version import Version
        return Version(str(self)), Version(".".join(map(str, other)) if isinstance(other, (tuple, list)) else str(other))

    def __lt__(self, other):
        a, b = self._cmp(other)
        return a < b

    def __le__(self, other):
        a, b = self._cmp(other)
        return a <= b

    def __gt__(self, other):
        a, b = self._cmp(other)
        return a > b

    def __ge__(self, other):
        a, b = self._cmp(other)
        return a >= b


__version__ = TorchVersion(_version)
