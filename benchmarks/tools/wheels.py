"""Which platforms the dependencies have wheels for, by platform, Python and extra.

    python -m benchmarks.tools.wheels [EXTRA ...]

Resolves the dependencies in pyproject.toml, as uv would install them there, from wheels alone. Each
row is a platform, and each column a Python: "yes", or the first package without a wheel. It needs
the extra `dev` and an index of packages.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux, x86-64, glibc 2.28": "x86_64-manylinux_2_28",
    "Linux, ARM, glibc 2.28": "aarch64-manylinux_2_28",
    "Linux, x86-64, musl": "x86_64-unknown-linux-musl",
    "Linux, ARM, musl": "aarch64-unknown-linux-musl",
    "macOS 14, ARM": "aarch64-apple-darwin",
    "macOS 14, Intel": "x86_64-apple-darwin",
    "Windows, x86-64": "x86_64-pc-windows-msvc",
    "Windows on ARM": "aarch64-pc-windows-msvc",
}
_NEED = re.compile(r"[\w.-]+\[(?P<extras>[^]]+)\]")


def list_needs(extras: Sequence[str]) -> Iterator[str]:
    """Yield the requirements of the package with `extras`, those of its own extras written out."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    yield from project["dependencies"]
    for extra in extras:
        for need in project["optional-dependencies"][extra]:
            own = _NEED.fullmatch(need) if need.startswith(f"{project['name']}[") else None
            yield from list_needs(own["extras"].split(",")) if own else [need]


def resolve(needs: Sequence[str], platform: str, python: str) -> str:
    """Return "yes" if all `needs` have wheels for a platform and a Python, else what has none."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header", "-"),
            *("--only-binary", ":all:", "--python-platform", platform, "--python-version", python),
        ],
        input="\n".join(needs),
        env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return "yes"
    said = " ".join(done.stderr.split())
    missing = re.search(r"([\w-]+)\S* has no (?:usable wheels|wheels with a)", said)
    return f"no: {missing[1]}" if missing else f"no: {said[:300]}"


def main() -> None:
    """Print the table of the required packages, and one of each extra that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extra", nargs="*", help="of the package, such as mcp")
    for extras in ((), *((extra,) for extra in parser.parse_args().extra)):
        needs = list(list_needs(extras))
        print(f"| {f'with {extras[0]}' if extras else 'required'} | {' | '.join(PYTHONS)} |")
        print("|---|" + "---|" * len(PYTHONS))
        for name, platform in PLATFORMS.items():
            cells = (resolve(needs, platform, python) for python in PYTHONS)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
