"""Machine code on disk: whatever is wrong with an entry, a folder or a variable, code is made anew, and gives the same bits."""
import json
import os
import random
import shutil
import subprocess
import sys

import pytest

# For each variant a child, which applies it, compiles, and tells: value, kernels made, kernels loaded.
PROGRAM = """
import ctypes, json, os, resource, shutil, signal, sys, torch
from torch._inductor import compile
def f(x): return torch.tanh(x * 3).exp().sum()
def g(x): return torch.sigmoid(x) * x
x = torch.linspace(-1, 1, 100)
for v in json.loads(sys.argv[1]):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        for name in ("TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            os.environ.pop(name, None)
        os.environ.update(v.get("env", {}))
        if "cd" in v: os.chdir(v["cd"])
        if v.get("plain"):   # root without its rights: what a folder's mode says holds
            ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
        if "bytes" in v: resource.setrlimit(resource.RLIMIT_FSIZE, (v["bytes"], v["bytes"]))
        value = compile(f, (x,))(x).item()
        if "remove" in v: shutil.rmtree(v["remove"])
        assert torch.equal(compile(g, (x,))(x), g(x))
        s = torch._C._compile_statistics()
        os.write(w, json.dumps([value, s["kernels"], s["loaded"]]).encode())
        os._exit(0)
    os.close(w)
    _, status = os.waitpid(pid, 0)
    print(os.read(r, 1000).decode() or json.dumps(status), flush=True)
    os.close(r)
"""


def run(*variants):
    p = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(variants)], capture_output=True, text=True, timeout=200)
    assert p.returncode == 0, p.stderr
    results = [json.loads(line) for line in p.stdout.splitlines()]
    assert all(isinstance(r, list) for r in results) and len(results) == len(variants), p.stdout + p.stderr
    return results


def at(folder, **more):
    return {"env": {"TORCHINDUCTOR_CACHE_DIR": str(folder)}, **more}


