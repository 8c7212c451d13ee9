"""Generated files of clients: TOML and JSON texts in the styles that people write them in."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import strategies as st

_NAMES = st.sampled_from(["a", "tui", "hooks", "profiles", "mcp_servers", "other", '"odd name"'])
_VALUES = st.sampled_from(
    ["1", "true", '"x"', "'#'", "[1, 2]", '[\n "a", # why\n "]",\n]', "{ k = 1 }", "[{ k = '[' }]",
     '"""\n[mcp_servers.infinite-memory]\n"""', "'''\n[[a]] # no\n'''", "2026-05-01T10:00:00Z"]
)  # fmt: skip
_NOISE = st.sampled_from(["", "", "\n", "# a comment\n", "\n# [commented]\n\n", "  \n"])
_OURS = st.sampled_from(
    [
        "",
        '[mcp_servers.infinite-memory]\ncommand = "old" # mine\n',
        "[mcp_servers.infinite-memory]\nenabled = true\n\n"
        '[mcp_servers.infinite-memory.env]\nK = "v"\n',
        '[ mcp_servers . "infinite-memory" ]\nurl = "http://127.0.0.1:1/mcp"\n',
        '[mcp_servers]\ninfinite-memory = { command = "old" }\n',
        '[mcp_servers]\ninfinite-memory.command = "old"\ninfinite-memory.enabled = true\n',
        "[mcp_servers]\n",
    ]
)
_HEADS = st.sampled_from(
    ["", "", 'model = "m"\n', "mcp_servers.b.command = 'x'\n", "mcp_servers = { b = { x = 1 } }\n"]
)


@st.composite
def _tables(draw: st.DrawFn) -> str:
    """Draw a table or an item of an array of tables, with keys and noise."""
    path = ".".join(draw(st.lists(_NAMES, min_size=1, max_size=3)))
    opening, closing = draw(st.sampled_from([("[", "]"), ("[[", "]]")]))
    if opening == "[[":  # of few names, so that items of one array stand apart
        path = draw(st.sampled_from(["hooks", "hooks", "a.b", "mcp_servers.other.steps"]))
    keys = draw(st.lists(st.tuples(_NAMES, _VALUES), max_size=3, unique_by=lambda pair: pair[0]))
    lines = "".join(f"{draw(_NOISE)}{name} = {value}\n" for name, value in keys)
    comment = draw(st.sampled_from(["", " # here"]))
    return f"{draw(_NOISE)}{opening}{path}{closing}{comment}\n{lines}{draw(_NOISE)}"


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Draw a text that is mostly TOML; our table may stand in it, in any of its forms."""
    tables: Sequence[str] = draw(st.lists(_tables(), max_size=5))
    place = draw(st.integers(0, len(tables)))
    parts = [draw(_HEADS), *tables[:place], draw(_OURS), *tables[place:]]
    text = draw(st.sampled_from(["", "# first\n"])) + "".join(parts)
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


_JSON_VALUES = st.recursive(
    st.sampled_from([1, True, None, "x", "// no", "/* no */", ",]", "é", "\\"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "}", '"']), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def json_texts(draw: st.DrawFn, container: str, *, extras: Sequence[str] = ()) -> str:
    """Draw a JSON text with servers in `container`, ours among them at times.

    `extras` are "comments" and "commas", which it may hold beyond JSON.
    """
    others = draw(
        st.dictionaries(st.sampled_from(["one", "two", "infinite-memory"]),
                        st.fixed_dictionaries({"command": st.just("x")}), max_size=2)
    )  # fmt: skip
    data = draw(st.dictionaries(st.sampled_from(["theme", "list", "deep"]), _JSON_VALUES))
    if draw(st.booleans()):
        data[container] = others
    indent = draw(st.sampled_from([None, 2, 4, "\t"]))
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if indent is not None:
        lines = text.split("\n")
        if "comments" in extras and draw(st.booleans()):
            lines.insert(draw(st.integers(0, len(lines))), "  // a comment, with a comma")
            lines[0] += " /* first */"
        if "commas" in extras and len(lines) > 2 and lines[-1] == "}" and draw(st.booleans()):
            last = max(index for index, line in enumerate(lines[:-1]) if "//" not in line)
            if not lines[last].rstrip().endswith(("{", "*/")):
                lines[last] += ","
        text = "\n".join(lines)
    text += draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text
