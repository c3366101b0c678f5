"""Minimax polynomials for ops/math, by Remez exchange in many digits.

fit(f, a, b, powers, weight, bits) returns coefficients c_j of sum c_j x^powers[j] that minimise
max |f - sum| * weight on [a, b], rounded one after the other (lowest power first, the rest fitted
again after each rounding) to `bits` bits of significand. Needs mpmath.
"""
import mpmath as mp

mp.mp.dps = 40


def round_to(c, bits):
    if c == 0:
        return mp.mpf(0)
    _, e = mp.frexp(c)
    scale = mp.mpf(2) ** (bits - e)
    return mp.nint(c * scale) / scale


def remez(f, a, b, powers, weight, grid=400, rounds=30):
    """f and weight are sampled once; exchange runs on a Chebyshev-spaced grid."""
    n = len(powers)
    if n == 0:
        return [], None
    m = max(grid, 30 * n)
    xs = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * m)) for i in range(m)][::-1]
    fs = [f(x) for x in xs]
    ws = [weight(x) for x in xs]
    basis = [[x ** p for p in powers] for x in xs]
    # off centre: the weight of an expansion about 0 vanishes there
    pick = [int((i + 0.35) * m / (n + 1)) for i in range(n + 1)]
    best = None
    for _ in range(rounds):
        A = mp.matrix(n + 1, n + 1)
        y = mp.matrix(n + 1, 1)
        for r, i in enumerate(pick):
            for j in range(n):
                A[r, j] = basis[i][j]
            A[r, n] = (-1) ** r / ws[i]
            y[r] = fs[i]
        sol = mp.lu_solve(A, y)
        c = [sol[j] for j in range(n)]
        err = [(fs[i] - mp.fdot(c, basis[i])) * ws[i] for i in range(m)]
        worst = max(abs(e) for e in err)
        if best is None or worst < best[1]:
            best = (c, worst)
        # extremes of each run of one sign
        runs, start = [], 0
        for i in range(1, m + 1):
            if i == m or (err[i] > 0) != (err[start] > 0):
                runs.append(max(range(start, i), key=lambda q: abs(err[q])))
                start = i
        while len(runs) > n + 1:
            drop = 0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else len(runs) - 1
            runs.pop(drop)
        if len(runs) < n + 1 or runs == pick:
            break
        if worst < abs(sol[n]) * mp.mpf("1.001"):
            break
        pick = runs
    return best


def fit(f, a, b, powers, weight=lambda x: 1, bits=53, fixed=None, exact=None, grid=400):
    """exact: how many of the first coefficients are rounded before the others are fitted again."""
    a, b = mp.mpf(a), mp.mpf(b)
    cache = {}

    def fc(x):
        if x not in cache:
            cache[x] = f(x)
        return cache[x]

    got, rest = [], list(powers)
    exact = len(powers) if exact is None else exact
    while rest:
        c, worst = remez(lambda x: fc(x) - sum(g * x ** p for g, p in zip(got, powers)), a, b, rest, weight, grid)
        take = 1 if len(got) < exact else len(rest)
        got += [round_to(v, bits) for v in c[:take]]
        rest = rest[take:]
    xs = [a + (b - a) * i / 997 for i in range(998)]
    err = max(abs((f(x) - sum(g * x ** p for g, p in zip(got, powers))) * weight(x)) for x in xs if x != 0)
    return got, err


def show(name, got, err, bits=53):
    print(f"// {name}: weighted error 2^{float(mp.log(err, 2)) if err else -999:.1f}")
    for g in got:
        print("  " + (float(g).hex() if bits <= 53 else str(g)) + ",")
