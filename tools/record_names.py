"""Which public names each operator has, as a table: one line "operator flags" for each.

    PYTHON record_names.py > tests/sweep/names.txt

PYTHON is an interpreter with the reference torch, numpy and scipy; tests/sweep/test_names.py holds ours against the
table. Flags: f torch.X, F torch.X_, m Tensor.X, M Tensor.X_, n nn.functional.X, N nn.functional.X_, s special.X,
l linalg.X, t fft.X; o the function takes out=, x it refuses (tried with the first case of its record, so neither where
there is none); "-" where there is nothing.
"""

import importlib
import pathlib
import sys
import warnings

PREFIXES = {"special_": ("special", "s"), "linalg_": ("linalg", "l"), "fft_": ("fft", "t")}


def takes_out(torch, function, record):
    """Whether a function takes out=; None where it cannot be called as the operator is."""
    from sweep.compare import flat
    from sweep.tensors import Arguments

    filled = Arguments(record.cases[0], record.main())
    try:
        results = flat(function(*filled.fresh()[0], **filled.fresh()[1]))
    except Exception:
        return None
    if not all(isinstance(r, torch.Tensor) for r in results):
        return None
    outs = tuple(torch.empty(0, dtype=r.dtype) for r in results)
    args, kwargs = filled.fresh()
    try:
        function(*args, **kwargs, out=outs if len(outs) > 1 else outs[0])
    except TypeError:
        return False
    except Exception:
        return None
    return True


def flags(torch, name, record=None):
    """The flags of one operator in a torch."""
    F = torch.nn.functional
    found = [
        flag
        for flag, module, n in (
            ("f", torch, name),
            ("F", torch, name + "_"),
            ("m", torch.Tensor, name),
            ("M", torch.Tensor, name + "_"),
            ("n", F, name),
            ("N", F, name + "_"),
        )
        if hasattr(module, n)
    ]
    function = getattr(torch, name, None)
    for prefix, (module, flag) in PREFIXES.items():
        short = name.removeprefix(prefix)
        if name.startswith(prefix) and hasattr(getattr(torch, module), short):
            found.append(flag)
            function = getattr(getattr(torch, module), short)
    if record is not None and callable(function):
        found.append({True: "o", False: "x", None: ""}[takes_out(torch, function, record)])
    return "".join(sorted(found)) or "-"


def main():
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
    torch = importlib.import_module("torch")
    records = importlib.import_module("sweep.records")
    records.load()
    known = importlib.import_module("sweep.record").RECORDS
    names = {s.name.removeprefix("aten::") for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    for name in sorted(names):
        sys.stdout.write(f"{name} {flags(torch, name, known.get(name))}\n")


if __name__ == "__main__":
    main()
