"""Arguments that do not go together, given to operators that users seldom call themselves: an error each, and never a
read or write beyond a tensor, nor a result made of wrong numbers."""
import pytest
import torch

A = torch.ops.aten
ones = torch.ones


def _group_backward(mean, n, c, hw, groups, mask=(True, True, True), weight=6):
    x = ones(2, 6, 4)
    return A.native_group_norm_backward(x, x, ones(mean), ones(mean), ones(weight), n, c, hw, groups, list(mask))


@pytest.mark.parametrize("args", [
    ((2, 2), 2, 6, 4, 3), ((2, 3), 2, 6, 40, 3), ((2, 3), 2, 6, 4, 0), ((2, 3), 200, 6, 4, 3), ((2, 3), -2, 6, -4, 3),
    ((2, 3), 2, 6, 4, 4), ((2, 3), 2, 6, 4, 3, (True, True)), ((2, 3), 2, 6, 4, 3, (True,) * 3, 5),
])
def test_group_norm_backward(args):
    with pytest.raises(RuntimeError):
        _group_backward(*args)


def test_group_norm_sizes_that_overflow():
    with pytest.raises(RuntimeError, match="group_norm"):
        A.native_group_norm(ones(0, 6, 4), None, None, 1 << 32, 1 << 32, 1, 1, 1e-5)


@pytest.mark.parametrize("shape, mean, weight, mask", [
    ([4], (1,), 4, [True] * 3), ([4], (2, 1), 2, [True] * 3), ([4], (2, 1), 4, [True] * 2), ([2], (2, 1), 2, [True] * 3),
])
def test_layer_norm_backward(shape, mean, weight, mask):
    x = ones(2, 4)
    with pytest.raises(RuntimeError):
        A.native_layer_norm_backward(x, x, shape, ones(mean), ones(mean), ones(weight), ones(4), mask)


@pytest.mark.parametrize("grad, x, weight, stride, groups, bias", [
    (ones(1, 2, 3, 3), ones(1, 1, 4, 4), ones(2, 1, 3, 3), [1, 1], 1, [2]),
    (ones(1, 3, 2, 2), ones(1, 1, 4, 4), ones(2, 1, 3, 3), [1, 1], 1, [2]),
    (ones(1, 2, 2, 2), ones(1, 1, 4, 4), ones(2, 1, 3, 3), [1, 1], 0, [2]),
    (ones(1, 2, 2, 2), ones(1, 1, 4, 4), ones(2, 1, 3, 3), [0, 1], 1, [2]),
    (ones(1, 2, 2, 2), ones(1, 1, 4), ones(2, 1, 3, 3), [1, 1], 1, [2]),
    (ones(1, 2, 2, 2).half(), ones(1, 1, 4, 4), ones(2, 1, 3, 3), [1, 1], 1, [2]),
    (ones(1, 2, 2, 2), ones(1, 1, 4, 4), ones(2, 1, 3, 3).half(), [1, 1], 1, [2]),
    (ones(1, 2, 2, 2), ones(1, 1, 4, 4), ones(2, 1, 3, 3), [1, 1], 1, [9]),
])
def test_convolution_backward(grad, x, weight, stride, groups, bias):
    with pytest.raises(RuntimeError):
        A.convolution_backward(grad, x, weight, bias, stride, [0, 0], [1, 1], False, [0, 0], groups, [True] * 3)


