"""Machine code for wide and for narrow vectors gives the same bits."""
import os
import subprocess
import sys
import textwrap

PROGRAM = textwrap.dedent("""
    import hashlib, torch
    from torch.nn import functional as F
    torch.manual_seed(0)
    digest = hashlib.sha256()
    functions = [
        lambda x, w: F.gelu(x * w + 1).sigmoid() * torch.tanh(w), lambda x, w: torch.softmax(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, -1),
        lambda x, w: F.layer_norm(x, (x.shape[-1],), w), lambda x, w: (x * w).cumsum(-1), lambda x, w: torch.erf(x) + torch.lgamma(w).exp(),
        lambda x, w: x.amax(0) + (x * w).sum(0), lambda x, w: (x / w).round().clamp(-3, 3), lambda x, w: torch.where(x > w, x.log1p(), w.sin()).std(-1)]
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        for width in (1, 7, 64, 1000):
            x, w = torch.randn(37, width).to(dtype), torch.rand(width).add(0.5).to(dtype)
            for f in functions:
                y = torch.compile(f, fullgraph=True)(x, w).nan_to_num()   # which NaN it is, is not said
                assert torch.equal(y, f(x, w).nan_to_num())
                digest.update(y.contiguous().view(torch.uint8).numpy().tobytes())
    print(digest.hexdigest())
    """)


def test_width_changes_no_bit(tmp_path):
    seen = set()
    for extra in ({}, {"FB_NARROW_VECTORS": "1"}):
        env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), **extra}
        run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        seen.add(run.stdout)
    assert len(seen) == 1
