"""L-BFGS (Liu and Nocedal, 1989) with an optional line search for the strong Wolfe conditions."""

import torch
from torch.optim.optimizer import Optimizer, _check_lr

__all__ = ["LBFGS"]


class _Point:
    """A step length with the loss (float), the flat gradient and the slope along the direction."""

    __slots__ = ("t", "f", "g", "slope")

    def __init__(self, t, f, g, slope):
        self.t, self.f, self.g, self.slope = t, f, g, slope


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum within bounds of the cubic of these values and slopes (Nocedal, Wright 3.59)."""
    low, high = bounds if bounds is not None else ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 ** 2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt() if isinstance(square, torch.Tensor) else square ** 0.5
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


def _between(a, b, bounds=None):
    return _cubic_interpolate(a.t, a.f, a.slope, b.t, b.f, b.slope, bounds)


def _strong_wolfe(evaluate, t, d, f, g, slope, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """(loss, gradient, t, evaluations) of a step along d (Nocedal, Wright, algorithms 3.5, 3.6).

    `evaluate(t)` gives the loss as a float and the flat gradient at x + t * d.
    """

    def measure(t):
        loss, grad = evaluate(t)
        return _Point(t, loss, grad, grad.dot(d))

    size = d.abs().max()
    start = _Point(0, f, g.clone(), slope)
    new, last = measure(t), start
    evaluations, rounds, done = 1, 0, False
    # Widen the step until it brackets a minimum or is good already.
    while rounds < max_ls:
        if new.f > f + c1 * new.t * slope or (rounds > 1 and new.f >= last.f):
            bracket = [last, new]
            break
        if abs(new.slope) <= -c2 * slope:
            bracket, done = [new], True
            break
        if new.slope >= 0:
            bracket = [last, new]
            break
        t = _between(last, new, (new.t + 0.01 * (new.t - last.t), new.t * 10))
        last, new = new, measure(t)
        evaluations += 1
        rounds += 1
    else:
        bracket = [start, new]
    # Narrow the bracket; `low` is its end with the smaller loss.
    stuck = False
    low, high = (0, 1) if bracket[0].f <= bracket[-1].f else (1, 0)
    while not done and rounds < max_ls:
        left, right = bracket[0].t, bracket[1].t
        if abs(right - left) * size < tolerance_change:
            break
        left, right = min(left, right), max(left, right)
        t = _between(*bracket)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            # Close to an end: allowed once, then moved inwards.
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = measure(t)
        evaluations += 1
        rounds += 1
        if new.f > f + c1 * new.t * slope or new.f >= bracket[low].f:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        else:
            if abs(new.slope) <= -c2 * slope:
                done = True
            elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    best = bracket[low]
    return best.f, best.g, best.t, evaluations


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of parameters and gradients.

    One group only. `step(closure)` makes up to `max_iter` iterations and calls `closure` up to
    about `max_eval` times (default 1.25 max_iter). `line_search_fn`: None or "strong_wolfe".
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7,
                 tolerance_change=1e-9, history_size=100, line_search_fn=None, *, maximize=False):
        _check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn, "maximize": maximize})
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS takes one parameter group, got {len(self.param_groups)}")
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    def _numel(self):
        if self._numel_cache is None:
            self._numel_cache = sum(
                2 * p.numel() if torch.is_complex(p) else p.numel() for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self):
        parts = []
        for p in self._params:
            if p.grad is None:
                part = p.new_zeros(p.numel())
            else:
                part = (p.grad.to_dense() if p.grad.is_sparse else p.grad).reshape(-1)
            if torch.is_complex(part):
                part = torch.view_as_real(part).reshape(-1)
            parts.append(part)
        flat = torch.cat(parts, 0)
        return flat.neg_() if self.param_groups[0]["maximize"] else flat

    def _add_grad(self, step_size, direction):
        offset = 0
        for p in self._params:
            p = torch.view_as_real(p) if torch.is_complex(p) else p
            n = p.numel()
            p.add_(direction[offset:offset + n].view_as(p), alpha=step_size)
            offset += n

    def _clone_param(self):
        return [p.clone(memory_format=torch.contiguous_format) for p in self._params]

    def _set_param(self, values):
        for p, value in zip(self._params, values):
            p.copy_(value)

    def _directional_evaluate(self, closure, x, t, d):
        self._add_grad(t, d)
        loss = float(closure())
        grad = self._gather_flat_grad()
        self._set_param(x)
        return (-loss if self.param_groups[0]["maximize"] else loss), grad

    def _direction(self, state, grad, history_size):
        """The product of the inverse Hessian's estimate with -grad: the two-loop recursion."""
        y = grad.sub(state["prev_flat_grad"])
        s = state["d"].mul(state["t"])
        ys = y.dot(s)
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if ys > 1e-10:
            if len(dirs) == history_size:
                dirs.pop(0)
                steps.pop(0)
                ro.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        al = state.setdefault("al", [None] * history_size)
        q = grad.neg()
        for i in range(len(dirs) - 1, -1, -1):
            al[i] = steps[i].dot(q) * ro[i]
            q.add_(dirs[i], alpha=-al[i])
        r = torch.mul(q, state["H_diag"])
        for i in range(len(dirs)):
            r.add_(steps[i], alpha=al[i] - dirs[i].dot(r) * ro[i])
        return r

    @torch.no_grad()
    def step(self, closure):
        """Runs the iterations; `closure` clears the gradients, computes and returns the loss."""
        group = self.param_groups[0]
        lr, max_iter, maximize = group["lr"], group["max_iter"], group["maximize"]
        if isinstance(lr, torch.Tensor):
            lr = lr.item()
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError(f"line_search_fn must be None or 'strong_wolfe', got {search!r}")
        closure = torch.enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss = -float(first_loss) if maximize else float(first_loss)
        evals = 1
        state["func_evals"] += 1
        grad = self._gather_flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss

        for n_iter in range(1, max_iter + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d = grad.neg()
                state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                d = self._direction(state, grad, group["history_size"])
            state["d"] = d
            state["prev_flat_grad"] = grad.clone(memory_format=torch.contiguous_format)
            state["prev_loss"] = last_loss = loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            state["t"] = t
            slope = grad.dot(d)
            if slope > -group["tolerance_change"]:
                break
            used, flat = 0, False
            if search is not None:
                x = self._clone_param()
                loss, grad, t, used = _strong_wolfe(
                    lambda t, x=x, d=d: self._directional_evaluate(closure, x, t, d),
                    t, d, loss, grad, slope)
                self._add_grad(t, d)
                flat = bool(grad.abs().max() <= group["tolerance_grad"])
            else:
                self._add_grad(t, d)
                if n_iter != max_iter:
                    # The last iteration's loss is not needed: the next step evaluates it.
                    loss = -float(closure()) if maximize else float(closure())
                    grad = self._gather_flat_grad()
                    flat = bool(grad.abs().max() <= group["tolerance_grad"])
                    used = 1
            state["t"] = t
            evals += used
            state["func_evals"] += used
            if evals >= group["max_eval"] or flat:
                break
            if d.mul(t).abs().max() <= group["tolerance_change"]:
                break
            if abs(loss - last_loss) < group["tolerance_change"]:
                break
        # A saved state lists its entries in one order, whichever way the loop ended.
        for key in ("al", "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad",
                    "prev_loss"):
            if key in state:
                state[key] = state.pop(key)
        return first_loss
