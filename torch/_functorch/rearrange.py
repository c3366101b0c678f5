"""Dimensions reordered, merged and split by a pattern of names."""
import re

import torch

__all__ = ["rearrange"]

_TOKEN = re.compile(r"\s*(\.\.\.|[()]|[^\s()]+)")


def _side(text, pattern):
    """The groups of one side: each a list of names, "..." or "1"; a bare name is a group of one."""
    groups, open_group, seen = [], None, set()
    for token in _TOKEN.findall(text):
        if token == "(":
            if open_group is not None:
                raise ValueError(f"rearrange: parentheses within parentheses in {pattern!r}")
            open_group = []
            continue
        if token == ")":
            if open_group is None:
                raise ValueError(f"rearrange: ')' without '(' in {pattern!r}")
            groups.append(open_group)
            open_group = None
            continue
        if token != "..." and "." in token:
            raise ValueError(f"rearrange: dots other than '...' in {pattern!r}")
        if token.isdigit():
            if token != "1":
                raise ValueError(f"rearrange: {token} in {pattern!r}; the only dimension without a name is 1")
        elif token != "..." and (not token.isidentifier() or token.startswith("_") or token.endswith("_")):
            raise ValueError(f"rearrange: {token!r} in {pattern!r} is no name of a dimension")
        if token != "1":
            if token in seen:
                raise ValueError(f"rearrange: {token!r} stands twice on one side of {pattern!r}")
            seen.add(token)
        if open_group is None:
            groups.append([token])
        else:
            open_group.append(token)
    if open_group is not None:
        raise ValueError(f"rearrange: '(' without ')' in {pattern!r}")
    return groups, seen


def _sizes_of(group, size, lengths, pattern):
    """The sizes of the names of one dimension; one that is not given is what is left."""
    known, unknown = 1, [n for n in group if n != "1" and n not in lengths]
    for n in group:
        known *= lengths.get(n, 1)
    if len(unknown) > 1:
        raise ValueError(f"rearrange: the sizes of {unknown} in {pattern!r} cannot be told apart; give all but one")
    if unknown:
        if known == 0 or size % known:
            raise ValueError(f"rearrange: size {size} does not divide by {known}, the given sizes of {group} in {pattern!r}")
        lengths[unknown[0]] = size // known
    elif known != size:
        raise ValueError(f"rearrange: {group} in {pattern!r} have {known} elements, the dimension has size {size}")
    return [lengths.get(n, 1) for n in group]


def rearrange(tensor, pattern, **axes_lengths):
    """tensor with its dimensions as the right side of pattern names them: "b (h w) c -> b c h w" with h=4 splits the second
    dimension and moves the last one before its parts; "b c h w -> b (c h w)" merges three.

    A name stands for one dimension, "..." for any number of them, 1 or () for one of size 1; parentheses hold names that
    are one dimension together. A list of tensors is stacked first, along a dimension in front. axes_lengths: sizes that
    cannot be inferred. A view where strides allow. Raises ValueError where the sides do not name the same dimensions, or
    sizes do not fit, TypeError for sizes that are no ints. Source: the notation of einops.
    """
    if not isinstance(tensor, torch.Tensor):
        tensor = torch.stack(tensor)
    for length in axes_lengths.values():
        if not isinstance(length, int):
            raise TypeError(f"rearrange: sizes must be ints, got {type(length)}")
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: the pattern must have one '->', it is {pattern!r}")
    (left, on_left), (right, on_right) = (_side(s, pattern) for s in sides)
    if on_left != on_right:
        raise ValueError(f"rearrange: {sorted(on_left ^ on_right)} stand on one side of {pattern!r} only")
    if set(axes_lengths) - on_left:
        raise ValueError(f"rearrange: sizes are given for {sorted(set(axes_lengths) - on_left)}, which {pattern!r} does not name")
    if any("..." in g and len(g) > 1 for g in left):
        raise ValueError(f"rearrange: '...' within parentheses on the left of {pattern!r}")
    more = tensor.dim() - (len(left) - ("..." in on_left))
    if more < 0 or (more and "..." not in on_left):
        raise ValueError(f"rearrange: the left side of {pattern!r} has {len(left)} dimensions, the tensor {tensor.dim()}")
    lengths, sizes, order, at = dict(axes_lengths), [], {}, 0
    for group in left:
        if group == ["..."]:
            order["..."] = list(range(len(sizes), len(sizes) + more))
            sizes += tensor.shape[at:at + more]
            at += more
            continue
        for name, size in zip(group, _sizes_of(group, tensor.shape[at], lengths, pattern)):
            if name != "1":
                order[name] = [len(sizes)]
                sizes.append(size)
        at += 1
    moved = tensor.reshape(sizes).permute([d for g in right for n in g for d in order.get(n, ())])
    result = []
    for group in right:
        dims = [sizes[d] for n in group for d in order.get(n, ())]
        if group == ["..."]:
            result += dims
        else:
            total = 1
            for d in dims:
                total *= d
            result.append(total)
    return moved.reshape(result)


rearrange.__module__ = "torch.func"
