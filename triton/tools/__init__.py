"""triton.tools: what programs use beside kernels. Of it there is tensor_descriptor; what is for GPUs' binaries raises NotImplementedError."""
from torch._absent import NotThereYet
from . import tensor_descriptor

_ABSENT = ("LinearLayout", "build_extern", "compile", "disasm", "gsan", "link", "mxfp", "ragged_tma", "triton_to_gluon_translator")


def __getattr__(name):
    if name in _ABSENT:
        raise NotThereYet(f"triton.tools.{name} is not there: it is for GPUs' layouts, binaries and types")
    raise AttributeError(f"module 'triton.tools' has no attribute {name!r}")


__all__ = ["tensor_descriptor"]
