"""Passes over graphs."""


def __getattr__(name):
    if name in ("shape_prop", "split_module", "graph_drawer", "infra", "utils", "split_utils", "operator_support",
                "tools_common", "param_fetch", "graph_manipulation", "fake_tensor_prop"):
        from importlib import import_module
        return import_module("torch.fx.passes." + name)
    raise AttributeError(f"module 'torch.fx.passes' has no attribute {name!r}")
