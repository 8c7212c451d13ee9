"""Signs of a script, as they stand between the brackets of a pattern."""

from __future__ import annotations

__all__ = ["HAN"]

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""The Chinese characters: unified ideographs, their extensions, and the compatible ones."""
