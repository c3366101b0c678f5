"""Files and models from elsewhere, kept in a folder of the user's cache."""

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
           "set_dir"]

# The first 8 or more digits of a file's SHA-256 stand in its name, as in resnet18-f37072fd.pth.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
READ_DATA_CHUNK = 128 * 1024
_hub_dir = None


def _get_torch_home():
    """The folder for what is kept: TORCH_HOME, or torch in the user's cache."""
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir():
    """The folder of hub: that of `set_dir`, or hub in the folder for what is kept."""
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Sets the folder of hub."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _check_module_exists(name):
    return importlib.util.find_spec(name) is not None


def _import_module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _add_to_sys_path(path):
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)


def _hubconf(folder):
    with _add_to_sys_path(folder):
        module = _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))
    missing = [m for m in getattr(module, VAR_DEPENDENCY, None) or ()
               if not _check_module_exists(m)]
    if missing:
        raise RuntimeError(f"{folder} needs these modules, which are missing: {missing}")
    return module


def _folder(repo_or_dir, source):
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f"source must be 'github' or 'local', got {source!r}")
    if source == "github":
        raise NotImplementedError("torch.hub with source='github': clone the repository and pass "
                                  "its folder with source='local'")
    return os.path.expanduser(repo_or_dir)


def _entry(module, name):
    entry = getattr(module, name, None)
    if not callable(entry):
        raise RuntimeError(f"{MODULE_HUBCONF} defines no function {name}")
    return entry


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True, *,
         source="github"):
    """The names of the functions that a repository's hubconf.py offers."""
    module = _hubconf(_folder(github, source))
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check", *,
         source="github"):
    """The documentation of a function in hubconf.py."""
    return _entry(_hubconf(_folder(github, source)), model).__doc__


def load(repo_or_dir, model, *args, source="github", trust_repo="check", force_reload=False,
         verbose=True, skip_validation=False, **kwargs):
    """What the function `model` of a folder's hubconf.py returns; source="local" names a folder."""
    folder = _folder(repo_or_dir, source)
    module = _hubconf(folder)
    with _add_to_sys_path(folder):
        return _entry(module, model)(*args, **kwargs)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Fetches a file; `hash_prefix` are the first digits of its SHA-256.

    Raises RuntimeError when they differ. The file appears at `dst` once it is complete.
    """
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(dst)
    temporary = f"{dst}.{os.getpid()}.part"
    digest = hashlib.sha256()
    try:
        with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as response, \
                open(temporary, "wb") as out:
            total = int(response.headers.get("Content-Length") or 0)
            done = shown = 0
            while chunk := response.read(READ_DATA_CHUNK):
                out.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if progress and total and done - shown > total / 50:
                    shown = done
                    sys.stderr.write(f"\r{done / total:4.0%} of {total / 1e6:.1f} MB")
            if progress and shown:
                sys.stderr.write("\n")
        if hash_prefix and digest.hexdigest()[:len(hash_prefix)] != hash_prefix:
            raise RuntimeError(f"the SHA-256 of {url} begins with "
                               f"{digest.hexdigest()[:len(hash_prefix)]}, expected {hash_prefix}")
        shutil.move(temporary, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True,
                             check_hash=False, file_name=None, weights_only=False):
    """`torch.load` of a file that is fetched once and kept in `model_dir` (checkpoints in hub's
    folder by default). `check_hash` compares the digits in its name."""
    import torch
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated: set TORCH_HOME", stacklevel=2)
    if model_dir is None:
        model_dir = os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        sys.stderr.write(f"fetching {url} to {path}\n")
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    if _is_legacy_zip_format(path):
        return _legacy_zip_load(path, model_dir, map_location, weights_only)
    return torch.load(path, map_location=map_location, weights_only=weights_only)


def _is_legacy_zip_format(filename):
    """Whether a zip file around one file in the older form."""
    if not zipfile.is_zipfile(filename):
        return False
    with zipfile.ZipFile(filename) as archive:
        infos = archive.infolist()
        return len(infos) == 1 and not infos[0].is_dir()


def _legacy_zip_load(filename, model_dir, map_location, weights_only):
    import torch
    with zipfile.ZipFile(filename) as archive:
        info, = archive.infolist()
        with tempfile.TemporaryDirectory() as folder, archive.open(info) as packed:
            path = os.path.join(folder, "member")
            with open(path, "wb") as out:
                shutil.copyfileobj(packed, out)
            return torch.load(path, map_location=map_location, weights_only=weights_only)
