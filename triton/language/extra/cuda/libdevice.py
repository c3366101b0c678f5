"""The functions of triton.language.extra.libdevice."""
from ..libdevice import *  # noqa: F403
