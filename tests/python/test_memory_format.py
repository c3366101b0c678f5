"""Layouts in memory: what to(memory_format=) copies, and the order of dimensions. Expected values are PyTorch's."""
import pytest
import torch

last, rows, same = torch.channels_last, torch.contiguous_format, torch.preserve_format


@pytest.mark.parametrize("make, strides", [
    # strides of to(channels_last), of to(contiguous_format); None: the tensor itself
    (lambda: torch.empty(4, 1, 3, 3), ((9, 1, 3, 1), None)),
    (lambda: torch.empty(4, 1, 3, 3).clone(memory_format=last), (None, (9, 9, 3, 1))),
    (lambda: torch.empty(4, 3, 1, 1), ((3, 1, 3, 3), None)),
    (lambda: torch.empty(4, 3, 1, 1).clone(memory_format=last), (None, (3, 1, 1, 1))),
    (lambda: torch.empty(1, 1, 1, 1), ((1, 1, 1, 1), None)),
    (lambda: torch.empty(2, 3, 4, 5)[:, :1], ((20, 1, 5, 1), None)),
    (lambda: torch.empty(2, 3, 4, 5).transpose(1, 2), ((60, 1, 20, 4), None)),
    (lambda: torch.empty(2, 3, 4, 5).clone(memory_format=last)[:, :2], (None, (40, 20, 5, 1))),
    (lambda: torch.empty(0, 3, 4, 5), ((60, 1, 15, 3), None)),
    (lambda: torch.empty(2, 4, 1, 5), ((20, 1, 20, 4), None)),
])
def test_to_a_format_is_the_tensor_itself_where_its_strides_suggest_that_format(make, strides):
    t = make()
    assert t.to(memory_format=same) is t
    for format, want in zip((last, rows), strides, strict=True):
        for got in (t.to(memory_format=format), t.to(torch.float32, memory_format=format), t.to("cpu", memory_format=format)):
            assert (got is t) == (want is None) and got.stride() == (want or t.stride())
        assert t.to(memory_format=format, copy=True) is not t


def test_modules_take_the_format():
    conv = torch.nn.Conv2d(1, 4, 3).to(memory_format=last)
    assert conv.weight.stride() == (9, 1, 3, 1)
    a = torch.ones(2, 3, 4, 5, requires_grad=True)
    a.to(memory_format=last).sum().backward()
    assert a.grad.stride() == (60, 20, 5, 1)
    with pytest.raises(RuntimeError, match=r"channels_last.*\[3\]"):
        torch.ones(3).to(memory_format=last)


@pytest.mark.parametrize("make, order, unique, within", [
    # the order, whether it is the only one, and which of [rows, last], [rows], [last] tell it
    (lambda: torch.empty(2, 3, 5, 7), (0, 1, 2, 3), True, (True, True, True)),
    (lambda: torch.empty(2, 3, 5, 7).to(memory_format=last), (0, 2, 3, 1), True, (True, True, True)),
    (lambda: torch.empty(()), (), True, (True, True, True)),
    (lambda: torch.empty(1), (0,), False, (True, True, False)),
    (lambda: torch.empty(2, 1), (0, 1), False, (True, True, False)),
    (lambda: torch.empty(1, 2, 3, 4), (0, 1, 2, 3), False, (True, True, False)),
    (lambda: torch.empty(1, 3, 5, 7).to(memory_format=last), (0, 2, 3, 1), False, (True, False, True)),
    (lambda: torch.empty(2, 1, 5, 7), (0, 1, 2, 3), False, (False, False, False)),
    (lambda: torch.empty(4, 1, 3, 3).to(memory_format=last), (0, 2, 3, 1), False, (False, False, False)),
    (lambda: torch.empty(2, 2).as_strided((2, 2), (1, 1)), (0, 1), False, (False, False, False)),
    (lambda: torch.empty(2, 3).expand(4, 2, 3), (0, 1, 2), False, (False, False, False)),
    (lambda: torch.empty(4, 6)[::2, ::3], (0, 1), True, (True, True, True)),
])
def test_order_of_dimensions(make, order, unique, within):
    t = make()
    assert t.dim_order() == t.dim_order(ambiguity_check=False) == order
    for asked, told in zip((True, [rows, last], [rows], [last]), (unique, *within), strict=True):
        if told:
            assert t.dim_order(ambiguity_check=asked) == order
        else:
            with pytest.raises(RuntimeError, match="several orders"):
                t.dim_order(ambiguity_check=asked)
    for wrong in ("x", 1, (rows,), [1]):
        with pytest.raises(TypeError, match="ambiguity_check"):
            t.dim_order(ambiguity_check=wrong)
