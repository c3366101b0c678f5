"""Inference mode, second backward, anomaly mode."""
import warnings

import numpy as np
import pytest
import torch


def test_what_inference_mode_makes():
    normal = torch.ones(3)
    with torch.inference_mode():
        made = [torch.zeros(3), torch.tensor([1.0]), torch.randn(3), torch.arange(3), torch.empty(3), torch.full((2,), 1.0), torch.zeros(3) + 1,
                torch.from_numpy(np.ones(3)), torch.nn.Parameter(torch.zeros(3)), torch.Tensor([1.0]), normal + 1, normal.clone()]
        assert all(t.is_inference() for t in made)
        assert not normal.add_(1).is_inference() and not normal[:2].is_inference() and not normal.view(3).add_(1).is_inference()
        with torch.inference_mode(False):
            assert not torch.zeros(3).is_inference()
    assert torch.equal(normal, torch.full((3,), 3.0))
    assert not torch.zeros(3).is_inference() and not (made[0] + 1).is_inference() and not made[0].clone().is_inference()
    assert made[0][:2].is_inference() and made[0].detach().is_inference()


def test_inference_tensors_are_not_written_outside():
    with torch.inference_mode():
        a = torch.zeros(3)
        v = a[:2]
        a.add_(1)
    n = torch.ones(3)
    for write in (lambda: a.add_(1), lambda: v.zero_(), lambda: a.copy_(n), lambda: a.__setitem__(0, 1.0), lambda: a.view(3).add_(1),
                  lambda: torch.add(n, n, out=a), lambda: a.data.add_(1), lambda: a.unsqueeze_(0), lambda: a.random_()):
        with pytest.raises(RuntimeError, match="inference tensor"):
            write()
    assert torch.equal(n.add_(a), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="inference tensor"):
        a.requires_grad_()
    with pytest.raises(RuntimeError, match=r"inference tensor of shape \[3\]"):
        torch.ones(3, requires_grad=True) * a
    with torch.inference_mode():
        assert torch.equal(a.add_(1), torch.full((3,), 2.0))


def test_views_made_in_inference_mode_of_what_requires_grad():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        v = y[:2]
    assert not v.is_inference()
    with pytest.raises(RuntimeError, match="inference mode"):
        v.add_(1)


def test_a_second_backward_names_operator_and_shape():
    x = torch.ones(2, 3, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match=r"ExpBackward0.*\[2, 3\].*retain_graph"):
        y.sum().backward()

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * ctx.saved_tensors[0]
    z = Twice.apply(x)
    z.sum().backward()
    with pytest.raises(RuntimeError, match=r"TwiceBackward.*\[2, 3\]"):
        z.sum().backward()


def test_anomaly_names_the_lines_of_forward_and_of_the_backward_that_made_the_node():
    x = torch.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
            y = (x * 0).sqrt()  # the line of forward
            (y * 0).backward()
        assert any("the line of forward" in str(w.message) for w in said)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan|NaN"):
            z = x ** 1.5  # the first line
            g, = torch.autograd.grad(z, x, create_graph=True)  # the second line
            (g * 0).backward()
        text = "".join(str(w.message) for w in said)
        assert "the second line" in text and "the first line" in text and text.index("the second line") < text.index("the first line")
