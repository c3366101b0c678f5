"""Train a ResNet-18 of base width 16 on Fashion-MNIST and look at what it learned.

    python examples/fashion_mnist.py                      one epoch: about 90 % test accuracy
    python examples/fashion_mnist.py --steps 60 --time    seconds per training step, nothing else

An ordinary PyTorch program. It writes learning_curve.png, confusion_matrix.png and checkpoint.pt
into --out, then a fresh process loads the checkpoint and must evaluate it to the same digits.
The data are the gzip IDX files of Debian's package dataset-fashion-mnist.
"""
import argparse
import gzip
import hashlib
import pathlib
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES = ["T-shirt", "trouser", "pullover", "dress", "coat",
           "sandal", "shirt", "sneaker", "bag", "ankle boot"]


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut: (N, inputs, H, W) -> (N, outputs, H/stride, W/stride)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                          nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    """Images (N, 1, 28, 28) -> logits (N, 10); the stem keeps the resolution of small images."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, 1, 1, bias=False),
                                  nn.BatchNorm2d(width), nn.ReLU())
        blocks, inputs = [], width
        for stage in range(4):
            for stride in (1 if stage == 0 else 2, 1):
                blocks.append(Block(inputs, width << stage, stride))
                inputs = width << stage
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, 10)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def read_idx(path):
    """One gzip IDX file of bytes as an array: the header holds the rank and the sizes."""
    raw = gzip.decompress(path.read_bytes())
    rank = raw[3]
    sizes = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(sizes).copy()


def load_split(folder, split):
    """Images scaled to mean 0 and deviation 1 of the training set, and labels."""
    images = torch.from_numpy(read_idx(folder / f"{split}-images-idx3-ubyte.gz"))
    labels = torch.from_numpy(read_idx(folder / f"{split}-labels-idx1-ubyte.gz"))
    images = (images.unsqueeze(1).float() / 255 - 0.2860) / 0.3530
    return TensorDataset(images, labels.long())


def evaluate(model, data):
    """Mean loss, accuracy and the confusion matrix (true class, predicted class) over a set."""
    model.eval()
    loss, confusion = 0.0, torch.zeros(10, 10, dtype=torch.long)
    with torch.no_grad():
        for images, labels in DataLoader(data, batch_size=500):
            logits = model(images)
            loss += F.cross_entropy(logits, labels, reduction="sum").item()
            cells = labels * 10 + logits.argmax(dim=1)
            confusion += torch.bincount(cells, minlength=100).reshape(10, 10)
    accuracy = confusion.diagonal().sum().item() / len(data)
    return loss / len(data), accuracy, confusion


def result_line(loss, accuracy):
    return f"test loss {loss!r} accuracy {100 * accuracy:.2f} %"


def weights_digest(model):
    """A short hash of every parameter and buffer: equal only when the weights are, bit for bit."""
    digest = hashlib.sha256()
    for name, value in model.state_dict().items():
        digest.update(name.encode())
        digest.update(value.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def train(model, data, args):
    """One-cycle SGD. Returns (loss, accuracy) of every step, and the seconds each took."""
    loader = DataLoader(data, batch_size=128, shuffle=True, drop_last=False)
    total = args.steps or args.epochs * len(loader)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True,
                                weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=total,
                                                   pct_start=0.2, anneal_strategy="linear")
    model.train()
    history, seconds = [], []
    bar = progress_bar(total, args)
    while len(history) < total:
        for images, labels in loader:
            start = time.perf_counter()
            logits = model(images)
            loss = F.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            accuracy = (logits.argmax(dim=1) == labels).float().mean().item()
            history.append((loss.item(), accuracy))
            seconds.append(time.perf_counter() - start)
            bar.update(1)
            bar.set_postfix(loss=f"{history[-1][0]:.3f}", accuracy=f"{100 * accuracy:.1f} %")
            if len(history) == total:
                break
    bar.close()
    return history, seconds


def progress_bar(total, args):
    from tqdm import tqdm
    return tqdm(total=total, desc="training", unit="step", disable=args.time, mininterval=0.5)


def draw_learning_curve(history, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    losses, accuracies = np.array(history).T
    window = max(1, len(losses) // 20)
    mean = np.convolve(losses, np.ones(window) / window, "valid")
    figure, left = plt.subplots(figsize=(8, 4.5))
    left.plot(losses, color="tab:blue", alpha=0.3, label="loss")
    left.plot(np.arange(len(mean)) + window - 1, mean, color="tab:blue", label=f"mean of {window}")
    left.set_xlabel("step")
    left.set_ylabel("training loss")
    right = left.twinx()
    right.plot(100 * accuracies, color="tab:orange", alpha=0.4, label="accuracy")
    right.set_ylabel("training accuracy, %")
    figure.legend(loc="center right", bbox_to_anchor=(0.88, 0.5))
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_confusion_matrix(confusion, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    cells = confusion.numpy()
    figure, axes = plt.subplots(figsize=(7.5, 6.5))
    axes.imshow(cells, cmap="Blues")
    for true in range(10):
        for predicted in range(10):
            dark = cells[true, predicted] > cells.max() / 2
            axes.text(predicted, true, cells[true, predicted], ha="center", va="center",
                      color="white" if dark else "black", fontsize=8)
    axes.set_xticks(range(10), CLASSES, rotation=45, ha="right")
    axes.set_yticks(range(10), CLASSES)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def evaluate_checkpoint(path, test):
    model = ResNet18()
    model.load_state_dict(torch.load(path)["model"])
    loss, accuracy, _ = evaluate(model, test)
    return result_line(loss, accuracy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps")
    parser.add_argument("--time", action="store_true", help="print seconds per step and stop")
    parser.add_argument("--threads", type=int, default=0, help="default: what torch chooses")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1, help="peak of the one-cycle schedule")
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--out", type=pathlib.Path, default="runs/fashion_mnist")
    parser.add_argument("--evaluate", type=pathlib.Path, metavar="CHECKPOINT",
                        help="only load a checkpoint and evaluate it")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.evaluate:
        print(evaluate_checkpoint(args.evaluate, load_split(args.data, "t10k")))
        return

    torch.manual_seed(args.seed)
    model = ResNet18()
    started = time.perf_counter()
    history, seconds = train(model, load_split(args.data, "train"), args)
    if args.time:
        measured = seconds[min(5, len(seconds) - 1):]  # the first steps warm caches and the clock
        print(f"{sum(measured) / len(measured):.4f} seconds per step over {len(measured)} steps")
        last = [loss for loss, _ in history[-10:]]
        print(f"training loss {sum(last) / len(last):.3f}")
        print(f"weights {weights_digest(model)}")
        return
    print(f"trained {len(history)} steps in {time.perf_counter() - started:.1f} s")
    print(f"weights {weights_digest(model)}")

    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint = args.out / "checkpoint.pt"
    torch.save({"model": model.state_dict(), "steps": len(history), "seed": args.seed}, checkpoint)
    loss, accuracy, confusion = evaluate(model, load_split(args.data, "t10k"))
    print(result_line(loss, accuracy))
    draw_learning_curve(history, args.out / "learning_curve.png")
    draw_confusion_matrix(confusion, args.out / "confusion_matrix.png")

    command = [sys.executable, __file__, "--evaluate", str(checkpoint), "--data", str(args.data),
               "--threads", str(args.threads)]
    again = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if again != result_line(loss, accuracy):
        sys.exit(f"a fresh process evaluates the checkpoint differently: {again}")
    print(f"a fresh process loads {checkpoint} and finds the same digits")


if __name__ == "__main__":
    main()
