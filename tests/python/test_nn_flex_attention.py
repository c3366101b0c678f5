"""Attention by functions of indices against plain attention with the same mask and scores."""

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

if any(
    not hasattr(torch, n)
    for n in ("relu", "sub", "lt", "std", "allclose", "matmul", "argsort", "tril", "logsumexp",
              "repeat_interleave")
):
    pytest.skip("the operators of layers are needed", allow_module_level=True)

from torch.nn.attention.flex_attention import (  # noqa: E402
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)


def causal(b, h, q, k):
    return q >= k


def tensors():
    torch.manual_seed(0)
    return [torch.randn(2, 4, 8, 16) for _ in range(3)]


def plain(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def test_without_functions_it_is_attention():
    q, k, v = tensors()
    assert torch.allclose(flex_attention(q, k, v), plain(q, k, v), atol=1e-5)
    grouped = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    shared = plain(q, k[:, :2].repeat_interleave(2, 1), v[:, :2].repeat_interleave(2, 1))
    assert torch.allclose(grouped, shared, atol=1e-5)


def test_scores_and_masks():
    q, k, v = tensors()
    bias = torch.randn(4, 8, 8)
    got = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h, i, j])
    assert torch.allclose(got, plain(q, k, v, bias), atol=1e-5)
    for size in (2, 4, 8, 128, (2, 4)):
        mask = create_block_mask(causal, 1, 1, 8, 8, device="cpu", BLOCK_SIZE=size)
        full = torch.ones(8, 8, dtype=torch.bool).tril()
        assert torch.allclose(
            flex_attention(q, k, v, block_mask=mask), plain(q, k, v, full), atol=1e-5
        )
    document = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])
    same = and_masks(causal, lambda b, h, i, j: document[i] == document[j])
    mask = create_block_mask(same, None, None, 8, 8, device="cpu", BLOCK_SIZE=2)
    dense = create_mask(same, None, None, 8, 8, device="cpu")
    assert torch.allclose(
        flex_attention(q, k, v, block_mask=mask), plain(q, k, v, dense), atol=1e-5
    )


def test_queries_without_keys_give_zeros():
    q, k, v = tensors()
    mask = create_block_mask(lambda b, h, i, j: i > 3, 1, 1, 8, 8, device="cpu")
    out, aux = flex_attention(q, k, v, block_mask=mask, return_aux=AuxRequest(lse=True))
    assert (out[:, :, :4] == 0).all() and torch.isneginf(aux.lse[:, :, :4]).all()
    assert aux.max_scores is None


def test_gradient():
    q, k, v = (t.requires_grad_() for t in tensors())
    grads = [
        torch.autograd.grad(f(q, k, v).sin().sum(), [q, k, v]) for f in (flex_attention, plain)
    ]
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*grads))


def test_block_mask():
    m = create_block_mask(causal, 1, 1, 12, 12, device="cpu", BLOCK_SIZE=4)
    assert m.shape == (1, 1, 12, 12) and m.kv_num_blocks.tolist() == [[[1, 1, 1]]]
    assert m.full_kv_num_blocks.tolist() == [[[0, 1, 2]]]
    assert m.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert m.sparsity() == pytest.approx(100 / 3) and m.numel() == 144
    assert "██████" in str(m) and "sparsity=33.33%" in repr(m)
    assert m[:, :, 1].shape == (1, 1, 4, 12) and m._adjust(5, 6).shape == (1, 1, 5, 6)
    assert m.q_num_blocks.tolist() == [[[1, 1, 1]]] and m.full_q_num_blocks.tolist() == [
        [[2, 1, 0]]
    ]
    assert create_mask(or_masks(causal, lambda b, h, q, k: k == 2), 1, 1, 3, 3)[0, 0].tolist() == [
        [True, False, True],
        [True, True, True],
        [True, True, True],
    ]
    with pytest.raises(IndexError):
        m[0, 0, 0, 0]
    with pytest.raises(RuntimeError):
        and_masks(3)
    one = torch.ones(2, dtype=torch.int32)
    with pytest.raises(RuntimeError):
        BlockMask.from_kv_blocks(one, one)


def test_wrong_shapes():
    q, k, v = tensors()
    with pytest.raises(ValueError):
        flex_attention(q, k[:, :2], v[:, :2])
    with pytest.raises(ValueError):
        flex_attention(q, k[..., :4], v)
    with pytest.raises(NotImplementedError):
        flex_attention(q[0], k[0], v[0])
    with pytest.raises(RuntimeError):
        flex_attention(q, k, v, block_mask=create_block_mask(causal, 1, 1, 16, 8, device="cpu"))
