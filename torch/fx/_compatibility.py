"""Marks how stable a function of torch.fx is."""

_BACK_COMPAT_OBJECTS = {}
_MARKED_WITH_COMPATIBILITY = {}


def compatibility(is_backward_compatible):
    """A decorator that records whether the interface of what it marks is kept over versions."""
    def mark(fn):
        _MARKED_WITH_COMPATIBILITY.setdefault(fn, None)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(fn, None)
        return fn
    return mark
