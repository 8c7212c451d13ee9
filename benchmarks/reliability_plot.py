"""A reliability plot as SVG: what a score says against how often it is so."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

_SIZE = 360
_LEFT, _TOP, _BOTTOM, _RIGHT = 56, 16, 52, 16
_COLOURS = ("#0b5394", "#b45f06", "#38761d")
_SHIFT = 0.006


@frozen(kw_only=True)
class Dot:
    """The questions of one bin: their mean score, the share with its interval, and their number."""

    x: float
    share: tuple[float, float, float]
    count: int


@frozen(kw_only=True)
class Curve:
    """The dots of one choice of arms, by score."""

    name: str
    dots: tuple[Dot, ...]


def reliability_svg(curves: Sequence[Curve]) -> str:
    """Return a plot whose diagonal is what the scores promise; an area is a number of questions."""
    width, height = _LEFT + _SIZE + _RIGHT, _TOP + _SIZE + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_axes(),
    ]
    for number, curve in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        parts.extend(_drawn(curve, colour, _SHIFT * (number - 1)))
        y = _TOP + 18 + 17 * number
        parts.append(f'<circle cx="{_LEFT + 16}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{_LEFT + 26}" y="{y}">{curve.name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _x(value: float) -> str:
    return f"{_LEFT + value * _SIZE:.1f}"


def _y(value: float) -> str:
    return f"{_TOP + (1 - value) * _SIZE:.1f}"


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{_x(x1)}" y1="{_y(y1)}" x2="{_x(x2)}" y2="{_y(y2)}" {style}/>'


def _axes() -> list[str]:
    parts = []
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(_line(tick, 0, tick, 1, 'stroke="#ddd"'))
        parts.append(_line(0, tick, 1, tick, 'stroke="#ddd"'))
        below = _TOP + _SIZE + 17
        parts.append(f'<text x="{_x(tick)}" y="{below}" text-anchor="middle">{tick:g}</text>')
        parts.append(
            f'<text x="{_LEFT - 8}" y="{float(_y(tick)) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        )
    parts.append(_line(0, 0, 1, 1, 'stroke="#888" stroke-dasharray="5 4"'))
    middle = _LEFT + _SIZE / 2
    parts.append(
        f'<text x="{middle}" y="{_TOP + _SIZE + 40}" text-anchor="middle">'
        "score of the best memory</text>"
    )
    middle = _TOP + _SIZE / 2
    parts.append(
        f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">'
        "share of the questions that have an answer</text>"
    )
    return parts


def _drawn(curve: Curve, colour: str, shift: float) -> list[str]:
    most = max((dot.count for dot in curve.dots), default=1)
    points = " ".join(f"{_x(dot.x + shift)},{_y(dot.share[0])}" for dot in curve.dots)
    parts = [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    for dot in curve.dots:
        _, low, high = dot.share
        style = f'stroke="{colour}" stroke-width="1"'
        parts.append(_line(dot.x + shift, low, dot.x + shift, high, style))
        radius = 2 + 5 * (dot.count / most) ** 0.5
        parts.append(
            f'<circle cx="{_x(dot.x + shift)}" cy="{_y(dot.share[0])}" r="{radius:.1f}"'
            f' fill="{colour}" fill-opacity="0.75"/>'
        )
    return parts
