"""Running modules side by side."""

from __future__ import annotations

import threading

import torch

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj):
    """The first tensor in `obj`, looked for in lists, tuples and dicts; None if there is none."""
    if isinstance(obj, torch.Tensor):
        return obj
    if isinstance(obj, dict):
        obj = list(obj.items())
    if isinstance(obj, (list, tuple)):
        for result in map(get_a_var, obj):
            if result is not None:
                return result
    return None


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Calls each module with its inputs and keyword arguments, each in a thread of its own.

    Returns the results in order; the first exception in that order is raised.
    """
    if len(modules) != len(inputs):
        raise AssertionError(
            f"there must be as many inputs as modules, but got {len(inputs)} and {len(modules)}"
        )
    kwargs_tup = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    if len(kwargs_tup) != len(modules):
        raise AssertionError(
            f"there must be as many kwargs as modules, but got {len(kwargs_tup)} and {len(modules)}"
        )
    if devices is not None and any(
        d is not None and torch.device(d).type != "cpu" for d in devices
    ):
        raise NotImplementedError(f"parallel_apply on the devices {devices} is not implemented")
    results = [None] * len(modules)
    grad_enabled = torch.is_grad_enabled()

    def work(i):
        try:
            args = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
            with torch.set_grad_enabled(grad_enabled):
                results[i] = (modules[i](*args, **kwargs_tup[i]), None)
        except Exception as e:  # raised again below, in the caller's thread
            results[i] = (None, e)

    if len(modules) == 1:
        work(0)
    else:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(modules))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for _, error in results:
        if error is not None:
            raise error
    return [out for out, _ in results]
