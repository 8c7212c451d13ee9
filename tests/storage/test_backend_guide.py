from __future__ import annotations

import re
from pathlib import Path

_GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "writing-a-backend.md"


def test_the_examples_of_the_guide_run_from_top_to_bottom() -> None:
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", _GUIDE.read_text("utf-8"))
    assert len(blocks) == 5
    namespace: dict[str, object] = {"__name__": "guide"}
    for block in blocks:
        exec(compile(block, _GUIDE.name, "exec"), namespace)
