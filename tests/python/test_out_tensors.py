"""out=: the types that it may have, the memory that it may share, and the version that a write leaves."""
import warnings

import pytest
import torch

x = torch.arange(12.0).reshape(3, 4)
places = torch.zeros(3, 4, dtype=torch.long)
first = torch.tensor([0, 1])

# The call, the type of its result, and whether out may be a tensor that is read.
EXACT = {
    "gather": (lambda a, out: torch.gather(a, 1, places, out=out), torch.float32),
    "index_select": (lambda a, out: torch.index_select(a, 0, first, out=out), torch.float32),
    "masked_select": (lambda a, out: torch.masked_select(a, a > 3, out=out), torch.float32),
    "take": (lambda a, out: torch.take(a, first, out=out), torch.float32),
    "argmax": (lambda a, out: torch.argmax(a, 1, out=out), torch.int64),
    "multinomial": (lambda a, out: torch.multinomial(a + 1, 2, out=out), torch.int64),
    "complex": (lambda a, out: torch.complex(a, a, out=out), torch.complex64),
    "polar": (lambda a, out: torch.polar(a, a, out=out), torch.complex64),
    "mm": (lambda a, out: torch.mm(a, a.t(), out=out), torch.float32),
    "matmul": (lambda a, out: torch.matmul(a, a.t(), out=out), torch.float32),
    "scatter_add": (lambda a, out: torch.scatter_add(a, 1, places, a, out=out), torch.float32),
    "searchsorted": (lambda a, out: torch.searchsorted(a[0], a, out=out), torch.int64),
    "nonzero": (lambda a, out: torch.nonzero(a, out=out), torch.int64),
    "amax": (lambda a, out: torch.amax(a, 1, out=out), torch.float32),
    "softmax": (lambda a, out: torch.softmax(a, 1, out=out), torch.float32),
}
WIDER = {torch.float32: torch.float64, torch.int64: torch.float32, torch.complex64: torch.complex128}


@pytest.mark.parametrize("name", EXACT)
def test_type_is_the_results_own(name):
    call, dtype = EXACT[name]
    torch.manual_seed(0)
    want = call(x, None)
    torch.manual_seed(0)
    assert torch.equal(call(x, torch.empty(0, dtype=dtype)), want)
    with pytest.raises(RuntimeError, match=name):
        call(x, torch.empty(0, dtype=WIDER[dtype]))


@pytest.mark.parametrize("call", [
    lambda o: torch.add(x, x, out=o), lambda o: torch.cat([x, x], out=o), lambda o: torch.cumsum(x, 1, out=o), lambda o: torch.sum(x, 1, out=o),
    lambda o: torch.mean(x, 1, out=o), lambda o: torch.std(x, 1, out=o), lambda o: torch.logsumexp(x, 1, out=o), lambda o: torch.ones(3, out=o),
])
def test_converted(call):
    assert torch.equal(call(torch.empty(0, dtype=torch.float64)), call(torch.empty(0)).double())


@pytest.mark.parametrize("call", [
    lambda o: torch.cat([x, x], out=o), lambda o: torch.stack([x, x], out=o), lambda o: torch.hstack([x, x], out=o), lambda o: torch.vstack([x, x], out=o),
    lambda o: torch.dstack([x, x], out=o), lambda o: torch.column_stack([x, x], out=o), lambda o: torch.concat([x, x], out=o),
])
def test_joined_into_a_type_that_cannot_take_it(call):
    for dtype in (torch.int64, torch.bool):
        with pytest.raises(TypeError, match="float32"):
            call(torch.empty(0, dtype=dtype))
    for dtype in (torch.float64, torch.complex64, torch.float16):
        assert torch.equal(call(torch.empty(0, dtype=dtype)), call(None).to(dtype))


OWN_TYPE = ["abs", "neg", "sign", "sgn", "floor", "ceil", "trunc", "round", "frac", "relu", "nan_to_num", "conj_physical", "gelu", "silu", "mish", "elu", "celu", "hardtanh",
            "hardswish", "hardsigmoid", "leaky_relu", "log_sigmoid", "softplus", "softshrink", "hardshrink", "isposinf", "isneginf", "signbit"]


@pytest.mark.parametrize("name", OWN_TYPE)
def test_pointwise_of_the_results_own_type(name):
    a = torch.tensor([-1.5, 0.25, 2.0])
    op = getattr(torch.ops.aten, name)
    want = op(a)
    assert torch.equal(op(a, out=torch.empty(3, dtype=want.dtype)), want)
    for other in (torch.float64, torch.float16, torch.int64, torch.complex64):
        with pytest.raises(RuntimeError, match="not converted"):
            op(a, out=torch.empty(3, dtype=other))


def test_pointwise_by_several_operands():
    a, mask = torch.tensor([-1.5, 0.25, 2.0]), torch.tensor([True, False, True])
    wide = torch.empty(3, dtype=torch.float64)
    for call in (lambda o: torch.clamp(a, 0, 1, out=o), lambda o: torch.clamp_min(a, 0, out=o), lambda o: torch.clamp_max(a, 0, out=o), lambda o: torch.where(mask, a, a, out=o),
                 lambda o: torch.heaviside(a, a, out=o)):
        assert torch.equal(call(torch.empty(3)), call(torch.empty(0)))
        with pytest.raises(RuntimeError, match="not converted"):
            call(wide)
    for call in (lambda o: torch.clamp(a, a, a, out=o), lambda o: torch.maximum(a, a, out=o), lambda o: torch.sin(a, out=o), lambda o: torch.threshold(a, 0, 1, out=o),
                 lambda o: torch.logical_not(a, out=o), lambda o: torch.lt(a, 1, out=o), lambda o: torch.angle(a, out=o), lambda o: torch.pow(a, 2, out=o)):
        assert call(wide) is wide and torch.equal(wide, call(torch.empty(0, dtype=call(torch.empty(3)).dtype)).double())
    c = torch.tensor([3 + 4j])
    assert torch.abs(c, out=torch.empty(1, dtype=torch.complex64)).item() == 5 and torch.abs(c, out=torch.empty(1, dtype=torch.float64)).item() == 5


@pytest.mark.parametrize("call", [
    lambda o: torch.index_select(x, 0, torch.tensor([0, 1, 2])[: x.shape[0]], out=o), lambda o: torch.gather(x, 0, torch.zeros(x.shape, dtype=torch.long), out=o),
    lambda o: torch.cat([x], out=o), lambda o: torch.sin(x, out=o), lambda o: torch.cumsum(x, 0, out=o), lambda o: torch.index_add(x, 0, torch.tensor([0]), x[:1], out=o),
    lambda o: o.copy_(x), lambda o: o.add_(1), lambda o: o.uniform_(), lambda o: o.cumsum_(0),
])
def test_one_element_that_stands_in_many_places_is_not_written(call):
    with pytest.raises(RuntimeError):
        call(torch.zeros(x.shape[-1]).expand(x.shape))


@pytest.mark.parametrize("call", [lambda o: torch.index_select(x, 1, torch.tensor([0, 1]), out=o), lambda o: torch.take(x, torch.tensor([0, 1]), out=o)])
def test_one_element_in_many_places_of_another_shape(call):
    with pytest.raises(RuntimeError, match="one place in memory"):
        call(torch.zeros(6).expand(2, 6))


def test_polygamma_of_integers_is_not_written_in_place():
    for of in (torch.int64, torch.uint8, torch.bool):
        a = torch.ones(3, dtype=of)
        with pytest.raises(RuntimeError, match="polygamma_.*shape"):
            a.polygamma_(1)
        assert torch.equal(a, torch.ones(3, dtype=of))


CUBE = torch.arange(1.0, 25.0).view(2, 3, 4)
REPEATED = {  # a call, what it writes to, and what PyTorch leaves there: a reduction takes in all that comes to one place
    "sum": (lambda o: torch.sum(CUBE, 1, out=o), torch.zeros(1, 4).expand(2, 4), [[66.0, 72, 78, 84]] * 2),
    "sum, kept": (lambda o: torch.sum(CUBE, 1, True, out=o), torch.zeros(1, 1, 4).expand(2, 1, 4), [[[66.0, 72, 78, 84]]] * 2),
    "sum, converted": (lambda o: torch.sum(CUBE, 1, out=o), torch.zeros(1, 4, dtype=torch.float64).expand(2, 4), [[66.0, 72, 78, 84]] * 2),
    "amax": (lambda o: torch.amax(CUBE, (0,), out=o), torch.zeros(3, 1).expand(3, 4), [[16.0] * 4, [20.0] * 4, [24.0] * 4]),
    "amin": (lambda o: torch.amin(CUBE, (0,), out=o), torch.zeros(1, 1).expand(3, 4), [[1.0] * 4] * 3),
    "prod": (lambda o: torch.prod(CUBE, 2, out=o), torch.zeros(2, 1).expand(2, 3), [[479001600.0] * 3, [1295295027609600.0] * 3]),
    "norm": (lambda o: torch.norm(CUBE, 1, 2, out=o), torch.zeros(2, 1).expand(2, 3), [[78.0] * 3, [222.0] * 3]),
    "norm of order 0": (lambda o: torch.norm(CUBE, 0, 2, out=o), torch.zeros(2, 1).expand(2, 3), [[12.0] * 3] * 2),
    "std": (lambda o: torch.std(CUBE, 2, out=o), torch.zeros(2, 1).expand(2, 3), [[13 ** 0.5] * 3] * 2),
    "var": (lambda o: torch.var(CUBE, 2, False, out=o), torch.zeros(2, 1).expand(2, 3), [[143 / 12] * 3] * 2),
    "all": (lambda o: torch.all(CUBE > 1, 2, out=o), torch.zeros(1, 3, dtype=torch.bool).expand(2, 3), [[False, True, True]] * 2),
    "any": (lambda o: torch.any(CUBE > 20, 2, out=o), torch.zeros(1, 3, dtype=torch.bool).expand(2, 3), [[False, False, True]] * 2),
    "tril": (lambda o: torch.tril(CUBE[:, :, 0], out=o), torch.zeros(3).expand(2, 3), [[13.0, 17, 0]] * 2),
    "bmm": (lambda o: torch.bmm(CUBE, CUBE.mT, out=o), torch.zeros(3, 1).expand(2, 3, 3), [[[1310.0] * 3, [1670.0] * 3, [2030.0] * 3]] * 2),
    "mv": (lambda o: torch.mv(CUBE[0], CUBE[0, 0], out=o), torch.zeros(1).expand(3), [110.0] * 3),
    "zeros": (lambda o: torch.zeros(2, 3, out=o), torch.ones(3).expand(2, 3), [[0.0] * 3] * 2),
    "full": (lambda o: torch.full((2, 3), 5.0, out=o), torch.ones(3).expand(2, 3), [[5.0] * 3] * 2),
    # What stays of eye(), randperm() and histc() is what writing in place leaves: ones, the last of 0 .. n - 1, all counts.
    "eye": (lambda o: torch.eye(3, out=o), torch.zeros(3).expand(3, 3), [[1.0] * 3] * 3),
    "eye, wide": (lambda o: torch.eye(2, 4, out=o), torch.zeros(4).expand(2, 4), [[1.0, 1, 0, 0]] * 2),
    "eye, high": (lambda o: torch.eye(4, 2, out=o), torch.zeros(4, 1).expand(4, 2), [[1.0] * 2, [1.0] * 2, [0.0] * 2, [0.0] * 2]),
    "randperm": (lambda o: torch.randperm(5, out=o), torch.zeros(1, dtype=torch.long).expand(5), [4] * 5),
    "histc": (lambda o: torch.histc(CUBE, 4, out=o), torch.zeros(1).expand(4), [24.0] * 4),
    # An index counts through all that is reduced.
    "argmax": (lambda o: torch.argmax(CUBE, 2, out=o), torch.zeros(1, 3, dtype=torch.long).expand(2, 3), [[7, 7, 7]] * 2),
    "argmax, columns": (lambda o: torch.argmax(CUBE, 2, out=o), torch.zeros(2, 1, dtype=torch.long).expand(2, 3), [[11] * 3] * 2),
    "argmax of the first": (lambda o: torch.argmax(CUBE, 0, out=o), torch.zeros(3, 1, dtype=torch.long).expand(3, 4), [[7] * 4] * 3),
    "argmin, kept": (lambda o: torch.argmin(-CUBE, 1, True, out=o), torch.zeros(1, 1, 4, dtype=torch.long).expand(2, 1, 4), [[[5] * 4]] * 2),
    "threshold": (lambda o: torch.threshold(CUBE[0], 5, 0, out=o), torch.zeros(4).expand(3, 4), [[9.0, 10, 11, 12]] * 3),
    "threshold, columns": (lambda o: torch.threshold(CUBE[0], 5, 0, out=o), torch.zeros(3, 1).expand(3, 4), [[0.0] * 4, [8.0] * 4, [12.0] * 4]),
    "cummax": (lambda o: torch.cummax(-CUBE[0], 1, out=(o, torch.empty(3, 4, dtype=torch.long)))[0], torch.zeros(4).expand(3, 4), [[-9.0] * 4] * 3),
    "cummin": (lambda o: torch.cummin(-CUBE[0], 1, out=(o, torch.empty(3, 4, dtype=torch.long)))[0], torch.zeros(3, 1).expand(3, 4), [[-4.0] * 4, [-8.0] * 4, [-12.0] * 4]),
}


@pytest.mark.parametrize("name", REPEATED)
def test_one_element_in_many_places_of_out(name):
    call, out, want = REPEATED[name]
    out = out._base.clone().expand(out.shape)
    assert call(out) is out
    torch.testing.assert_close(out, torch.tensor(want, dtype=out.dtype))


I, ROW = torch.tensor, [1.0, 2.0, 3.0]
REPEATED_IN_PLACE = {
    "threshold_": (lambda o: torch.threshold_(o, 1, 9), [9.0, 2, 3], False),
    "tril_": (lambda o: o.tril_(), [1.0, 0, 0], False), "triu_": (lambda o: o.triu_(), [0.0, 2, 3], False), "fill_": (lambda o: o.fill_(2), [2.0] * 3, False),
    "masked_fill_": (lambda o: o.masked_fill_(I([[True, False, False], [False, False, True]]), 5), [5.0, 2, 5], True),
    "index_fill_": (lambda o: o.index_fill_(1, I([1]), 5), [1.0, 5, 3], True),
    "index_put_": (lambda o: o.index_put_((I([0, 1]),), I([[9.0, 2, 3], [1, 8, 3]])), [1.0, 8, 3], True),
    "index_put_ of elements": (lambda o: o.index_put_((I([0, 1]), I([0, 2])), I([9.0, 7])), [9.0, 2, 7], True),
    "index_put_ by a mask": (lambda o: o.index_put_((I([[True, False, False], [False, False, True]]),), I([9.0, 7])), [9.0, 2, 7], True),
    "index_put_ that adds": (lambda o: o.index_put_((I([0, 1, 1]),), I(10.0), accumulate=True), [31.0, 32, 33], True),
    "subscript": (lambda o: o.__setitem__([0], 5), [5.0] * 3, True),
}


@pytest.mark.parametrize("name", REPEATED_IN_PLACE)
def test_one_element_in_many_places_of_self(name):
    call, want, said = REPEATED_IN_PLACE[name]
    o = torch.tensor(ROW).expand(2, 3)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(o)
    assert o.tolist() == [want] * 2 and any("share an element" in str(w.message) for w in seen) == said


@pytest.mark.parametrize("i", [0, 1])
def test_two_results(i):
    for call in (lambda o: torch.topk(x, 2, out=o), lambda o: torch.sort(x, 1, out=o), lambda o: torch.max(x, 1, out=o), lambda o: torch.cummax(x, 1, out=o)):
        out = [torch.empty(0), torch.empty(0, dtype=torch.long)]
        assert torch.equal(call(tuple(out))[0], call(None)[0])
        out = [torch.empty(0), torch.empty(0, dtype=torch.long)]
        out[i] = torch.empty(0, dtype=torch.float64)
        with pytest.raises(RuntimeError):
            call(tuple(out))
        shared = torch.empty(12)
        with pytest.raises(RuntimeError):
            call((shared, shared))


@pytest.mark.parametrize("call", [
    lambda a, o: torch.gather(a, 1, places, out=o), lambda a, o: torch.scatter(a, 1, places, a, out=o),
    lambda a, o: torch.index_add(a, 0, first, a[:2], out=o), lambda a, o: torch.index_copy(a, 0, first, a[:2], out=o),
    lambda a, o: torch.take(a, places, out=o), lambda a, o: torch.kthvalue(a, 1, 0, True, out=(o, torch.empty(0, dtype=torch.long))),
])
def test_out_apart_from_what_is_read(call):
    a = x.clone()
    with pytest.raises(RuntimeError, match="memory"):
        call(a, a)
    assert torch.equal(a, x)


@pytest.mark.parametrize("call", [
    lambda a, o: torch.cumsum(a, 1, out=o), lambda a, o: torch.cumprod(a, 1, out=o), lambda a, o: torch.renorm(a, 2, 0, 1.0, out=o),
    lambda a, o: torch.sort(a, 1, out=(o, torch.empty(3, 4, dtype=torch.long)))[0],
])
def test_out_is_what_is_read_or_apart(call):
    memory = torch.arange(16.0)
    with pytest.raises(RuntimeError, match="memory"):
        call(memory[:12].reshape(3, 4), memory[2:14].reshape(3, 4))
    a = x.clone()
    want = call(a, torch.empty(3, 4))
    assert torch.equal(call(a, a), want)


@pytest.mark.parametrize("write", [
    lambda a: torch.zeros(2, out=a), lambda a: torch.full((2,), 1.0, out=a), lambda a: torch.arange(2, out=a), lambda a: torch.rand(2, out=a),
    lambda a: torch.cat([torch.ones(2)], out=a), lambda a: torch.cumsum(torch.ones(2), 0, out=a), lambda a: torch.add(a, 1, out=a),
    lambda a: a.fill_(1), lambda a: a.cumsum_(0), lambda a: a.scatter_(0, torch.tensor([0]), 1), lambda a: a.uniform_(),
    lambda a: a.__setitem__(a > 0, 1), lambda a: a.__setitem__([0], 1), lambda a: a.index_put_((torch.tensor([0]),), torch.tensor(1.0)),
])
def test_one_write_counts_once(write):
    a = torch.zeros(2)
    before = a._version
    write(a)
    assert a._version == before + 1


def test_version_of_new_memory():
    a, b = torch.zeros(2), torch.zeros(2).add_(1).add_(1)
    a.set_(b)
    assert b._version >= 2 and a._version == b._version


def test_losses_reduce_when_they_are_told_to():
    p, t = torch.tensor([0.2, 0.7]), torch.tensor([0.0, 1.0])
    for f in (torch.kl_div, torch.binary_cross_entropy_with_logits, torch._C._nn.mse_loss, torch._C._nn.l1_loss, torch._C._nn.smooth_l1_loss):
        assert f(p, t).shape == (2,) and f(p, t, reduction=1).shape == ()
    assert torch.ops.aten.mse_loss(p, t).shape == () and torch.nn.functional.mse_loss(p, t).shape == ()
    assert torch.hinge_embedding_loss(p, t).shape == (2,)


LAID = {
    "add": lambda a, out: torch.add(a, a, out=out),
    "exp": lambda a, out: torch.exp(a, out=out),
    "where": lambda a, out: torch.where(a > 1, a, -a, out=out),
}


@pytest.mark.parametrize("name", LAID)
def test_an_out_that_is_resized_is_laid_out_as_a_fresh_result(name):
    call = LAID[name]
    for a in (x.t(), torch.arange(120.0).view(2, 3, 4, 5).to(memory_format=torch.channels_last), x[:, ::2].t()):
        out = torch.empty(0)
        call(a, out)
        assert out.shape == a.shape and torch.equal(out, call(a, None))
        assert out.stride() == call(a, None).stride()
    kept = torch.zeros(4, 3)  # of the right shape: stays as it lies
    assert call(x.t(), kept).stride() == (3, 1)


def test_named_results_in_given_tensors_have_a_type_of_their_own():
    m = torch.ones(2, 2)
    for name, f in (("max", lambda **k: torch.max(m, 0, **k)), ("sort", lambda **k: torch.sort(m, **k)), ("topk", lambda **k: m.topk(1, **k) if not k else torch.topk(m, 1, **k)),
                    ("cummin", lambda **k: torch.cummin(m, 0, **k))):
        assert type(f()).__name__ == name
        r = f(out=(torch.empty(0), torch.empty(0, dtype=torch.int64)))
        assert type(r) is getattr(torch.return_types, name + "_out") and repr(r).startswith(f"torch.return_types.{name}_out(")
        assert all(torch.equal(a, b) for a, b in zip(r, f()))