@pytest.mark.parametrize("call", [
    lambda big: torch.nn.functional.conv1d(ones(1, 1, 9), ones(1, 1, 5), stride=big),
    lambda big: torch.nn.functional.conv2d(ones(1, 1, 9, 9), ones(1, 1, 5, 5), dilation=big),
    lambda big: torch.nn.functional.conv2d(ones(1, 1, 9, 9), ones(1, 1, 5, 5), padding=big),
    lambda big: torch.nn.functional.conv_transpose2d(ones(1, 1, 5, 5), ones(1, 1, 5, 5), dilation=big),
    lambda big: torch.nn.functional.conv_transpose2d(ones(1, 1, 5, 5), ones(1, 1, 2, 2), stride=big),
    lambda big: torch.nn.functional.max_pool1d(ones(1, 1, 9), 5, 2, 0, big),
    lambda big: torch.nn.functional.max_pool2d(ones(1, 1, 9, 9), 5, 2, 0, big),
    lambda big: torch.nn.functional.max_pool3d(ones(1, 1, 9, 9, 9), 5, big),
    lambda big: torch.nn.functional.avg_pool2d(ones(1, 1, 9, 9), 5, big, 0, True),
])
@pytest.mark.parametrize("big", [1 << 62, (1 << 63) - 1])
def test_windows_beyond_64_bits(call, big):
    with pytest.raises(RuntimeError):
        call(big)


def _nll_backward(grad=None, target=(0, 1, 2), weight=None, reduction=1, total=None):
    return A.nll_loss_backward(ones(()) if grad is None else grad, ones(3, 4), torch.tensor(target), weight, reduction, -100,
                               torch.tensor(3.0) if total is None else total)


@pytest.mark.parametrize("args", [
    dict(grad=ones(2), reduction=0), dict(target=(0, 1)), dict(weight=ones(2)), dict(total=ones(0)),
    dict(grad=ones(3).half(), reduction=0), dict(grad=ones(3).double(), reduction=0), dict(total=ones(()).double()),
])
def test_nll_loss_backward(args):
    with pytest.raises(RuntimeError):
        _nll_backward(**args)


def test_nll_loss2d_backward():
    with pytest.raises(RuntimeError):
        A.nll_loss2d_backward(ones(2, 2, 2), ones(2, 4, 3, 3), torch.ones(2, 3, 3, dtype=torch.long), None, 0, -100, torch.tensor(3.0))


def test_ctc_loss_types():
    probs, states = torch.zeros(5, 1, 3), ones(1, 5, 5)
    for targets in (torch.tensor([[1.0, 2.0]]), torch.tensor([[1, 2]], dtype=torch.int8)):
        with pytest.raises(RuntimeError, match="targets"):
            A._ctc_loss(probs, targets, [5], [2], 0, False)
    for grad, nll in ((ones(1).double(), ones(1)), (ones(1), ones(1).double())):
        with pytest.raises(RuntimeError, match="_ctc_loss_backward"):
            A._ctc_loss_backward(grad, probs, torch.tensor([[1, 2]]), [5], [2], nll, states, 0, False)


I8 = torch.ones(2, dtype=torch.int8)


@pytest.mark.parametrize("call", [
    lambda: I8.clamp(0, 1000), lambda: I8.clamp(max=-1000), lambda: I8.clamp_min(1000), lambda: I8.clone().clamp_max_(1000),
    lambda: I8.int().clamp(0, 1 << 40), lambda: I8.half().clamp(0, 1e9), lambda: I8**1000, lambda: torch.add(I8, I8, alpha=1000),
    lambda: torch.sub(I8, I8, alpha=-1000), lambda: torch.addcmul(I8, I8, I8, value=1000),
    lambda: torch.nn.functional.threshold(I8, 0, 1000), lambda: torch.nn.functional.hardtanh(I8, -1000, 1000),
    lambda: torch._foreach_clamp_max([I8], 1000),
])
def test_numbers_that_the_type_cannot_hold(call):
    with pytest.raises(RuntimeError, match="without overflow"):
        call()


def test_numbers_that_the_type_can_hold():
    assert I8.clamp(-128, 127).tolist() == [1, 1] and I8.clamp(max=-128).tolist() == [-128, -128]
    assert I8.float().clamp(-float("inf"), float("inf")).tolist() == [1, 1]
    assert I8.half().clamp(max=float("inf")).tolist() == [1, 1]
    assert torch.add(I8, I8, alpha=-2).tolist() == [-1, -1]
