"""What compiling a kernel may raise."""


class TritonError(Exception):
    """Base of this package's errors."""


class CompilationError(TritonError):
    """A kernel that cannot be compiled: where, in the user's file, and why."""

    def __init__(self, src, node, error_message=None, filename=None, first_line=1, function=None):
        self.src = src
        self.node = node
        self.error_message = error_message
        self.filename = filename
        self.function = function
        self.lineno = getattr(node, "lineno", 1) + first_line - 1
        self.col = getattr(node, "col_offset", 0)
        self.callers = []
        super().__init__(error_message)

    @property
    def message(self):
        return str(self)

    def called_from(self, filename, line, function):
        self.callers.append((filename, line, function))

    def __str__(self):
        where = f"{self.filename or '<kernel>'}:{self.lineno}:{self.col}"
        text = f"at {where}" + (f", in {self.function}" if self.function else "")
        if self.src is not None and hasattr(self.node, "lineno"):
            lines = self.src.split("\n")
            if self.node.lineno <= len(lines):
                text += "\n" + lines[self.node.lineno - 1] + "\n" + " " * self.col + "^"
        if self.error_message:
            text += "\n" + str(self.error_message)
        for filename, line, function in self.callers:
            text += f"\ncalled from {filename}:{line}, in {function}"
        return text


class CompileTimeAssertionFailure(CompilationError):
    """A static_assert that does not hold."""


class UnsupportedLanguageConstruct(CompilationError):
    """Python that kernels cannot say."""
