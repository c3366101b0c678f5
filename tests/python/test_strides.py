"""Strides of results, also where a size of 1 or 0, gaps or overlaps leave them open: what the reference gives, recorded."""
import pytest
import torch
import torch.nn.functional as F

last, rows, same = torch.channels_last, torch.contiguous_format, torch.preserve_format

# (sizes, strides): rows of the tables below have one entry for each.
LAYOUTS = [
    ((1,), (7,)), ((5, 1), (1, 5)), ((1, 5), (1, 1)), ((1, 5), (5, 5)), ((3, 4), (1, 3)), ((0, 5), (1, 1)), ((2, 0, 3), (15, 4, 4)), ((1, 3, 4), (7, 1, 3)),
    ((2, 3, 4), (0, 4, 1)), ((2, 3, 1, 5), (15, 1, 7, 3)), ((2, 1, 4, 5), (20, 1, 5, 1)), ((2, 0, 4, 5), (20, 1, 5, 1)), ((1, 3, 2, 3, 2), (7, 1, 18, 6, 3)),
]
ONE = {
    "empty_like": torch.empty_like,
    "rand_like": torch.rand_like,
    "double": lambda x: x.double(),
    "clone": torch.clone,
    "clone to rows": lambda x: x.clone(memory_format=rows),
    "flip": lambda x: x.flip(0),
    "sort": lambda x: x.sort(0)[1],
    "exp": torch.exp,
    "x + x": lambda x: x + x,
    "x * 2": lambda x: x * 2,
    "x < tensor(2)": lambda x: x < torch.tensor(2.0, device=x.device),
    "where(_, x, 0)": lambda x: torch.where(x > 1, x, 0.0),
    "x ** 2": lambda x: x ** 2,
    "2 ** x": lambda x: 2 ** x,
    "clamp": lambda x: x.clamp(0, 1),
    "hardtanh": F.hardtanh,
    "nan_to_num": torch.nan_to_num,
    "logsigmoid": F.logsigmoid,
    "bernoulli": lambda x: torch.bernoulli(x * 0),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "index_fill": lambda x: x.index_fill(-1, torch.tensor([], dtype=torch.int64, device=x.device), 0.0),
    "add, out=": lambda x: torch.add(x, 1, out=torch.empty(0, device=x.device)),
    "x[[0]]": lambda x: x[torch.tensor([0], device=x.device)] if len(x) else x,
    "stack": lambda x: torch.stack([x, x]),
    "view": lambda x: x.view(x.shape),
}
ONE_EXPECTED = {
    "empty_like":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "rand_like":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "double":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "clone":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "clone to rows":
        [(1,), (1, 1), (5, 1), (5, 1), (4, 1), (5, 1), (3, 3, 1), (12, 4, 1), (12, 4, 1), (15, 5, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (36, 12, 6, 2, 1)],
    "flip":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "sort":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "exp":
        [(1,), (1, 1), (5, 1), (1, 1), (1, 3), (5, 1), (3, 3, 1), (7, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 20, 5, 1), (20, 20, 5, 1), (7, 1, 18, 6, 3)],
    "x + x":
        [(1,), (1, 1), (5, 1), (1, 1), (1, 3), (5, 1), (3, 3, 1), (7, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 20, 5, 1), (20, 20, 5, 1), (7, 1, 18, 6, 3)],
    "x * 2":
        [(1,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 0), (0, 1, 0), (12, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (18, 1, 18, 6, 3)],
    "x < tensor(2)":
        [(1,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 0), (0, 1, 0), (12, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (18, 1, 18, 6, 3)],
    "where(_, x, 0)":
        [(1,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 0), (0, 1, 0), (12, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (18, 1, 18, 6, 3)],
    "x ** 2":
        [(1,), (1, 1), (5, 1), (1, 1), (1, 3), (5, 1), (3, 3, 1), (7, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 20, 5, 1), (20, 20, 5, 1), (7, 1, 18, 6, 3)],
    "2 ** x":
        [(1,), (1, 1), (5, 1), (5, 1), (4, 1), (5, 1), (3, 3, 1), (12, 4, 1), (12, 4, 1), (15, 5, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (36, 12, 6, 2, 1)],
    "clamp":
        [(1,), (1, 1), (5, 1), (1, 1), (1, 3), (5, 1), (3, 3, 1), (7, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 20, 5, 1), (20, 20, 5, 1), (7, 1, 18, 6, 3)],
    "hardtanh":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "nan_to_num":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "logsigmoid":
        [(1,), (1, 1), (5, 1), (5, 1), (4, 1), (5, 1), (3, 3, 1), (12, 4, 1), (12, 4, 1), (15, 5, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (36, 12, 6, 2, 1)],
    "bernoulli":
        [(1,), (1, 1), (5, 1), (5, 1), (4, 1), (5, 1), (3, 3, 1), (12, 4, 1), (12, 4, 1), (15, 5, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (36, 12, 6, 2, 1)],
    "masked_fill":
        [(1,), (1, 1), (5, 1), (5, 1), (4, 1), (5, 1), (3, 3, 1), (12, 4, 1), (12, 4, 1), (15, 5, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (36, 12, 6, 2, 1)],
    "index_fill":
        [(7,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 1), (15, 4, 4), (7, 1, 3), (12, 4, 1), (15, 1, 7, 3), (20, 1, 5, 1), (20, 1, 5, 1), (7, 1, 18, 6, 3)],
    "add, out=":
        [(1,), (1, 5), (1, 1), (1, 1), (1, 3), (1, 0), (0, 1, 0), (12, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (18, 1, 18, 6, 3)],
    "x[[0]]":
        [(1,), (1, 1), (5, 1), (5, 1), (4, 1), (1, 1), (0, 1, 0), (12, 1, 3), (12, 4, 1), (15, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (36, 1, 18, 6, 3)],
    "stack":
        [(1, 1), (5, 1, 1), (5, 5, 1), (5, 5, 1), (12, 4, 1), (5, 5, 1), (6, 3, 3, 1), (12, 12, 4, 1), (24, 12, 4, 1), (30, 15, 5, 5, 1), (40, 20, 20, 5, 1), (40, 20, 20, 5, 1), (36, 36, 12, 6, 2, 1)],
    "view":
        [(7,), (1, 5), (5, 1), (25, 5), (1, 3), (1, 1), (15, 4, 4), (3, 1, 3), (0, 4, 1), (15, 1, 15, 3), (20, 20, 5, 1), (20, 1, 5, 1), (3, 1, 18, 6, 3)],
}
IMAGES = [((2, 3, 4, 5), (60, 1, 15, 3)), ((2, 1, 4, 5), (20, 1, 5, 1)), ((2, 0, 4, 5), (20, 1, 5, 1)), ((2, 0, 4, 5), (0, 1, 0, 0)), ((0, 3, 4, 5), (60, 1, 15, 3)), ((2, 3, 1, 1), (3, 1, 9, 9))]
IMAGE = {
    "is channels_last": lambda x: (int(x.is_contiguous(memory_format=last)),),
    "to channels_last": lambda x: x.to(torch.float64, memory_format=last).stride(),
    "empty in channels_last": lambda x: torch.empty(x.shape, memory_format=last).stride(),
    "contiguous in channels_last": lambda x: x.contiguous(memory_format=last).stride(),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 1).stride(),
}
IMAGE_EXPECTED = {
    "is channels_last":
        [(1,), (1,), (0,), (1,), (1,), (1,)],
    "to channels_last":
        [(60, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (0, 1, 0, 0), (60, 1, 15, 3), (3, 1, 3, 3)],
    "empty in channels_last":
        [(60, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (0, 1, 0, 0), (60, 1, 15, 3), (3, 1, 3, 3)],
    "contiguous in channels_last":
        [(60, 1, 15, 3), (20, 1, 5, 1), (0, 1, 0, 0), (0, 1, 0, 0), (60, 1, 15, 3), (3, 1, 9, 9)],
    "channel_shuffle":
        [(60, 1, 15, 3), (20, 1, 5, 1), (20, 1, 5, 1), (0, 1, 0, 0), (60, 1, 15, 3), (3, 1, 1, 1)],
}
PAIRS = [
    (((3, 4), (1, 3)), ((3, 4), (4, 1))), (((3, 4), (8, 2)), ((3, 4), (1, 3))), (((5, 1), (1, 5)), ((1,), (3,))), (((2, 3, 4), (24, 8, 2)), ((3, 1), (1, 9))),
    (((1, 3, 1), (0, 1, 5)), ((2, 3, 4), (1, 2, 6))), (((2, 1, 4), (4, 9, 1)), ((2, 1, 4), (4, 4, 1))), (((1, 1, 5), (5, 1, 1)), ((2, 1, 5), (1, 0, 2))), (((2, 0, 3), (3, 3, 1)), ((1, 3), (1, 1))),
]
TWO = {
    "a + b": torch.add,
    "a * double b": lambda a, b: a * b.double(),
    "where(_, b, 1)": lambda a, b: torch.where(a > 1, b, 1.0),
    "lerp": lambda a, b: torch.lerp(a, b, b),
    "complex": torch.complex,
    "huber_loss": lambda a, b: F.huber_loss(a, b, reduction="none"),
    "a < b, out=": lambda a, b: torch.lt(a, b, out=torch.empty(0, dtype=torch.bool, device=a.device)),
}
TWO_EXPECTED = {
    "a + b":
        [(1, 3), (4, 1), (1, 5), (12, 4, 1), (1, 2, 6), (4, 4, 1), (1, 1, 2), (3, 3, 1)],
    "a * double b":
        [(1, 3), (4, 1), (1, 5), (12, 4, 1), (1, 2, 6), (4, 4, 1), (1, 1, 2), (3, 3, 1)],
    "where(_, b, 1)":
        [(1, 3), (4, 1), (1, 5), (12, 4, 1), (1, 2, 6), (4, 8, 1), (1, 1, 2), (3, 3, 1)],
    "lerp":
        [(1, 3), (4, 1), (1, 5), (12, 4, 1), (1, 2, 6), (4, 4, 1), (1, 1, 2), (3, 3, 1)],
    "complex":
        [(1, 3), (4, 1), (1, 5), (12, 4, 1), (1, 2, 6), (4, 4, 1), (1, 1, 2), (3, 3, 1)],
    "huber_loss":
        [(1, 3), (4, 1), (1, 5), (12, 4, 1), (12, 4, 1), (4, 9, 1), (5, 1, 1), (3, 3, 1)],
    "a < b, out=":
        [(1, 3), (4, 1), (1, 5), (12, 4, 1), (1, 2, 6), (4, 4, 1), (1, 1, 2), (3, 3, 1)],
}
# Sizes and strides of the variable, strides of the gradient that it meets; those of .grad where backward made that gradient
# itself, and where somebody else holds it.
GRADIENTS = [
    ((5, 1), (1, 5), (1, 1), (1, 1), (1, 5)),
    ((1, 4, 1), (9, 1, 2), (4, 1, 1), (4, 1, 1), (9, 1, 2)),
    ((3, 4), (1, 3), (4, 1), (1, 3), (1, 3)),
    ((3, 4), (8, 2), (1, 3), (4, 1), (4, 1)),
    ((2, 3, 1, 1), (3, 1, 3, 3), (3, 1, 1, 1), (3, 1, 1, 1), (3, 1, 3, 3)),
    ((0, 5), (1, 7), (5, 1), (1, 7), (1, 7)),
]


def strided(place, device=None):
    sizes, strides = place
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    return torch.ones(max(reach, 1), device=device).as_strided(sizes, strides)


def accumulated(sizes, strides, of_gradient, held):
    x = strided((sizes, strides)).detach().requires_grad_()
    (x.clone() if held else x.neg()).backward(strided((sizes, of_gradient)))
    return x.grad.stride()


@pytest.mark.parametrize("name", ONE)
def test_of_one_tensor(name):
    for place, want in zip(LAYOUTS, ONE_EXPECTED[name], strict=True):
        assert ONE[name](strided(place)).stride() == want, place
        assert ONE[name](strided(place, "meta")).stride() == want, place


@pytest.mark.filterwarnings("ignore:huber_loss broadcasts")
@pytest.mark.parametrize("name", TWO)
def test_of_two_tensors(name):
    for places, want in zip(PAIRS, TWO_EXPECTED[name], strict=True):
        assert TWO[name](*map(strided, places)).stride() == want, places
        assert TWO[name](*(strided(p, "meta") for p in places)).stride() == want, places


@pytest.mark.parametrize("name", ["clone", "double", "exp", "x * 2", "where(_, x, 0)", "hardtanh", "x[[0]]", "stack"])
def test_compiled_as_eager(name):
    for place, want in zip(LAYOUTS, ONE_EXPECTED[name], strict=True):
        torch.compiler.reset()
        compiled = torch.compile(ONE[name])
        assert compiled(strided(place)).stride() == want, place


@pytest.mark.parametrize("name", IMAGE)
def test_of_images(name):
    for place, want in zip(IMAGES, IMAGE_EXPECTED[name], strict=True):
        assert IMAGE[name](strided(place)) == want, place


@pytest.mark.parametrize("sizes, strides, of_gradient, taken_over, copied", GRADIENTS)
def test_gradients_are_laid_out_as_the_variable(sizes, strides, of_gradient, taken_over, copied):
    assert accumulated(sizes, strides, of_gradient, False) == taken_over
    assert accumulated(sizes, strides, of_gradient, True) == copied


def test_views_of_sizes_of_one():
    for place, to, want in [(((1,), (7,)), (1, 1), (7, 7)), (((1, 1), (2, 9)), (1,), (9,)), (((2, 1, 3), (3, 50, 1)), (1, 2, 3, 1), (6, 3, 1, 1)),
                            (((), ()), (1, 1), (1, 1)), (((3, 1), (1, 9)), (3,), (1,))]:
        assert strided(place).view(to).stride() == want
    assert torch.ones(()).expand(1, 1).stride() == (0, 0)
    assert torch.ones(3).expand(1, 3).stride() == (3, 1)
