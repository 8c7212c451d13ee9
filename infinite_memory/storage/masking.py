"""Addresses without the password that may be in them."""

from __future__ import annotations

import re

__all__ = ["masked"]

_SECRET_OPTIONS = re.compile(r"\b(\w*password|authMechanismProperties)=[^&]*", re.IGNORECASE)


def masked(address: str) -> str:
    """Return an address with its password hidden, also where it is malformed.

    A password may hold a /, a : or an @ that should have been escaped, so it may reach to the last
    @ of all; and some options are secrets as well.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    user, at, hosts = rest.rpartition("@")
    if at:
        name, colon, _ = user.partition(":")
        rest = f"{name}:***@{hosts}" if colon else f"***@{hosts}"
    return _SECRET_OPTIONS.sub(r"\1=***", f"{scheme}{mark}{rest}")
