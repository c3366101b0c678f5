"""triton.language.extra.cuda: libdevice by the name that programs for GPUs have for it."""
from . import libdevice
