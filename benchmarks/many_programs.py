"""Does memory stay bounded where shapes or programs are ever new?

    python benchmarks/many_programs.py [shapes|lambdas|sources|chains|graphs|gradients|kernels|operators ...] [--rounds 10000]

Prints the resident size, in MB, every tenth of the rounds. shapes: a compiled graph and a compiled function are called with another
shape each round. lambdas: one lambda of a loop is compiled each round, and dropped. sources: the same of a function whose
code is new. chains: a graph that needs a kernel of its own. graphs: another traced module. gradients: a compiled function with a backward pass. kernels: a new Triton kernel.
operators: an operator that is defined and taken back. The last ones take a tenth, or a hundredth, of the rounds.
"""
import argparse
import gc
import linecache

import torch


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 1e6


x = torch.linspace(-1, 1, 48).view(6, 8)


def shapes():
    from torch._inductor import compile as compile_graph
    f = lambda x: (x.tanh() * 2).softmax(-1)   # noqa: E731
    graph, function = compile_graph(f, (x,)), torch.compile(f)

    def step(i):
        y = torch.ones(i % 199 + 1, i // 199 + 1)
        graph(y)
        function(y)
    return step


def lambdas():
    def step(i):
        torch.compile(lambda v: v * 2 + i)(x)
        if i % 100 == 0:
            torch._dynamo.reset()   # else most run as they are, beyond accumulated_recompile_limit
    return step


def sources():
    def step(i):
        names = {"torch": torch}
        exec(f"def f{i}(v):\n  return torch.tanh(v * {i}) + {i / 7}", names)
        torch.compile(names[f"f{i}"])(x)
    return step


def chains():
    import random
    r = random.Random(0)
    steps = "tanh exp sin relu sigmoid abs atan neg cos floor".split()

    def step(i):
        names = [r.choice(steps) for _ in range(8)]

        def f(v):
            for name in names:
                v = getattr(torch, name)(v)
            return v
        torch._inductor.compile(f, (x,))(x)
    return step


def graphs():
    from torch import fx

    def step(i):
        gm = fx.symbolic_trace(lambda v: torch.relu(v) * i + 1)
        torch._inductor.compile(gm, [x])(x)
    return step


def gradients():
    w = torch.ones(8, requires_grad=True)

    def step(i):
        names = {"torch": torch}
        exec(f"def f{i}(v, w):\n  return (torch.tanh(v * w) + {i}).sum()", names)
        torch.compile(names[f"f{i}"])(x, w).backward()
        w.grad = None
    return step


def kernels():
    import importlib.util
    import os
    import tempfile
    folder = tempfile.mkdtemp()

    def step(i):
        path = os.path.join(folder, f"k{i % 10}.py")
        with open(path, "w") as f:
            f.write("import triton\nimport triton.language as tl\n@triton.jit\ndef k(a, n, B: tl.constexpr):\n"
                    f"  i = tl.arange(0, B)\n  tl.store(a + i, i * {i}, mask=i < n)\n")
        linecache.checkcache(path)
        spec = importlib.util.spec_from_file_location(f"k{i}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.k[(1,)](torch.empty(8), 8, B=8)
    return step


def operators():
    def step(i):
        library = torch.library.Library("many_programs", "FRAGMENT")
        library.define(f"f{i}(Tensor x) -> Tensor")
        library.impl(f"f{i}", lambda v: v.clone(), "CPU")
        getattr(torch.ops.many_programs, f"f{i}")(x)
        library._destroy()
    return step


WORK = {"shapes": (shapes, 1), "lambdas": (lambdas, 1), "sources": (sources, 1), "chains": (chains, 10), "graphs": (graphs, 1), "gradients": (gradients, 10), "kernels": (kernels, 10),
        "operators": (operators, 1)}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("what", nargs="*")
    p.add_argument("--rounds", type=int, default=10000)
    a = p.parse_args()
    for name in a.what or WORK:
        make, less = WORK[name]
        step, rounds = make(), a.rounds // less
        sizes = []
        for i in range(rounds):
            step(i)
            if (i + 1) % (rounds // 10) == 0:
                gc.collect()
                sizes.append(resident())
        print(f"{name:10} {rounds:6} rounds, MB: {' '.join(f'{s:.1f}' for s in sizes)}; "
              f"{torch._C._compile_statistics()['known']} kernels in memory", flush=True)


if __name__ == "__main__":
    main()
