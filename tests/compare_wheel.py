"""Compare the packages in a wheel with those of the checkout: the same files, byte for byte.

Run it as `python tests/compare_wheel.py WHEEL` in the checkout.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGES = ("infinite_memory", "infinite_memory_mcp")


def compare(wheel: Path, checkout: Path) -> list[str]:
    """Return a sentence for each file that differs, or that only one of the two has."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *PACKAGES],
        cwd=checkout,
        check=True,
        capture_output=True,
        text=True,
    )
    tracked = {name for name in listed.stdout.split("\0") if name}
    with zipfile.ZipFile(wheel) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        packed = {name: archive.read(name) for name in names if name.split("/")[0] in PACKAGES}
    differences = [f"{name} is not in the wheel" for name in sorted(tracked - packed.keys())]
    differences += [f"{name} is not in the checkout" for name in sorted(packed.keys() - tracked)]
    differences += [
        f"{name} is not the same in both"
        for name in sorted(tracked & packed.keys())
        if packed[name] != (checkout / name).read_bytes()
    ]
    return differences


def main() -> int:
    """Print the differences, and return 1 if there are any."""
    differences = compare(Path(sys.argv[1]), Path(__file__).parents[1])
    print("\n".join(differences) or "the wheel holds what the checkout holds")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
