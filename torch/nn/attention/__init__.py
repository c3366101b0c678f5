"""`torch.nn.attention`: which kernels scaled_dot_product_attention may use."""

from __future__ import annotations

import contextlib
from enum import Enum

__all__ = [
    "SDPBackend",
    "sdpa_kernel",
    "WARN_FOR_UNFUSED_KERNELS",
    "register_flash_attention_impl",
    "activate_flash_attention_impl",
    "list_flash_attention_impls",
    "current_flash_attention_impl",
    "restore_flash_attention_impl",
]

# Whether a kernel that cannot be used says why.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """A kernel of `torch.nn.functional.scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    __index__ = __int__


_ENABLED_ORDER = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
)

_backend_names = {
    "cudnn": "CUDNN_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "mem_efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
    "overrideable": "OVERRIDEABLE",
}

# The kernels allowed, and their order of preference. Every kernel of this build gives the same
# bits, so the choice changes nothing but what is reported here.
_enabled = set(_ENABLED_ORDER)
_priority = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
]


def _backend_from_string(name: str) -> SDPBackend:
    return getattr(SDPBackend, name)


def _cur_sdpa_kernel_backends(with_priority: bool = False):
    """The kernels allowed now, by preference where asked."""
    return [b for b in (_priority if with_priority else _ENABLED_ORDER) if b in _enabled]


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority: bool = False):
    """Within this context (or decorated function) attention uses the given kernels only.

    Args:
        backends (SDPBackend or list of SDPBackend): those allowed.
        set_priority (bool): whether their order is the order of preference.
    """
    global _enabled, _priority
    if isinstance(backends, SDPBackend):
        backends = [backends]
    if not isinstance(backends, (list, tuple)) or not all(
        isinstance(b, SDPBackend) for b in backends
    ):
        raise AssertionError(
            f"backends must be an SDPBackend or a list of them, but got {backends!r}"
        )
    saved = _enabled, _priority
    _enabled = set(backends)
    if set_priority:
        _priority = [*dict.fromkeys(backends), *(b for b in _priority if b not in backends)]
    try:
        yield {}
    finally:
        _enabled, _priority = saved


_flash_impls = {}
_active_flash_impl = None


def register_flash_attention_impl(impl: str, *, register_fn) -> None:
    """Makes an implementation of flash attention known under the name `impl`."""
    _flash_impls[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Switches to a registered implementation; ValueError for an unknown name."""
    global _active_flash_impl
    if impl not in _flash_impls:
        raise ValueError(
            f"no implementation of flash attention named {impl!r} is registered; known: "
            f"{list_flash_attention_impls()}"
        )
    _flash_impls[impl]()
    _active_flash_impl = impl


def restore_flash_attention_impl() -> None:
    """Switches back to the implementation of this build."""
    global _active_flash_impl
    _active_flash_impl = None


def list_flash_attention_impls() -> list[str]:
    """The names of the registered implementations."""
    return sorted(_flash_impls)


def current_flash_attention_impl() -> str | None:
    """The implementation switched to, or None for that of this build."""
    return _active_flash_impl
