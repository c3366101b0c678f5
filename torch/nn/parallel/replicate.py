"""Copies of a module on several devices."""

from __future__ import annotations

__all__ = ["replicate"]


def replicate(network, devices, detach=False):
    """Copies of `network` on the devices, whose gradients flow back to it: not implemented."""
    raise NotImplementedError(f"replicate to the devices {list(devices)} is not implemented")
