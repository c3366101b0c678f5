"""Which public names the packages of the reference have, as a table: one line "package name name ..." for each.

    PYTHON record_api.py > torch/_api_names.txt

PYTHON is an interpreter with the reference torch. What a package only imports from elsewhere (typing, os ...) is left
out. torch/_absent.py reads the table: such a name that is not there yet says so.
"""

import importlib
import types
import warnings

PACKAGES = (
    "torch torch.Tensor torch.accelerator torch.autograd torch.cuda torch.distributed torch.distributions torch.fft torch.func "
    "torch.linalg torch.mps torch.mtia torch.nn torch.nn.functional torch.optim torch.optim.lr_scheduler torch.special "
    "torch.utils torch.utils.data torch.xpu"
).split()


def own(package, name):
    """Whether a name is part of a package's interface rather than something that it imports."""
    value = getattr(package, name, None)
    if isinstance(package, type):
        return True
    if isinstance(value, types.ModuleType):
        return value.__name__ == f"{package.__name__}.{name}"
    home = getattr(value, "__module__", None) or "torch"
    return isinstance(home, str) and home.split(".")[0] == "torch" and (callable(value) or package.__name__ == "torch")


def main():
    warnings.simplefilter("ignore")
    for path in PACKAGES:
        parent, _, last = path.rpartition(".")
        package = importlib.import_module(path) if last != "Tensor" else importlib.import_module(parent).Tensor
        names = sorted(n for n in dir(package) if not n.startswith("_") and own(package, n))
        if path != "torch" and last != "Tensor":
            names = [n for n in names if n not in ("torch", "Tensor")]
        print(path, *names)


if __name__ == "__main__":
    main()
