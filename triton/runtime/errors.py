from ..compiler.errors import TritonError


class OutOfResources(TritonError):
    """A kernel that needs more of something than there is."""

    def __init__(self, required, limit, name):
        self.required, self.limit, self.name = required, limit, name
        super().__init__(f"out of resource: {name}; {required} are needed, {limit} are there")


class InterpreterError(TritonError):
    """What went wrong while a kernel was interpreted."""


class PTXASError(TritonError):
    """Never raised here: kernels are compiled in this process."""
