"""`break`, `continue` and `return` within loops, as flags and branches: what follows a jump is done where its flag is not set.

A loop that is left early has an attribute `breaks`, the name of the flag that ends it. A `return` of a value stays as it is."""
import ast


def _returns_value(statements):
    return any(isinstance(n, ast.Return) and n.value is not None for s in statements for n in ast.walk(s))


def _jumps(statements):
    """Whether these statements jump; loops within them have no jumps any more."""
    return any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for s in statements for n in ast.walk(s))


def _find(kind, statements):
    return any(isinstance(n, kind) for s in statements for n in ast.walk(s))


class _Rewriter:
    def __init__(self):
        self.loops = 0

    @staticmethod
    def name(at, name, context=None):
        return ast.copy_location(ast.Name(name, context or ast.Load()), at)

    def set(self, at, name, value):
        return ast.copy_location(ast.Assign([self.name(at, name, ast.Store())], ast.copy_location(ast.Constant(value), at)), at)

    def branch(self, at, test, body):
        return ast.copy_location(ast.If(test, body, []), at)

    def statements(self, body):
        out = []
        for s in body:
            if isinstance(s, (ast.For, ast.While)):
                out.extend(self.loop(s))
                continue
            if isinstance(s, ast.If):
                s = ast.copy_location(ast.If(s.test, self.statements(s.body), self.statements(s.orelse)), s)
            out.append(s)
        return out

    def loop(self, s):
        body = self.statements(s.body)   # loops within it first
        if not _jumps(body) or _returns_value(body):
            s.body = body
            return [s]
        self.loops += 1
        skips, breaks, returns = (f"<{what} {self.loops}>" for what in ("skips", "breaks", "returns"))
        leaves = _find((ast.Break, ast.Return), body)
        out = []
        if leaves:
            s.breaks = breaks
            out.append(self.set(s, breaks, False))
        returned = _find(ast.Return, body)
        if returned:
            out.append(self.set(s, returns, False))
        s.body = [self.set(s, skips, False)] + self.flagged(body, skips, breaks, returns)
        out.append(s)
        if returned:
            out.append(self.branch(s, self.name(s, returns), [ast.copy_location(ast.Return(None), s)]))
        return out

    def flagged(self, body, skips, breaks, returns):
        out = []
        for i, s in enumerate(body):
            if isinstance(s, (ast.Break, ast.Continue, ast.Return)):
                out.append(self.set(s, skips, True))
                if not isinstance(s, ast.Continue):
                    out.append(self.set(s, breaks, True))
                if isinstance(s, ast.Return):
                    out.append(self.set(s, returns, True))
                return out
            if isinstance(s, ast.If) and _jumps([s]):
                sides = [self.flagged(side, skips, breaks, returns) for side in (s.body, s.orelse)]
                out.append(ast.copy_location(ast.If(s.test, *sides), s))
                rest = self.flagged(body[i + 1:], skips, breaks, returns)
                if rest:
                    out.append(self.branch(rest[0], ast.copy_location(ast.UnaryOp(ast.Not(), self.name(s, skips)), s), rest))
                return out
            out.append(s)
        return out


def without_jumps(function):
    """The function's tree, changed in place."""
    if any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(function)):
        function.body = _Rewriter().statements(function.body)
    return function
