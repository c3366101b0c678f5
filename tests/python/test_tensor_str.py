"""The text of tensors: expected texts are those of the reference."""
import re

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("make, text", [
    (lambda: torch.tensor(1.0), "tensor(1.)"),
    (lambda: torch.tensor(1.5), "tensor(1.5000)"),
    (lambda: torch.tensor(3), "tensor(3)"),
    (lambda: torch.tensor(True), "tensor(True)"),
    (lambda: torch.tensor(1e10), "tensor(1.0000e+10)"),
    (lambda: torch.tensor(NAN), "tensor(nan)"),
    (lambda: torch.tensor([INF, 1.0]), "tensor([inf, 1.])"),
    (lambda: torch.tensor([2.0, 0.0, -0.0]), "tensor([2., 0., -0.])"),
    (lambda: torch.tensor([1.5, -2.0]), "tensor([ 1.5000, -2.0000])"),
    (lambda: torch.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.tensor([1, -20, 3]), "tensor([  1, -20,   3])"),
    (lambda: torch.tensor([1 + 2j, 0.5j]), "tensor([1.+2.0000j, 0.+0.5000j])"),
    (lambda: torch.ones(2, dtype=torch.complex64), "tensor([1.+0.j, 1.+0.j])"),
    (lambda: torch.ones(2, dtype=torch.float64), "tensor([1., 1.], dtype=torch.float64)"),
    (lambda: torch.tensor(1.5, dtype=torch.bfloat16), "tensor(1.5000, dtype=torch.bfloat16)"),
    (lambda: torch.empty(0), "tensor([])"),
    (lambda: torch.empty(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.empty(0, dtype=torch.int64), "tensor([], dtype=torch.int64)"),
    (lambda: torch.ones(2, requires_grad=True), "tensor([1., 1.], requires_grad=True)"),
    (lambda: torch.ones(2, requires_grad=True) * 2, "tensor([2., 2.], grad_fn=<MulBackward0>)"),
    (lambda: torch.empty(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
    (lambda: torch.arange(24).reshape(2, 3, 4), "tensor([[[ 0,  1,  2,  3],\n"
     "         [ 4,  5,  6,  7],\n         [ 8,  9, 10, 11]],\n\n        [[12, 13, 14, 15],\n"
     "         [16, 17, 18, 19],\n         [20, 21, 22, 23]]])"),
    (lambda: torch.arange(2000).reshape(2, 1000),
     "tensor([[   0,    1,    2,  ...,  997,  998,  999],\n"
     "        [1000, 1001, 1002,  ..., 1997, 1998, 1999]])"),
    (lambda: torch.zeros(30),
     "tensor([" + ", ".join(["0."] * 24) + ",\n        " + ", ".join(["0."] * 6) + "])"),
])
def test_text(make, text):
    assert repr(make()) == text


def test_options():
    with torch._tensor_str.printoptions(precision=2, linewidth=14):
        assert repr(torch.tensor([0.125, 1.0])) == "tensor([0.12,\n        1.00])"
    with torch._tensor_str.printoptions(threshold=2, edgeitems=1):
        assert repr(torch.arange(5)) == "tensor([0,  ..., 4])"
    with torch._tensor_str.printoptions(sci_mode=True):
        assert repr(torch.tensor(1.5)) == "tensor(1.5000e+00)"
    assert torch._tensor_str.get_printoptions() == {
        "precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    with pytest.raises(ValueError, match="profile"):
        torch.set_printoptions(profile="loud")


def test_subclass_and_parameter():
    class Mine(torch.Tensor):
        pass

    assert repr(torch.tensor([1.0]).as_subclass(Mine)) == "Mine([1.])"
    assert repr(torch.nn.Parameter(torch.ones(1))) == \
        "Parameter containing:\ntensor([1.], requires_grad=True)"
    assert f"{torch.tensor(1.5):.3f}" == "1.500"


def test_nodes_print_their_name_alone():
    y = torch.ones(2, requires_grad=True) * 2
    assert re.fullmatch(r"<MulBackward0 object at 0x[0-9a-f]+>", repr(y.grad_fn))
    assert repr(type(y.grad_fn)) == "<class 'MulBackward0'>" and type(y.grad_fn).__name__ == "MulBackward0"


def test_named_tuples_have_a_line_for_each_field():
    result = torch.tensor([[1.0, 3.0], [4.0, 2.0]]).max(dim=1)
    assert repr(result) == str(result) == "torch.return_types.max(\nvalues=tensor([3., 4.]),\nindices=tensor([1, 0]))"
    assert type(result).__name__ == "max" and result.values is result[0]
