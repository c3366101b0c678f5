"""Check the house rules that a compiler does not: who may include or import whom, and names.

    check_layers.py [ROOT]

Prints a line for every breach and exits 1 when there is one. The order is that of
docs/architecture.md: a folder includes only folders of a lower rank, and itself.
"""
import ast
import pathlib
import re
import subprocess
import sys

RANK = {"core": 0, "math": 1, "dispatch": 2, "ops": 3, "cpu": 4, "cuda": 4, "autograd": 4,
        "serialize": 5, "profile": 5, "compile": 5, "script": 5, "distributed": 5, "api": 5, "python": 6}
HEAVY = {"functional", "iostream", "regex", "unordered_map"}  # not in a header of core/
NAMELESS = {"utils", "helpers", "common", "misc"}
USERS_OWN = ("torch/utils", "torch/nn/utils", "torch/nn/modules/utils.py", "torch/distributions/utils.py", "torch/_utils", "torch/fx/passes/utils", "torch/_dynamo/utils.py")  # names that programs import
# Modules that torch/ may import while it loads; anything else waits until it is used.
AT_LOAD = sys.stdlib_module_names | {"torch", "triton", "typing_extensions"}
UNTOLD = re.compile("|".join(["/wo" + "rk/", r"\bsess" + r"ions?\b", "pypi" + r"\.org", "pythonhosted" + r"\.org",
                              "crates" + r"\.io", "npmjs" + r"\.org", "deb.debian" + r"\.org"]), re.I)
CODE = {".h", ".cpp", ".cu", ".py", ".pyi", ".cmake"}


def tracked(root):
    out = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True, check=True).stdout
    return [p for p in map(pathlib.PurePosixPath, out.splitlines()) if (root / p).is_file()]


def layer(path):
    """The headers of ops/math are scalar functions: they stand on core/ alone, and dispatch/ on them."""
    scalar = path.startswith("ops/math/") and path.endswith(".h")
    return "math" if scalar else path.split("/")[0]


def check_includes(path, text):
    own = layer(str(path))
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if not found:
            continue
        target = layer(found[1] or found[2])
        if own in RANK and target in RANK and target != own and RANK[target] >= RANK[own]:
            yield f"{path}:{number}: {own} may not include {found[1] or found[2]}"
        if own in RANK and found[1] and found[1].startswith("torch/"):
            yield f"{path}:{number}: nothing internal includes the public header {found[1]}"
        if own == "core" and path.suffix == ".h" and found[2] in HEAVY:
            yield f"{path}:{number}: <{found[2]}> is too heavy for a header of core/"


def check_imports(path, text):
    if path.parts[0] not in ("torch", "triton"):
        return
    nodes = ast.parse(text).body
    while nodes:  # what runs while the module loads: statements outside functions
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        nodes += [n for n in ast.iter_child_nodes(node) if isinstance(n, (ast.stmt, ast.ExceptHandler))]
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        for name in names:
            if name.split(".")[0] not in AT_LOAD:
                yield f"{path}:{node.lineno}: {name} is imported while torch loads"
            if path.parts[:2] == ("torch", "nn") and name.startswith("torch.optim"):
                yield f"{path}:{node.lineno}: torch.nn stands below torch.optim"


def check_readmes(paths, root):
    """A folder of the first level says in at most 40 lines what it is for."""
    for folder in sorted({p.parts[0] for p in paths if len(p.parts) > 1 and p.parts[0][0] != "."}):
        if not (root / folder / "README.md").is_file():
            yield f"{folder}: no README.md says what it is for and what must not go there"
    for path in paths:
        if path.name == "README.md" and len(path.parts) > 1:
            if len((root / path).read_text().splitlines()) > 40:
                yield f"{path}: more than 40 lines"


def check(root):
    paths = tracked(root)
    yield from check_readmes(paths, root)
    for path in paths:
        named = str(path).startswith(USERS_OWN)
        for part in (*path.parts[:-1], path.stem):
            if part.lower() in NAMELESS and not named:
                yield f"{path}: nothing is named {part}"
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            continue
        lines = text.splitlines()
        if path.suffix in CODE and len(lines) >= 1000:
            yield f"{path}: {len(lines)} lines, a file has less than 1000"
        for number, line in enumerate(lines, 1):
            if UNTOLD.search(line):
                yield f"{path}:{number}: the repository speaks of the project alone: {UNTOLD.search(line)[0]}"
        if path.suffix in (".h", ".cpp", ".cu"):
            yield from check_includes(path, text)
        elif path.suffix == ".py":
            yield from check_imports(path, text)


if __name__ == "__main__":
    found = list(check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
    print("\n".join(found))
    sys.exit(bool(found))
