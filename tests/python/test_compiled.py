"""Compiled graphs give eager's bits: over types, layouts, and graphs drawn at random."""
import os
import random
import subprocess
import sys

import pytest
import torch
from torch._inductor import compile as compile_graph

F = torch.nn.functional
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.uint8, torch.bool)


def same(a, b):
    """Equal in shape, strides, type and bits; a NaN equals any other."""
    assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)
    if a.dtype.is_floating_point:
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
        equal = (a.contiguous().view(bits) == b.contiguous().view(bits)) | (a.isnan() & b.isnan())
    else:
        equal = a == b
    return bool(equal.all())


def check(f, *inputs, fused=True):
    compiled = compile_graph(f, inputs)
    if fused:
        assert "operator by operator" not in compiled.steps(*inputs)
    want, got = f(*inputs), compiled(*inputs)
    if isinstance(want, torch.Tensor):
        want, got = (want,), (got,)
    assert len(want) == len(got)
    for i, (a, b) in enumerate(zip(want, got)):
        assert same(a, b), f"output {i} differs\n{compiled.steps(*inputs)}"
    return compiled


def layouts(shape, dtype, seed=0):
    g = torch.Generator().manual_seed(seed)

    def made(*s):
        if dtype.is_floating_point:
            return (torch.randn(*s, generator=g) * 4).to(dtype)
        return torch.randint(0, 2 if dtype is torch.bool else 100, s, generator=g).to(dtype)
    n, m = shape
    yield made(n, m)
    yield made(m, n).t()
    yield made(n, 3 * m)[:, ::3]
    yield made(n, 1).expand(n, m)
    yield made(m)


def chain(x, y):
    return F.gelu(x * y + 1.0).sigmoid() * torch.tanh(y)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (64, 33), (700, 300)])
def test_pointwise_chain(dtype, shape):
    for x in layouts(shape, dtype, 1):
        for y in layouts(shape, dtype, 2):
            check(chain, x, y)


