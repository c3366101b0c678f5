"""Descriptors of tensors that the host makes and kernels take as arguments."""
import collections

from ..language.types import constexpr

# A descriptor as a launch passes it: a named tuple, of which the block's shape is part of the code.
Passed = collections.namedtuple("Passed", ["base", "shape", "strides", "block_shape"])


class TensorDescriptor:
    """A tensor that kernels read and write block by block, by desc.load(offsets) and desc.store(offsets, value).

    What lies outside of `shape` is read as zeros and not written. `block_shape` may be changed between launches."""

    def __init__(self, base, shape, strides, block_shape, padding="zero", round_f32_to_tf32=False):
        self.base, self.shape, self.strides, self.block_shape = base, list(shape), list(strides), list(block_shape)
        self.padding, self.round_f32_to_tf32 = padding, round_f32_to_tf32
        if not len(self.shape) == len(self.strides) == len(self.block_shape) > 0:
            raise ValueError(f"a TensorDescriptor has as many sizes as strides and sizes of a block, one at least; shape {self.shape}, strides {self.strides} "
                             f"and block_shape {self.block_shape} were given")
        if padding != "zero":
            raise NotImplementedError(f"a TensorDescriptor with padding={padding!r} is not there; padding='zero' is")
        if round_f32_to_tf32:
            raise NotImplementedError("a TensorDescriptor with round_f32_to_tf32=True is not there: the CPU multiplies fp32 in full")

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """The descriptor of all of a tensor."""
        return TensorDescriptor(tensor, tensor.shape, tensor.stride(), block_shape, padding, round_f32_to_tf32)

    def passed(self):
        """What a launch takes for it."""
        return Passed(self.base, tuple(map(int, self.shape)), tuple(map(int, self.strides)), tuple(constexpr(int(b)) for b in self.block_shape))

    def __repr__(self):
        return f"TensorDescriptor(shape={self.shape}, strides={self.strides}, block_shape={self.block_shape})"
