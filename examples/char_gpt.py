"""Train a small character GPT on the licence texts that Debian ships and print a sample.

    python examples/char_gpt.py                 about five minutes on two cores
    python examples/char_gpt.py --steps 50      a taste

An ordinary PyTorch program: a decoder-only transformer over characters, AdamW, a warm-up and
cosine schedule, and sampling with a temperature.
"""
import argparse
import math
import pathlib
import time

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Causal self-attention: (B, T, C) -> (B, T, C)."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, heads, T, C / heads)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    """Attention and a two-layer network, each on a normalised copy and added back."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                  nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    """Character ids (B, T) -> logits of the next character (B, T, characters)."""

    def __init__(self, characters, context, width=128, heads=4, layers=4, dropout=0.1):
        super().__init__()
        self.context = context
        self.token = nn.Embedding(characters, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        self.apply(self.start_small)

    def start_small(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def sample(self, ids, count, temperature=0.8):
        """Draw `count` further characters after ids (1, T)."""
        self.eval()
        for _ in range(count):
            logits = self(ids[:, -self.context:])[:, -1] / temperature
            ids = torch.cat([ids, torch.multinomial(F.softmax(logits, dim=-1), 1)], dim=1)
        return ids


def read_texts(folder):
    files = [p for p in sorted(folder.iterdir()) if p.is_file() and not p.is_symlink()]
    return "\n\n".join(p.read_text(errors="replace") for p in files)


def draw_batch(data, size, context):
    starts = torch.randint(len(data) - context - 1, (size,)).tolist()
    x = torch.stack([data[s:s + context] for s in starts])
    y = torch.stack([data[s + 1:s + context + 1] for s in starts])
    return x, y


def learning_rate(step, steps, peak, warm_up=50):
    if step < warm_up:
        return peak * (step + 1) / warm_up
    return peak * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def held_out_loss(model, data, context):
    """Mean loss over the held-out text, window after window."""
    model.eval()
    count = (len(data) - 1) // context
    x = data[:count * context].view(count, context)
    y = data[1:count * context + 1].view(count, context)
    with torch.no_grad():
        losses = [F.cross_entropy(model(a).flatten(0, 1), b.flatten()).item() * len(a)
                  for a, b in zip(x.split(32), y.split(32))]
    model.train()
    return sum(losses) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prompt", default="The licensee may ")
    parser.add_argument("--length", type=int, default=400, help="characters to sample")
    parser.add_argument("--texts", type=pathlib.Path, default="/usr/share/common-licenses")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)

    text = read_texts(args.texts)
    alphabet = sorted(set(text) | set(args.prompt))
    code = {character: i for i, character in enumerate(alphabet)}
    data = torch.tensor([code[character] for character in text])
    split = int(0.95 * len(data))
    train, held_out = data[:split], data[split:]
    model = GPT(len(alphabet), args.context)
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(text)} characters, {len(alphabet)} different; {count} parameters")

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95),
                                  weight_decay=0.1)
    start = time.perf_counter()
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args.steps, args.lr)
        x, y = draw_batch(train, args.batch, args.context)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step == args.steps - 1:
            seconds = (time.perf_counter() - start) / (step + 1)
            print(f"step {step:5}  loss {loss.item():.3f}  {seconds:.3f} s a step", flush=True)
    print(f"held-out loss {held_out_loss(model, held_out, args.context):.3f} a character")

    prompt = torch.tensor([[code[character] for character in args.prompt]])
    sample = model.sample(prompt, args.length)[0].tolist()
    print("".join(alphabet[i] for i in sample))


if __name__ == "__main__":
    main()