@pytest.mark.parametrize("dtype", FLOATS)
def test_results_larger_than_the_caches(dtype):
    """Such results are stored past the cache where tiles lie on whole borders."""
    n = (17 << 20) // dtype.itemsize
    for extra in (0, 1, 19):
        x, y = torch.randn(n + extra).to(dtype), torch.randn(n + extra).to(dtype)
        check(chain, x, y)
        check(lambda x, y: (x + y, (x * y).abs()), x, y)
    rows = 3001
    x, w = torch.randn(rows, n // rows + 3).to(dtype), torch.randn(n // rows + 3).to(dtype)
    check(lambda x, w: torch.relu(x + w), x, w)
    check(lambda x, w: torch.tanh(x + w), x, w[:1])


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_texts_in_place_and_called(dtype):
    """Functions' texts stand in the kernel up to some size; beyond it, and where lanes go one by one, they are calls."""
    def many(x, y):
        for f in (torch.tanh, torch.exp, torch.erf, torch.sigmoid, torch.expm1, torch.sinh, torch.asinh, torch.log1p) * 2:
            x = f(x * 0.5 - y).clamp(-3, 3)
        return x
    for n in (1, 7, 8, 15, 16, 17, 31, 33, 1000):
        x, y = torch.randn(n, dtype=dtype) * 3, torch.randn(n, dtype=dtype)
        check(many, x, y)
        check(lambda x, y: torch.sin(x * 1e6) + torch.tanh(y), x, y)
        check(lambda x, y: torch.erf(x) * torch.lgamma(y) + torch.fmod(x, y), x, y)
        check(lambda x, y: torch.atan2(x, y) + torch.hypot(x, y) + torch.pow(x.abs(), y), x, y)


def test_types_promote_as_in_eager():
    for a in FLOATS + INTEGERS:
        for b in FLOATS + INTEGERS:
            x, y = next(layouts((9, 13), a, 1)), next(layouts((9, 13), b, 2))
            check(lambda x, y: (x + y, x * 2, (x < y) & (y > 3), torch.where(x > y, x, y), torch.maximum(x, y) * 0.5), x, y)


def test_half_rounds_at_every_card():
    x = torch.randn(4096).half() * 100
    check(lambda x: ((x + 0.1) * 3.3 - x) / 7, x)
    # The same in float throughout is another number.
    whole = (((x.float() + 0.1) * 3.3 - x.float()) / 7).half()
    assert not torch.equal(whole, ((x + 0.1) * 3.3 - x) / 7)


def test_one_kernel_for_a_chain():
    x, y = torch.randn(50, 60), torch.randn(50, 60)
    assert check(chain, x, y).steps(x, y).count("\n") == 1


def test_several_outputs_of_one_kernel():
    x = torch.randn(40, 50)
    c = check(lambda x: (x.exp(), x.exp() + 1, x * 2), x)
    assert c.steps(x).count("\n") <= 2


REDUCTIONS = {
    "sum": lambda x, **k: x.sum(**k), "mean": lambda x, **k: x.mean(**k), "amax": lambda x, **k: x.amax(**k), "amin": lambda x, **k: x.amin(**k),
    "var": lambda x, **k: x.var(**k), "std": lambda x, **k: x.std(**k), "norm1": lambda x, **k: torch.linalg.vector_norm(x, 1, **k),
    "norm2": lambda x, **k: torch.linalg.vector_norm(x, 2, **k), "norm3": lambda x, **k: torch.linalg.vector_norm(x, 3, **k),
    "norm0": lambda x, **k: torch.linalg.vector_norm(x, 0, **k), "norminf": lambda x, **k: torch.linalg.vector_norm(x, float("inf"), **k),
    "nansum": lambda x, **k: x.nansum(**k), "any": lambda x, **k: x.any(**k), "all": lambda x, **k: x.all(**k),
    "logsumexp": lambda x, **k: x.logsumexp(**k),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    f = REDUCTIONS[name]
    for dtype in FLOATS:
        for x in layouts((37, 130), dtype, 3):
            if x.ndim < 2:
                continue
            for dim in (0, 1, (0, 1)):
                for keepdim in (False, True):
                    check(lambda x: f(x, dim=dim, keepdim=keepdim), x)
    x = torch.randn(5, 70, 6, 40)
    check(lambda x: f(x, dim=(0, 2)), x)
    check(lambda x: f(x, dim=(1, 3)), x)
    check(lambda x: f(x, dim=0), torch.randn(9000, 33))
    check(lambda x: f(x, dim=0), torch.randn(100000))
    check(lambda x: f(x, dim=1), torch.randn(3, 9000))


def test_reductions_of_integers():
    for dtype in INTEGERS:
        for x in layouts((37, 130), dtype, 4):
            if x.ndim < 2:
                continue
            for dim in (0, 1):
                check(lambda x: (x.sum(dim), x.prod(dim), x.any(dim), x.all(dim), torch.count_nonzero(x, dim), x.amax(dim)), x)
                if dtype is not torch.bool:
                    check(lambda x: (x.argmax(dim), x.argmin(dim)), x)
                check(lambda x: x.max(dim), x, fused=False)


def test_places_of_extremes():
    for dtype in FLOATS:
        x = torch.randint(1, 9, (37, 130)).to(dtype)
        x[3, 7] = x[3, 90] = float("nan")
        for dim in (0, 1):
            check(lambda x: (*x.max(dim), *x.min(dim), x.argmax(dim), x.argmin(dim, keepdim=True)), x)
        check(lambda x: (x.argmax(), x.argmin(), x.max(), x.min(), *torch.aminmax(x)), x)


def test_pointwise_around_reductions():
    x, y = torch.randn(64, 1000), torch.randn(64, 1000)
    c = check(lambda x, y: ((x - y) ** 2).mean(), x, y)
    assert "points" not in c.steps(x, y)
    check(lambda x: (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5), x)
    check(lambda x: x.softmax(-1).log().sum(-1).exp() * 2, x)
    check(lambda x: (x - x.amax(0, keepdim=True)).exp() / (x - x.amax(0, keepdim=True)).exp().sum(0, keepdim=True), x)


def norm_chain(x, w):
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w
    return torch.softmax(y, -1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 31, 64, 1000, 5000])
def test_norm_chain_is_one_kernel(dtype, n):
    x, w = torch.randn(70, n).to(dtype), torch.randn(n).to(dtype)
    c = check(norm_chain, x, w)
    assert c.steps(x, w).count("\n") == 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_norms(dtype):
    for x in layouts((33, 96), dtype, 5):
        if x.ndim < 2:
            continue
        for dim in (0, 1):
            check(lambda x: (x.softmax(dim), x.log_softmax(dim)), x)
        w, b = torch.randn(96).to(dtype), torch.randn(96).to(dtype)
        check(lambda x, w, b: (F.layer_norm(x, (96,), w, b), F.layer_norm(x, (96,), w), F.layer_norm(x, (96,))), x, w, b)
        check(lambda x, w: F.rms_norm(x, (96,), w), x, w)


def test_reads_by_an_index():
    w, i = torch.randn(50, 64), torch.randint(0, 50, (7, 9))
    assert "call" not in check(lambda w, i: F.embedding(i, w) * 2 + 1, w, i).steps(w, i)
    assert "call" not in check(lambda w, i: F.embedding(i, w).softmax(-1) * 2, w, i).steps(w, i)
    check(lambda w, i: F.embedding(i, w.t()).sum(-1), torch.randn(30, 50), i)
    check(lambda w, i: torch.index_select(w, 1, i) * 2, w, i[0])
    check(lambda w, i: torch.gather(w, 0, i) * 2 + 1, w, torch.randint(0, 50, (20, 30)))
    check(lambda w, i: torch.gather(w, 1, i).amax(1), w.half(), torch.randint(0, 64, (20, 30)))
    c = compile_graph(lambda w, i: F.embedding(i, w) * 2, (w, i))
    with pytest.raises(IndexError) as eager:
        F.embedding(i + 50, w)
    with pytest.raises(IndexError) as compiled:
        c(w, i + 50)
    assert str(eager.value) == str(compiled.value)


def test_calls_between_kernels():
    x, w = torch.randn(20, 30), torch.randn(30, 40)

    def f(x, w):
        h = torch.relu(x * 2) @ w
        return (h.sigmoid() * h).sum(1), h.t().contiguous() + 1
    c = check(f, x, w)
    assert "call mm" in c.steps(x, w)


def test_views_are_read_in_place():
    x = torch.randn(20, 30)
    c = check(lambda x: x.t() + 1, x)
    assert c.steps(x).count("\n") == 1
    check(lambda x: (x + 1).t() * 2, x)
    check(lambda x: (x.view(5, 4, 30)[1:3] * 2, x[:, 1::2].exp()), x)
    check(lambda x: x.t(), x)
    check(lambda x: (x, x + 1), x)


def test_inplace_on_fresh_values():
    check(lambda x: (x + 1).mul_(2).relu_(), torch.randn(30))


def test_what_cannot_be_followed_runs_as_it_is():
    x = torch.randn(3)
    assert compile_graph(lambda x: x * 2 if x.sum().item() > 0 else x, (x,))(x).shape == (3,)

    def f(x):
        x.add_(1)
        return x * 2
    want = f(x.clone())
    assert torch.equal(compile_graph(f, (x.clone(),))(x.clone()), want)


def test_gradients():
    x = torch.randn(30, requires_grad=True)
    c = compile_graph(lambda x: (x.sin() * 2).sum(), (x,))
    c(x).backward()
    assert torch.equal(x.grad, torch.cos(x.detach()) * 2)
    with torch.no_grad():
        assert not c(x).requires_grad


def test_errors_are_those_of_eager():
    a, zero = torch.ones(100, dtype=torch.int32), torch.zeros(100, dtype=torch.int32)
    c = compile_graph(lambda a, b: torch.div(a, b, rounding_mode="floor") + 1, (a, a))
    with pytest.raises(RuntimeError) as eager:
        torch.div(a, zero, rounding_mode="floor")
    with pytest.raises(RuntimeError) as compiled:
        c(a, zero)
    assert str(eager.value) == str(compiled.value)
    with pytest.raises(TypeError):
        c(a)
    with pytest.raises(TypeError):
        c(a, 3)
    with pytest.raises(RuntimeError):
        c(a, torch.ones(3, dtype=torch.int32))


def test_other_sizes_take_the_same_kernels():
    f = lambda x, y: (x * y).cos().sum(-1)  # noqa: E731
    c = compile_graph(f, (torch.randn(40, 64), torch.randn(40, 64)))
    c(torch.randn(40, 64), torch.randn(40, 64))
    before = torch._C._compile_statistics()
    for n in (64, 96, 128, 320):
        for m in (10, 20, 77):
            x, y = torch.randn(m, n), torch.randn(m, n)
            assert same(c(x, y), f(x, y))
    after = torch._C._compile_statistics()
    assert after["kernels"] + after["loaded"] == before["kernels"] + before["loaded"]


def test_threads_do_not_show():
    x = torch.randn(3, 200000)
    c = compile_graph(lambda x: ((x * 2).var(), x.softmax(1).sum(1)), (x,))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = c(x)
        torch.set_num_threads(4)
        four = c(x)
    finally:
        torch.set_num_threads(before)
    assert all(same(a, b) for a, b in zip(one, four))


POINTS = [torch.exp, torch.sin, torch.tanh, torch.sigmoid, torch.relu, torch.abs, torch.neg, torch.sqrt, torch.square, F.gelu, F.silu,
          torch.floor, torch.erf, torch.log1p, torch.rsqrt, torch.reciprocal, lambda x: x + 1, lambda x: 0.5 * x, lambda x: x.clamp(-1, 2)]
PAIRS = [torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, lambda a, b: torch.where(a > b, a, b), torch.atan2]
SUMS = [lambda x, d: x.sum(d, keepdim=True), lambda x, d: x.mean(d, keepdim=True), lambda x, d: x.amax(d, keepdim=True),
        lambda x, d: x.var(d, keepdim=True), lambda x, d: x.softmax(d), lambda x, d: x.log_softmax(d), lambda x, d: x.sum(d, keepdim=True).expand_as(x)]
VIEWS = [lambda x: x.t().contiguous().t(), lambda x: x.flip(0), lambda x: x.roll(1, 0), lambda x: x.t().clone().t() + 0]


def random_graph(seed):
    r = random.Random(seed)

    def f(*inputs):
        r.seed(seed)
        values = list(inputs)
        for _ in range(r.randint(2, 18)):
            kind = r.random()
            if kind < 0.45:
                values.append(r.choice(POINTS)(r.choice(values)))
            elif kind < 0.8:
                values.append(r.choice(PAIRS)(r.choice(values), r.choice(values)))
            elif kind < 0.95:
                values.append(r.choice(SUMS)(r.choice(values), r.choice((0, 1))))
            else:
                values.append(r.choice(VIEWS)(r.choice(values)))
        return tuple(r.sample(values[len(inputs):], r.randint(1, min(3, len(values) - len(inputs)))))
    return f


@pytest.mark.parametrize("batch", range(8))
def test_random_graphs(batch):
    for seed in range(batch * 25, batch * 25 + 25):
        r = random.Random(-seed)
        shape = r.choice([(5, 7), (33, 40), (64, 129), (200, 3)])
        dtype = r.choice(FLOATS)
        inputs = [r.choice(list(layouts(shape, dtype, seed + i))[:4]) for i in range(3)]
        try:
            check(random_graph(seed), *inputs)
        except AssertionError as e:
            raise AssertionError(f"seed {seed}: {e}") from e


SCRIPT = """
import torch
from torch._inductor import compile
x = torch.randn(100, generator=torch.Generator().manual_seed(0))
print(compile(lambda x: torch.tanh(x * 3).exp().sum(), (x,))(x).item())
s = torch._C._compile_statistics()
print(s["kernels"], s["loaded"])
"""


def in_process(directory, count=1):
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(directory)}
    running = [subprocess.Popen([sys.executable, "-c", SCRIPT], env=env, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    results = []
    for p in running:
        out, _ = p.communicate()
        assert p.returncode == 0
        value, counts = out.split("\n")[:2]
        results.append((value, *map(int, counts.split())))
    return results


def test_code_is_kept_on_disk(tmp_path):
    (value, made, loaded), = in_process(tmp_path)
    assert made > 0 and loaded == 0
    files = list((tmp_path / "kernels").iterdir())
    assert len(files) == made and all(f.suffix == ".o" for f in files)
    assert in_process(tmp_path) == [(value, 0, made)]
    # Damaged, cut short, or another's: made anew, and mended.
    for damage in (lambda b: b[:-9] + bytes([b[-9] ^ 1]) + b[-8:], lambda b: b[:40], lambda b: b"", lambda b: b[:8] + b"0" * 32 + b[40:]):
        f = files[0]
        f.write_bytes(damage(f.read_bytes()))
        assert in_process(tmp_path) == [(value, 1, made - 1)]
        assert in_process(tmp_path) == [(value, 0, made)]
    files[0].chmod(0o666)
    assert in_process(tmp_path) == [(value, 1, made - 1)]


def test_processes_share_a_cache(tmp_path):
    results = in_process(tmp_path, 4)
    assert len({r[0] for r in results}) == 1
    assert not [f for f in (tmp_path / "kernels").iterdir() if f.suffix != ".o"]


def test_a_plan_is_for_its_kind_of_memory():
    from torch.fx.experimental.proxy_tensor import make_fx

    def f(x):
        return x * 2 + 1
    z = torch.randn(5, dtype=torch.complex64)
    compiled = torch._inductor.compile(make_fx(f)(z.imag), [z.imag])
    assert torch.equal(compiled(z.imag), f(z.imag))
    assert torch.equal(compiled(z.conj().imag), f(z.conj().imag))  # the same strides, negated
    assert compiled(torch.empty(10, device="meta")[::2]).is_meta


def test_steps_of_code_that_runs_as_it_is():
    def reads(x, n):
        return x * n if x.sum().item() > 0 else x
    assert "as it is" in compile_graph(reads, [torch.ones(3), 2]).steps(torch.ones(3), 2)
    assert "as it is" not in compile_graph(lambda x, n: x * n + 1, [torch.ones(3), 2]).steps(torch.ones(3), 2)
