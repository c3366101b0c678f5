"""What a fused kernel costs to make, and to load: python benchmarks/compile_time.py [--make-limit 25] [--load-limit 2] [--list]

Compiles some dozens of fused expressions in a process that has an empty cache, then again in a process that finds all of them on
disk, and prints the medians over their kernels in milliseconds. With limits it fails where a median is greater.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


def expressions():
    """{name: (function, count of operands)}"""
    import torch
    F = torch.nn.functional
    chains = {
        "add, mul": lambda x, y: (x + y) * 0.5,
        "eight cheap cards": lambda x, y: ((x + y).abs() * 0.5 - y).clamp(-1, 1).neg().relu() + x,
        "gelu, sigmoid, tanh": lambda x, y: F.gelu(x * y + 1.0).sigmoid() * torch.tanh(y),
        "silu, mul": lambda x, y: F.silu(x) * y,
        "tanh gelu": lambda x, y: F.gelu(x, approximate="tanh") * y,
        "softplus, mish": lambda x, y: F.mish(F.softplus(x)) + y,
        "sin, cos": lambda x, y: torch.sin(x) * torch.cos(y) + x,
        "exp, log1p": lambda x, y: torch.log1p(torch.exp(x)) - y,
        "erf": lambda x, y: torch.erf(x) + torch.erf(y),
        "where": lambda x, y: torch.where(x > y, x * 2, y - 1).sqrt().nan_to_num(),
        "division": lambda x, y: x / (y.abs() + 1) + torch.rsqrt(x * x + 1),
        "pow": lambda x, y: (x.abs() + 0.1) ** y,
        "atan2, hypot": lambda x, y: torch.atan2(x, y) + torch.hypot(x, y),
        "adam": lambda x, y: x - 0.001 * (0.9 * x + 0.1 * y) / ((0.999 * x * x + 0.001 * y * y).sqrt() + 1e-8),
        "lerp, hardswish": lambda x, y: F.hardswish(torch.lerp(x, y, 0.3)),
        "leaky relu": lambda x, y: F.leaky_relu(x + y, 0.1) - F.elu(y),
        "bias": lambda x, y: F.relu(x + y[0]) * 2,
        "transposed": lambda x, y: x.t().tanh() + y.t(),
    }
    reductions = {
        "sum": lambda x, y: (x * y).sum(),
        "row sums": lambda x, y: (x * y).sum(-1),
        "column sums": lambda x, y: (x * y).sum(0),
        "mean of squares": lambda x, y: ((x - y) ** 2).mean(),
        "row maxima": lambda x, y: (x + y).amax(-1),
        "row variances": lambda x, y: (x - y).var(-1),
        "column variances": lambda x, y: (x - y).var(0),
        "row norms": lambda x, y: x / (x * x).sum(-1, keepdim=True).sqrt(),
        "logsumexp": lambda x, y: (x + y).logsumexp(-1),
        "l1": lambda x, y: F.l1_loss(x, y),
        "huber": lambda x, y: F.smooth_l1_loss(x.tanh(), y),
        "binary cross entropy": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        "running sums": lambda x, y: (x * y).cumsum(-1),
    }
    rows = {
        "softmax": lambda x, y: (x * 0.125 + y).softmax(-1),
        "column softmax": lambda x, y: (x + y).softmax(0),
        "log softmax": lambda x, y: (x + y).log_softmax(-1),
        "layer norm": lambda x, y: F.layer_norm(x + y, x.shape[-1:]),
        "layer norm, gelu": lambda x, y: F.gelu(F.layer_norm(x, x.shape[-1:], y[0], y[1])),
        "rms norm": lambda x, y: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * y[0],
        "rms norm, softmax": lambda x, y: (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).softmax(-1),
        "masked softmax": lambda x, y: x.masked_fill(y > 0, float("-inf")).softmax(-1),
    }
    return {**chains, **reductions, **rows}


def work():
    """Compiles all of them in this process, and prints what it took."""
    import torch
    each = {}
    for dtype in (torch.float32, torch.bfloat16):
        x, y = (torch.randn(256, 1024).to(dtype) for _ in range(2))
        for name, f in expressions().items():
            before = torch._C._compile_statistics()
            torch._inductor.compile(f, (x, y))(x, y)
            after = torch._C._compile_statistics()
            count = after["kernels"] + after["loaded"] - before["kernels"] - before["loaded"]
            took = after["milliseconds"] + after["loading"] - before["milliseconds"] - before["loading"]
            each[f"{name}, {str(dtype)[6:]}"] = count, took / max(1, count)
    s = torch._C._compile_statistics()
    print(json.dumps({"each": each, **s}))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--make-limit", type=float)
    p.add_argument("--load-limit", type=float)
    p.add_argument("--list", action="store_true", help="each expression as well")
    p.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.work:
        return work()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder}
            results.append(json.loads(subprocess.run([sys.executable, __file__, "--work"], env=env, check=True, capture_output=True, text=True).stdout))
    cold, warm = results
    if a.list:
        for name, (count, took) in cold["each"].items():
            print(f"{name:36} {count} kernels, {took:6.1f} ms each; loaded {warm['each'][name][1]:5.2f} ms each")
    print(f"{cold['kernels']} kernels made, {cold['median']:.1f} ms each (median); {warm['loaded']} loaded, {warm['median_loading']:.2f} ms each (median)")
    if warm["kernels"]:
        sys.exit(f"{warm['kernels']} kernels of the first process were not found on disk")
    if a.make_limit and cold["median"] > a.make_limit or a.load_limit and warm["median_loading"] > a.load_limit:
        sys.exit("above the limit")


if __name__ == "__main__":
    main()
