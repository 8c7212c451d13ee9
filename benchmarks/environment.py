"""What a measurement ran on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from infinite_memory.core.errors import DISTRIBUTION


def describe_environment() -> str:
    """Return one line that names the machine and the versions that matter."""
    packages = ("numpy", "onnxruntime", "tokenizers", "apsw", DISTRIBUTION)
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores,"
        f" Python {platform.python_version()}, {versions}"
    )