def entries(folder):
    return sorted((folder / "kernels").glob("*.o"))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder with code, what the program gives, and how many kernels it takes."""
    folder = tmp_path_factory.mktemp("good")
    (value, made, loaded), = run(at(folder))
    assert made >= 2 and loaded == 0 and len(entries(folder)) == made
    return folder, value, made


def swapped(files):
    files[0].write_bytes(files[1].read_bytes())


def replaced(make):
    def damage(files):
        files[0].unlink()
        make(files[0], files)
    return damage


def changed(change):
    def damage(files):
        files[0].write_bytes(change(files[0].read_bytes()))
    return damage


def grown(path, files):
    with open(path, "wb") as f:
        f.truncate(200 << 20)


DAMAGED = {
    "another's code": swapped,
    "empty": changed(lambda b: b""),
    "the header alone": changed(lambda b: b[:64]),
    "within the header": changed(lambda b: b[:17]),
    "cut": changed(lambda b: b[:-1]),
    "longer": changed(lambda b: b + b"\0"),
    "zeros": changed(lambda b: bytes(len(b))),
    "noise": changed(lambda b: random.Random(0).randbytes(len(b))),
    "one bit of the code": changed(lambda b: b[:200] + bytes([b[200] ^ 64]) + b[201:]),
    "one bit of the sum": changed(lambda b: b[:60] + bytes([b[60] ^ 1]) + b[61:]),
    "another version": changed(lambda b: b"flambea0" + b[8:]),
    "very large": replaced(grown),
    "a folder": replaced(lambda p, files: p.mkdir()),
    "a pipe": replaced(lambda p, files: os.mkfifo(p)),
    "a link to code": replaced(lambda p, files: p.symlink_to(files[1])),
    "a link to nothing": replaced(lambda p, files: p.symlink_to("/nowhere/at/all")),
    "a device": replaced(lambda p, files: p.symlink_to("/dev/zero")),
    "others may write": replaced(lambda p, files: (shutil.copy(files[1], p), p.chmod(0o622))),
}


def test_damaged_entries(good, tmp_path):
    folder, value, made = good
    for i, damage in enumerate(DAMAGED.values()):
        shutil.copytree(folder, tmp_path / str(i))
        damage(entries(tmp_path / str(i)))
    for name, result in zip(DAMAGED, run(*(at(tmp_path / str(i)) for i in range(len(DAMAGED))))):
        assert result == [value, 1, made - 1], name
    # What could be replaced was; nothing is left behind.
    for name, i, result in zip(DAMAGED, range(len(DAMAGED)), run(*(at(tmp_path / str(i)) for i in range(len(DAMAGED))))):
        assert result == ([value, 1, made - 1] if name == "a folder" else [value, 0, made]), name
        assert not [f for f in (tmp_path / str(i) / "kernels").iterdir() if f.suffix != ".o"], name


def test_folders(good, tmp_path):
    folder, value, made = good
    kinds, want = [], []

    def add(variant, *counts):
        kinds.append(variant)
        want.append([value, *counts])
    for name, mode in (("full", 0o555), ("closed", 0), ("others", 0o777)):
        shutil.copytree(folder, tmp_path / name)
        (tmp_path / name / "kernels").chmod(mode)
    add(at(tmp_path / "full", plain=True), 0, made)        # read, though nothing can be added
    add(at(tmp_path / "closed", plain=True), made, 0)
    add(at(tmp_path / "others"), made, 0)                  # anyone could put code there
    for name in ("empty", "home"):
        (tmp_path / name).mkdir(0o555)
    add(at(tmp_path / "empty", plain=True), made, 0)
    add({"env": {"HOME": str(tmp_path / "home")}, "plain": True}, made, 0)
    add({"env": {"HOME": str(tmp_path / "nowhere")}}, made, 0)
    add({}, made, 0)                                       # no variable at all
    (tmp_path / "file").write_text("")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "kernels").write_text("")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "kernels").symlink_to("/nowhere/at/all")
    for nonsense in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "taken", tmp_path / "link", "/dev/null", "/dev/null/x", "/proc/self/x",
                     "x" * 300, "/" + "y/" * 4000):
        add(at(nonsense, cd=str(tmp_path / "link")), made, 0)
    for kept in ("relative", "\x01 \\n%s\udcff", "~"):     # odd, but names of folders
        add(at(kept, cd=str(tmp_path / "taken")), made, 0)
        add(at(kept, cd=str(tmp_path / "taken")), 0, made)
    add({"env": {"XDG_CACHE_HOME": str(tmp_path / "file")}}, made, 0)
    shutil.copytree(folder, tmp_path / "gone")
    add(at(tmp_path / "gone", remove=str(tmp_path / "gone")), 1, made - 1)
    for off, counts in (("1", (made, 0)), ("perhaps", (0, made))):
        add({"env": {"TORCHINDUCTOR_CACHE_DIR": str(folder), "TORCHINDUCTOR_FORCE_DISABLE_CACHES": off}}, *counts)
    try:
        results = run(*kinds)
    finally:
        for name in ("full", "closed"):
            (tmp_path / name / "kernels").chmod(0o755)
    for kind, result, wanted in zip(kinds, results, want):
        assert result == wanted, kind
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("limit", [0, 40, 64, 1000])
def test_files_that_cannot_grow(good, tmp_path, limit):
    folder, value, made = good
    assert run(at(tmp_path, bytes=limit), at(tmp_path)) == [[value, made, 0]] * 2
    assert len(list((tmp_path / "kernels").iterdir())) == made


def test_a_full_disk(good, tmp_path):
    folder, value, made = good
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", tmp_path], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (tmp_path / "filler").write_bytes(bytes(4096))
        for result in run(at(tmp_path), at(tmp_path)):
            assert result[0] == value and sum(result[1:]) == made and result[1] > 0
        assert not list((tmp_path / "kernels").glob("*.tmp"))
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_the_number_of_entries_has_a_bound(good, tmp_path):
    """The oldest give way, and what a process left unfinished."""
    folder, value, made = good
    shutil.copytree(folder, tmp_path / "full")
    kernels = tmp_path / "full" / "kernels"
    for i in range(8300):
        f = kernels / (f"{i:032x}.o" if i % 2 else f"{i:032x}.o.1.0.tmp")
        f.touch()
        os.utime(f, (1e9 + i, 1e9 + i))
    (kernels / "note.txt").write_text("another's")
    (kernels / entries(folder)[0].name).unlink()   # so that one is added
    assert run(at(tmp_path / "full")) == [[value, 1, made - 1]]
    left = sorted(p.name for p in kernels.iterdir())
    assert len(left) == 6144 + 2 and "note.txt" in left
    assert f"{8299:032x}.o" in left and f"{0:032x}.o.1.0.tmp" not in left
    assert sum(p.stat().st_size > 60 for p in kernels.glob("*.o")) == made


def test_writers_at_the_same_time(good, tmp_path):
    """Processes that write the same entries while another damages them."""
    folder, value, made = good
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, json.dumps([at(tmp_path)] * 6)], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    r = random.Random(0)
    try:
        while any(p.poll() is None for p in running):
            for f in list((tmp_path / "kernels").glob("*.o")) if (tmp_path / "kernels").exists() else ():
                with open(f, "r+b") as out:
                    if r.random() < 0.5:
                        out.truncate(r.randrange(1, 3000))
                    else:
                        out.seek(r.randrange(1000))
                        out.write(r.randbytes(9))
        for p in running:
            out, _ = p.communicate(timeout=100)
            results = [json.loads(line) for line in out.splitlines()]
            assert p.returncode == 0 and len(results) == 6
            assert all(v == value and a + b == made for v, a, b in results), results
    finally:
        for p in running:
            p.kill()
    assert not list((tmp_path / "kernels").glob("*.tmp"))
