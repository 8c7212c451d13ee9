"""An action as one line of JSON."""

from __future__ import annotations

import json

from hypothesis import given

from infinite_memory.core.values.entry import Action
from infinite_memory.testing.strategies import actions


@given(actions())
def test_an_action_is_the_line_that_the_encoder_of_json_would_write(action: Action) -> None:
    text = action.to_text()
    written = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    assert text == written
    assert Action.of(text) == action
