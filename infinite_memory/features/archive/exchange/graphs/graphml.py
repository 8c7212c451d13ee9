"""GraphML, written a memory at a time, so that a large graph needs little room.

The format is that of U. Brandes, M. Eiglsperger and J. Lerner, "GraphML Primer". A document of XML
1.0 can hold no control characters, nor can a reference to one stand in it, so they are written as
``\\x1b`` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from infinite_memory.features.archive.exchange.graphs.values import GraphEdge, GraphNode

# Whatever is no Char of XML 1.0, section 2.2.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A parser turns a bare carriage return into a line feed.
_KEPT = {"\r": "&#13;"}
_NODE = {
    "label": "string",
    "text": "string",
    "kind": "string",
    "scope": "string",
    "status": "string",
    "origin": "string",
    "speaker": "string",
    "conversation_id": "string",
    "key": "string",
    "tags": "string",
    "happened_at": "string",
    "stored_at": "string",
    "important": "boolean",
    "priority": "double",
}
_EDGE = {
    "type": "string",
    "weight": "double",
    "stored": "boolean",
    "made_by": "string",
    "reason": "string",
    "made_at": "string",
}
_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""


def graphml(nodes: Iterable[GraphNode], edges: Iterable[GraphEdge]) -> Iterator[str]:
    """Yield the document in pieces. Edges have the ids "e0", "e1" and so on, unique in it."""
    yield _HEAD
    for domain, types in (("node", _NODE), ("edge", _EDGE)):
        for name, kind in types.items():
            key = f'id="{domain}_{name}" for="{domain}"'
            yield f'<key {key} attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph id="memories" edgedefault="directed">\n'
    for node in nodes:
        yield f"<node id={quoteattr(node.memory.id)}>{_data('node', node.attributes())}</node>\n"
    for number, edge in enumerate(edges):
        ends = f"source={quoteattr(edge.source)} target={quoteattr(edge.target)}"
        yield f'<edge id="e{number}" {ends}>{_data("edge", edge.attributes())}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _data(domain: str, attributes: Mapping[str, str | float | bool]) -> str:
    return "".join(
        f'<data key="{domain}_{name}">{_text(value)}</data>' for name, value in attributes.items()
    )


def _text(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    shown = _FORBIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), str(value))
    return escape(shown, _KEPT)
