"""Does memory stay near what is live when every step has another shape?

    python benchmarks/changing_shapes.py [--steps 200] [--seed 0] [--limit 1.3]

Trains a small convolutional network whose batch is drawn from 1 to 512 at every step. Prints how
much the resident size grew from the import to right after the last step, and the allocator's peak
of live bytes. With --limit, fails when the first is more than so many times the second.
"""
import argparse
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn


def resident_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def peak_live_bytes():
    """The most bytes that tensors held at once, from the allocator's own statistics."""
    return torch._C._host_memory_stats()["allocated.peak"]


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        nn.Linear(32 * 16 * 16, 128), nn.GELU(), nn.Linear(128, 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=0.0)
    args = parser.parse_args()
    after_import = resident_bytes()
    torch.manual_seed(args.seed)
    batches = random.Random(args.seed)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(args.steps):
        batch = batches.randint(1, 512)
        images, labels = torch.randn(batch, 3, 32, 32), torch.randint(10, (batch,))
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    grown, peak = resident_bytes() - after_import, peak_live_bytes()
    ratio = grown / peak
    print(f"resident growth {grown / 1e6:.1f} MB, peak of live bytes {peak / 1e6:.1f} MB, ratio {ratio:.2f}")
    if args.limit and ratio > args.limit:
        sys.exit(f"the ratio is above {args.limit}")


if __name__ == "__main__":
    main()
