"""Running passes in order, until nothing changes any more."""
import functools
import inspect

from torch.fx.passes.infra.pass_base import PassResult

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]


def pass_result_wrapper(fn):
    """A function that changes a module in place, as a pass: what it gives becomes a PassResult (modified)."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        return PassResult(result, True)
    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this, that):
    """A constraint of a PassManager: pass `this` comes before pass `that`."""
    def depends_on(a, b):
        return not (a == that and b == this)
    return depends_on


def _validate_pass_schedule_constraint(constraint, passes):
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1:], i + 1):
            if not constraint(a, b):
                raise RuntimeError(f"the order of passes is against a constraint: {a} at {i} must not come before {b} at {j}")


def _topological_sort_passes(passes, constraints):
    if not constraints:
        return passes
    after = {p: [] for p in passes}
    before = dict.fromkeys(passes, 0)
    for a in passes:
        for b in passes:
            if a is not b and not all(c(a, b) for c in constraints):
                # a must not come before b.
                after[b].append(a)
                before[a] += 1
    ready = [p for p in passes if not before[p]]
    order = []
    while ready:
        p = ready.pop(0)
        order.append(p)
        for q in after[p]:
            before[q] -= 1
            if not before[q]:
                ready.append(q)
    if len(order) != len(passes):
        raise RuntimeError(f"the constraints of these passes contradict each other: {[p for p in passes if before[p]]}")
    return order


class PassManager:
    """Runs passes in order, `steps` times or until nothing changes.

    `constraints` are functions of two passes that say whether the first may come before the second; the order is made to
    follow them. `run_checks_after_each_pass`: what `add_checks` registered runs after each pass.
    """

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False,
                 suppress_check_failures=False):
        self.passes = passes or []
        self.constraints = constraints or []
        if steps:
            self.steps = steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    steps = 1

    def add_pass(self, _pass):
        """Appends a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Adds a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """Raises RuntimeError where the order is against a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def solve_constraints(self):
        """Orders the passes so that all constraints hold; RuntimeError where they contradict each other."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """`check(module)` runs after each pass, where that is asked for; it takes one parameter (TypeError else)."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("a check of a PassManager takes one argument, the module")
        self.check = check

    def check(self, module):
        """Checks the module; `add_checks` sets it."""

    def __call__(self, module):
        """Runs the passes on a module; gives a PassResult. An error of a pass is raised as Exception naming it."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified, done = False, []
            for p in self.passes:
                name = p.__name__ if inspect.isfunction(p) else type(p).__name__
                try:
                    result = p(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(f"a pass gives a PassResult, not a {type(result).__name__}; wrap it in "
                                        "pass_result_wrapper")
                    module, modified = result.graph_module, modified or result.modified
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    raise Exception(f"the pass {name!r} failed, after these ran: {done}") from error
                done.append(name)
            overall = overall or modified
            if not modified:
                break
        return PassResult(module, overall)
