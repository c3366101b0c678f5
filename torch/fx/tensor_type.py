"""Types of tensors that name their shapes."""

__all__ = ["TensorType", "Dyn", "is_consistent", "is_more_precise"]


class TensorType:
    """A tensor of the given shape; a dimension may be Dyn."""

    def __init__(self, dim):
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self):
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other):
        return isinstance(other, type(self)) and list(self.__args__) == list(other.__args__)

    def __hash__(self):
        return hash(tuple(self.__args__))

    @staticmethod
    def __class_getitem__(*args):
        if len(args) == 1 and isinstance(args[0], tuple):
            args = args[0]
        return TensorType(tuple(args))


class _DynType:
    """Any dimension or type."""

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, type(self))

    def __hash__(self):
        return hash("Dyn")

    def __str__(self):
        return "Dyn"
    __repr__ = __str__


Dyn = _DynType()


def is_consistent(t1, t2):
    """Whether a value may have both types: Dyn goes with everything."""
    if t1 == t2 or t1 == Dyn or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(is_consistent(a, b) for a, b in zip(t1.__args__, t2.__args__))
    return False


def is_more_precise(t1, t2):
    """Whether every value of the first type has the second."""
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(is_more_precise(a, b) for a, b in zip(t1.__args__, t2.__args__))
    return False
