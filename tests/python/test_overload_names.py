"""Names of overloads under torch.ops.aten, and of the tensors that they write, as PyTorch's operators have them."""
import pytest
import torch

aten = torch.ops.aten
x, y = torch.tensor([[3.0, 1, 2], [0, 5, 4]]), torch.tensor([[1.0, 2, 2], [3, 3, 3]])
places, truth = torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.bool)


def out():
    return torch.empty(0)


# packet: the overloads that write a result
WRITING = {
    "max": "dim_max out unary_out", "min": "dim_min out unary_out", "any": "all_out dims_out out", "all": "all_out dims_out out",
    "eq": "Scalar_out Tensor_out", "ne": "Scalar_out Tensor_out", "lt": "Scalar_out Tensor_out", "le": "Scalar_out Tensor_out",
    "gt": "Scalar_out Tensor_out", "ge": "Scalar_out Tensor_out", "greater": "Scalar_out Tensor_out", "not_equal": "Scalar_out Tensor_out",
    "bitwise_and": "Scalar_Tensor_out Scalar_out Tensor_out", "bitwise_left_shift": "Scalar_Tensor_out Tensor_Scalar_out Tensor_out",
    "fmod": "Scalar_out Tensor_out", "remainder": "Scalar_Tensor_out Scalar_out Tensor_out", "lerp": "Scalar_out Tensor_out",
    "div": "Scalar_mode_out Scalar_out out out_mode", "divide": "out out_mode", "xlogy": "OutScalar_Other OutScalar_Self OutTensor",
    "special_xlogy": "other_scalar_out out self_scalar_out", "sort": "values values_stable", "topk": "values", "kthvalue": "values",
    "mode": "values", "median": "dim_values out", "nanmedian": "dim_values out", "mean": "dtype_out names_out out", "sum": "DimnameList_out IntList_out out",
    "prod": "Dimname_out int_out out", "std": "correction_out out", "var": "correction_out out", "norm": "ScalarOpt_dtype_out Scalar_out dtype_out out",
    "searchsorted": "Scalar_out Tensor_out", "bucketize": "Scalar_out Tensor_out", "index": "Tensor_out", "frexp": "Tensor_out",
    "slice_copy": "Tensor_out", "fractional_max_pool2d": "output", "reflection_pad1d_backward": "grad_input", "add": "Scalar_out out",
}


@pytest.mark.parametrize("name", WRITING)
def test_overloads_that_write(name):
    packet = getattr(aten, name)
    ours = {o for o in packet.overloads() if "!" in str(getattr(packet, o)._schema)}
    assert ours and ours <= set(WRITING[name].split()), sorted(ours)


IN_PLACE = {"pow_": "Scalar Tensor", "floor_divide_": "Scalar Tensor", "ldexp_": "default", "transpose_": "default"}


@pytest.mark.parametrize("name", IN_PLACE)
def test_overloads_in_place(name):
    assert set(getattr(aten, name).overloads()) <= set(IN_PLACE[name].split())


def test_each_is_the_one_it_is_named_for():
    assert torch.equal(aten.max.out(x, y, out=out()), torch.maximum(x, y)) and aten.max.unary_out(x, out=out()).item() == 5
    values, where = aten.max.dim_max(x, 1, max=out(), max_values=places.clone())
    assert values.tolist() == [3, 5] and where.tolist() == [0, 1]
    values, where = aten.min.dim_min(x, 1, min=out(), min_indices=places.clone())
    assert values.tolist() == [1, 0] and where.tolist() == [1, 0]
    assert aten.any.out(x, 1, out=truth.clone()).tolist() == [True, True] and aten.any.all_out(x, out=truth.clone()).item() is True
    assert aten.all.out(x, 1, out=truth.clone()).tolist() == [True, False] and aten.all.all_out(x, out=truth.clone()).item() is False
    assert aten.mean.out(x, [1], out=out()).tolist() == [2, 3] and aten.mean.dtype_out(x, out=out()).item() == 2.5
    assert aten.div.out_mode(x, y, rounding_mode="floor", out=out()).tolist() == [[3, 0, 1], [0, 1, 1]]
    assert torch.equal(aten.special_xlogy(x, y), torch.special.xlogy(x, y))
    assert torch.equal(aten.special_xlogy.self_scalar_out(2, y, out=out()), torch.special.xlogy(2, y))
    assert torch.equal(aten.pow_.Scalar(x.clone(), 2), x * x) and torch.equal(aten.pow_.Tensor(x.clone(), y), x ** y)
    assert torch.equal(aten.transpose_(x.clone(), 0, 1), x.t()) and torch.equal(aten.floor_divide_.Tensor(x.clone(), y), x // y)
    values, where = aten.sort.values_stable(x, stable=True, dim=1, values=out(), indices=places.clone())
    assert torch.equal(values, x.sort(1)[0]) and torch.equal(where, x.sort(1)[1])
    pooled, where = aten.max_pool2d_with_indices.out(x[None], [2, 2], out=out(), indices=places.clone())
    assert pooled.tolist() == [[[5.0]]] and where.tolist() == [[[4]]]
    g = torch.ones(1, 2, 5)
    assert torch.equal(aten.reflection_pad1d_backward.grad_input(g, x[None], [1, 1], grad_input=out()), aten.reflection_pad1d_backward(g, x[None], [1, 1]))


def test_what_is_written_is_called_self():
    for name in ("dropout_", "alpha_dropout_", "as_strided_", "squeeze_", "t_", "unsqueeze_", "relu_"):
        packet = getattr(aten, name)
        for overload in packet.overloads():
            assert str(getattr(packet, overload)._schema).split("(", 1)[1].startswith("Tensor(a!) self"), overload


def test_python_calls_find_them_as_before():
    assert torch.max(x, y, out=out()).tolist() == [[3, 2, 2], [3, 5, 4]] and torch.max(x, 1, out=(out(), places.clone()))[0].tolist() == [3, 5]
    assert torch.any(x, 1, out=truth.clone()).tolist() == [True, True] and torch.std(x, 1, out=out()).shape == (2,)
    a = x.clone()
    a **= 2
    assert torch.equal(a, x * x)
    a //= 2
    assert torch.equal(a, (x * x) // 2)
    a **= y
    assert torch.equal(a, ((x * x) // 2) ** y)
    assert torch.greater(x, y, out=truth.clone()).tolist() == (x > y).tolist()
