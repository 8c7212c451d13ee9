from __future__ import annotations

from pathlib import Path

import pytest
from tiny_bert import write_checkpoint

from benchmarks.tools.export import Precision, export_model


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "tiny-bert")


@pytest.fixture
def model(checkpoint: Path, tmp_path: Path) -> Path:
    export_model(checkpoint, tmp_path / "model", precision=Precision.FP32)
    return tmp_path / "model"
