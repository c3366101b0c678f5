"""Names of the API that are not here: asking for one says why, hasattr() is False."""
from torch._absent import NotThereYet


def lookup(module, reasons):
    """The __getattr__ of a module that lacks the names in `reasons`, {name: why}: NotImplementedError with the reason, which is
    an AttributeError too; AttributeError for any other name."""
    def getattribute(name):
        if name in reasons:
            raise NotThereYet(f"{module}.{name} is not there: {reasons[name]}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattribute
