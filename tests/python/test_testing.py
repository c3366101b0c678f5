"""torch.testing: which things are close, what the errors say, the values that are made."""
import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch.testing import FileCheck, assert_close, make_tensor  # noqa: E402

ONE = torch.ones(2)


@pytest.mark.parametrize("a, b, kwargs", [
    (1, 1, {}), (1.0, 1.0 + 1e-9, {}), (None, None, {}), (True, True, {}), ([1, 2], (1, 2), {}),
    ({"a": ONE}, {"a": ONE.clone()}, {}), (ONE, ONE + 1e-6, {}), (ONE, ONE.double(),
                                                                 {"check_dtype": False}),
    (torch.tensor(float("nan")), torch.tensor(float("nan")), {"equal_nan": True}),
    (torch.ones(0), torch.ones(0), {}), (ONE, ONE * 1.05, {"rtol": 0.1, "atol": 0}),
    (torch.ones(2, 3), torch.ones(3, 2).t(), {}), (1j, 1j, {}),
    (ONE.bfloat16(), ONE.bfloat16() + 0.0078125, {}),
    (torch.tensor([float("inf")]), torch.tensor([float("inf")]), {}),
    (torch.empty(2, device="meta"), torch.empty(2, device="meta"), {})])
def test_close(a, b, kwargs):
    assert_close(a, b, **kwargs)


@pytest.mark.parametrize("a, b, kwargs, kind", [
    (1, 2, {}, AssertionError), (1, 1.0, {}, AssertionError), (True, False, {}, AssertionError),
    ("a", "a", {}, TypeError), ([1], [1, 2], {}, AssertionError),
    ({"a": 1}, {"b": 1}, {}, AssertionError), (ONE, torch.ones(3), {}, AssertionError),
    (ONE, ONE.double(), {}, AssertionError), (ONE, 1.0, {}, TypeError),
    (ONE, ONE + 1e-4, {}, AssertionError), (ONE.long(), ONE.long() * 2, {}, AssertionError),
    (torch.tensor(float("nan")), torch.tensor(float("nan")), {}, AssertionError),
    (torch.ones(2, 3), torch.ones(3, 2).t(), {"check_stride": True}, AssertionError),
    (torch.tensor([float("inf")]), torch.tensor([1.0]), {}, AssertionError),
    (ONE, ONE, {"rtol": 1}, ValueError), (object(), object(), {}, TypeError)])
def test_not_close(a, b, kwargs, kind):
    with pytest.raises(kind):
        assert_close(a, b, **kwargs)


def test_the_error_says_how_many_and_where():
    a = torch.arange(6.0).reshape(2, 3)
    with pytest.raises(AssertionError) as info:
        assert_close({"x": [a, a]}, {"x": [a, a + torch.tensor([0.0, 0.5, 0.0])]})
    text = str(info.value)
    assert "2 of 6 elements differ (33.3%)" in text and "['x'][1]" in text
    assert "absolute difference: 0.5 at index (0, 1)" in text
    with pytest.raises(AssertionError, match="^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match="^mine: .*1 and 2"):
        assert_close(1, 2, msg=lambda text: f"mine: {text}")


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "int8", "uint8", "int64",
                                  "bool", "complex64"])
def test_make_tensor(name):
    dtype = getattr(torch, name)
    torch.manual_seed(1)
    t = make_tensor(4, 5, dtype=dtype, device="cpu")
    assert t.dtype == dtype and t.shape == (4, 5) and t.is_contiguous()
    n = make_tensor((4, 5), dtype=dtype, device="cpu", noncontiguous=True)
    assert n.shape == (4, 5) and not n.is_contiguous()
    assert bool((make_tensor(50, dtype=dtype, device="cpu", exclude_zero=True) != 0).all())
    if name != "bool":
        low = make_tensor(100, dtype=dtype, device="cpu", low=2, high=4)
        real = torch.view_as_real(low) if dtype.is_complex else low
        assert float(real.min()) >= 2 and float(real.max()) <= 4
    with pytest.raises(ValueError):
        make_tensor(2, dtype=dtype, device="cpu", low=5, high=1)


def test_make_tensor_draws_as_the_reference_does():
    torch.manual_seed(1)
    t = make_tensor(5, dtype=torch.float32, device="cpu")
    assert t.tolist() == pytest.approx([4.6374, -3.9724, -1.7448, 4.2243, -8.4729], abs=5e-5)
    torch.manual_seed(1)
    t = make_tensor(2, dtype=torch.float32, device="cpu", noncontiguous=True)
    assert t.tolist() == pytest.approx([-3.9724, 4.2243], abs=5e-5)


def test_file_check():
    text = "one two\nthree\ntwo two\nfour"
    FileCheck().check("one").check_same("two").check_next("three").check_count("two", 2, True) \
        .check_not("five").check("four").run(text)
    FileCheck().check_dag("three").check_dag("one").check("four").run(text)
    for bad in (FileCheck().check("six"), FileCheck().check("one").check_next("four"),
                FileCheck().check("one").check_not("three").check("four"),
                FileCheck().check_count("two", 2, True)):
        with pytest.raises(RuntimeError):
            bad.run(text)
