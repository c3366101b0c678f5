"""The attributes of modules that a back end wants, by type of module."""
import torch

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name, target_version):
    """The name itself."""
    return name


module_fetch_book = {
    torch.nn.Linear: (1, ["weight", "bias"], default_matching),
    torch.nn.Conv2d: (1, ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"],
                      default_matching),
    torch.nn.BatchNorm2d: (2, ["weight", "bias", "running_mean", "running_var", "eps"], default_matching),
    torch.nn.AdaptiveAvgPool2d: (1, [], default_matching),
    torch.nn.MaxPool2d: (1, ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"],
                         default_matching),
    torch.nn.ReLU: (1, ["inplace"], default_matching)}


def extract_attrs_for_lowering(mod):
    """{name: value} of a module's attributes; RuntimeError for a type or version that is not known."""
    found = module_fetch_book.get(type(mod))
    if found is None:
        return {"name": torch.typename(mod)}
    version, names, matching = found
    if version < mod._version:
        raise RuntimeError(f"{torch.typename(mod)} has version {mod._version}; the attributes are known up to {version}")
    return {"name": torch.typename(mod), **{n: getattr(mod, matching(n, mod._version)) for n in names}}


def lift_lowering_attrs_to_nodes(fx_module):
    """Writes the attributes of the modules that nodes call into `node.attrs_for_lowering`, in submodules too."""
    submodules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            if isinstance(submodules[node.target], torch.fx.GraphModule):
                lift_lowering_attrs_to_nodes(submodules[node.target])
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(submodules[node.target])
