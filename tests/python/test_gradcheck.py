"""gradcheck finds wrong derivatives and passes right ones; Jacobians and products by formula."""
import subprocess
import sys

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch.autograd import functional as AF  # noqa: E402
from torch.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck  # noqa: E402


def real(*shape):
    torch.manual_seed(sum(shape))
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x * 2.1


@pytest.mark.parametrize("fast", [False, True])
def test_right_and_wrong(fast):
    x, w = real(3), real(3, 3)
    z = torch.randn(3, dtype=torch.complex128).requires_grad_()
    for func, inputs in ((lambda x: x.exp(), (x,)), (lambda w, x: (w @ x, w.sum()), (w, x)),
                         (lambda z, x: z * x, (z, x)), (lambda z: z.abs(), (z,)),
                         (lambda x: (x * 2, torch.ones(2, dtype=torch.long)), (x,))):
        assert gradcheck(func, inputs, fast_mode=fast)
        assert gradgradcheck(func, inputs, fast_mode=fast)
    with pytest.raises(GradcheckError, match="numerical"):
        gradcheck(Wrong.apply, (x,), fast_mode=fast)
    assert not gradcheck(Wrong.apply, (x,), fast_mode=fast, raise_exception=False)
    with pytest.raises(GradcheckError, match="no gradient"):
        gradcheck(lambda x: (x * 2).detach(), (x,), fast_mode=fast)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="requires a gradient"):
        gradcheck(lambda x: x, (torch.ones(2),))
    with pytest.raises(RuntimeError, match="stride of 0"):
        gradcheck(lambda x: x.exp(), real(3).expand(2, 3))
    with pytest.warns(UserWarning, match="float64"):
        gradcheck(lambda x: x * 2, (torch.ones(1, requires_grad=True),), atol=1)


def test_jacobian_and_hessian():
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert AF.jacobian(lambda a: a ** 2, x).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    rows = AF.jacobian(lambda a, b: (a.sum() * b, a * 2), (x, x[:2]))
    assert rows[0][0].tolist() == [[1, 1, 1], [2, 2, 2]]
    assert rows[0][1].tolist() == [[6, 0], [0, 6]]
    assert rows[1][1].tolist() == [[0, 0]] * 3
    assert AF.hessian(lambda a: (a ** 3).sum(), x).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
    h = AF.hessian(lambda a, b: (a * b).sum(), (x, x))
    assert h[0][1].tolist() == torch.eye(3).tolist() and not h[0][0].any()
    with pytest.raises(RuntimeError, match="strict"):
        AF.jacobian(lambda a: torch.ones(2), x, strict=True)


def test_products():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    v = torch.tensor([1.0, -1.0], dtype=torch.float64)
    out, product = AF.vjp(lambda a: a ** 2, x, v)
    assert out.tolist() == [1, 4] and product.tolist() == [2, -4]
    assert AF.jvp(lambda a: torch.stack([a.sum(), a.prod()]), x, v)[1].tolist() == [0, 1]
    for product in (AF.vhp, AF.hvp):
        assert product(lambda a: a.prod() * a[0], x, v)[1].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="shape"):
        AF.vjp(lambda a: a ** 2, x, torch.ones(3))


def test_the_function_keeps_its_name_when_its_file_is_imported_first():
    code = ("import torch; import torch.autograd.gradcheck; from torch.autograd.gradcheck import GradcheckError\n"
            "assert torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.double, requires_grad=True))")
    subprocess.run([sys.executable, "-c", code], check=True)
