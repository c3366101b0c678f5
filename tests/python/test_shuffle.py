"""pixel_shuffle, pixel_unshuffle, channel_shuffle."""

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck


def test_pixel_shuffle_by_index():
    x = torch.arange(2 * 12 * 3 * 2.0).reshape(2, 12, 3, 2)
    y = F.pixel_shuffle(x, 2)
    assert y.shape == (2, 3, 6, 4)
    for c in range(3):
        for i in range(6):
            for j in range(4):
                assert torch.equal(y[:, c, i, j], x[:, c * 4 + i % 2 * 2 + j % 2, i // 2, j // 2])
    assert torch.equal(F.pixel_unshuffle(y, 2), x)
    assert torch.equal(F.pixel_shuffle(x[0], 2), y[0])
    last = x.to(memory_format=torch.channels_last)
    assert torch.equal(F.pixel_shuffle(last, 2), y)
    assert F.pixel_shuffle(last, 2).is_contiguous(memory_format=torch.channels_last)


def test_channel_shuffle_by_index():
    x = torch.arange(2 * 6 * 2 * 2.0).reshape(2, 6, 2, 2)
    assert torch.equal(F.channel_shuffle(x, 2), x[:, [0, 3, 1, 4, 2, 5]])
    assert torch.equal(F.channel_shuffle(x, 3), x[:, [0, 2, 4, 1, 3, 5]])


def test_gradients_and_names():
    x = torch.randn(1, 8, 2, 4, dtype=torch.float64, requires_grad=True)
    for f, name in (
        (lambda x: F.pixel_shuffle(x, 2), "PixelShuffleBackward0"),
        (lambda x: F.pixel_unshuffle(x, 2), "PixelUnshuffleBackward0"),
        (lambda x: F.channel_shuffle(x, 4), "ChannelShuffleBackward0"),
    ):
        assert gradcheck(f, x)
        assert f(x).grad_fn.name() == name


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.pixel_shuffle(x, 3),
        lambda x: F.pixel_shuffle(x, 0),
        lambda x: F.pixel_shuffle(x[0, 0], 1),
        lambda x: F.pixel_unshuffle(x, 3),
        lambda x: F.pixel_unshuffle(x, -1),
        lambda x: F.channel_shuffle(x, 3),
        lambda x: F.channel_shuffle(x, 0),
        lambda x: F.channel_shuffle(x[0, 0], 1),
    ],
)
def test_errors(call):
    with pytest.raises(RuntimeError):
        call(torch.zeros(1, 8, 4, 4))
