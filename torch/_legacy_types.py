"""torch.FloatTensor and its kin: constructors by type, kept for old programs."""
import torch
from torch import _C

_NAMES = {"FloatTensor": _C.float32, "DoubleTensor": _C.float64, "HalfTensor": _C.float16, "BFloat16Tensor": _C.bfloat16,
          "LongTensor": _C.int64, "IntTensor": _C.int32, "ShortTensor": _C.int16, "CharTensor": _C.int8, "ByteTensor": _C.uint8,
          "BoolTensor": _C.bool}
_BY_DTYPE = {d: n for n, d in _NAMES.items()}
_BY_DTYPE.update({_C.complex64: "ComplexFloatTensor", _C.complex128: "ComplexDoubleTensor", _C.uint16: "UInt16Tensor",
                  _C.uint32: "UInt32Tensor", _C.uint64: "UInt64Tensor", _C.float8_e5m2: "Float8_e5m2Tensor",
                  _C.float8_e4m3fn: "Float8_e4m3fnTensor", _C.complex32: "ComplexHalfTensor"})


class _TensorTypeMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, torch.Tensor) and obj.dtype is cls.dtype and obj.device.type == "cpu"

    def __call__(cls, *args, device=None):
        with _C.DisableTorchFunction():   # modes see no part of it
            return cls._made(*args, device=device)

    def _made(cls, *args, device=None):
        if not args:
            return torch.empty(0, dtype=cls.dtype, device="cpu")
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            if args[0].dtype is not cls.dtype:
                raise TypeError(f"expected a tensor of type {cls.dtype}, got {args[0].dtype}")
            return args[0].detach()
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            if isinstance(args[0], (str, dict, float)) or args[0] is None:
                raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
            return torch.tensor(args[0], dtype=cls.dtype, device="cpu")
        return torch.empty(tuple(args[0] if isinstance(args[0], torch.Size) else args), dtype=cls.dtype, device="cpu")

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


for _n, _d in _NAMES.items():
    globals()[_n] = _TensorTypeMeta(_n, (), {"dtype": _d, "is_cuda": False, "__module__": "torch",
                                             "__doc__": f"Tensors of {_d} on the CPU, as a type."})


def name_of(t):
    """'torch.FloatTensor' for a float32 tensor on the CPU."""
    where = "" if t.device.type == "cpu" else t.device.type + "."
    return f"torch.{where}{_BY_DTYPE[t.dtype]}"


def dtype_of(t):
    """The dtype that a dtype, a type or a type's name stands for."""
    if isinstance(t, torch.dtype):
        return t
    if isinstance(t, _TensorTypeMeta):
        return t.dtype
    if isinstance(t, str):
        name = t.rsplit(".", 1)[-1]
        if name in _NAMES:
            if ".cuda." in t:
                raise RuntimeError(f"{t!r} is a type of tensors on a GPU, and none is there")
            return _NAMES[name]
    raise ValueError(f"invalid type: {t!r}")
