"""triton.tools: what programs use beside kernels. Of it there is tensor_descriptor; what is for GPUs' binaries raises NotImplementedError."""
from ..absent import lookup
from . import tensor_descriptor

_ABSENT = ("LinearLayout", "build_extern", "compile", "disasm", "gsan", "link", "mxfp", "ragged_tma", "triton_to_gluon_translator")


__getattr__ = lookup("triton.tools", dict.fromkeys(_ABSENT, "it is for GPUs' layouts, binaries and types"))


__all__ = ["tensor_descriptor"]
