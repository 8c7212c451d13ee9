"""Addresses: what is served, what is a folder, what is refused, and what is shown."""

from __future__ import annotations

import pytest

from infinite_memory.core.values.address import (
    Address,
    find_problem,
    is_folder,
    mask_arguments,
    masked,
    secrets_in,
)

SECRET = "hunter2"

SERVED = [
    "memory://",
    "mongodb+managed://",
    f"mongodb://user:{SECRET}@host/db",
    "mongodb+srv://user@host/db",
]
FOLDERS = [
    *("here", ".", "..", "./foo:/bar", "../a:b", "~", "~/memory", "~user:x/y", "/", "/data/a:b"),
    *("/data/a@b", "/data/a:b@c/d", "relative/a:b", "a:b", "notes:2026", "me@home", "mongodb"),
    *("mongodb/data", "mongodb.d/x", "/var/lib/mongodb", "/var/lib/mongodb//x", "2026-01:/x"),
    *(r"C:\x", "C:/x", "C:", r"C:\\x", r"C:\Users\a:b@c", r"\\server\share", "//server/x@y"),
    "/mirror/http:/example.org",
]
MISTAKEN = [
    f"mongodb:/user:{SECRET}@host/db",
    f"mongodb//user:{SECRET}@host/db",
    f"mongodb;//user:{SECRET}@host/db",
    f"mongodb:user:{SECRET}@host/db",
    f"mongodb+srv:/user:{SECRET}@host/db",
    f"MONGODB://user:{SECRET}@host/db",
    f" mongodb://user:{SECRET}@host/db",
    f'"mongodb://user:{SECRET}@host/db"',
    f"mongo://user:{SECRET}@host/db",
    f"mongodb:\\\\user:{SECRET}@host\\db",
    f"/home/me/mongodb:/user:{SECRET}@host/db",
    f"./mongodb:/user:{SECRET}@host/db",
    f"http://user:{SECRET}@host/db",
    f"postgres://user:{SECRET}@host/db",
    f"x://user:{SECRET}@host/db",
    f"user:{SECRET}@host/db",
    f"u:{SECRET}@host",
    f"user:a/{SECRET}@host/db",
    f"user:with spaces {SECRET}@host",
    f"//user:{SECRET}@host/db",
    *("mongodb:", "mongodb:host", "mongodb:/host", "mongo:host", "memory:", "memory:/", "memory:x"),
    *("memory://x", "mongodb+managed:/", "mongodb+managed://x", "file:///x", "file:/x", "s3://x"),
    f"mongodb/user:{SECRET}@host/db",
    *("localhost:27017", "localhost:27017/db", "[::1]:1", "db.example.org:27017/db", "127.0.0.1:1"),
]  # fmt: skip


@pytest.mark.parametrize("address", SERVED)
def test_what_is_served_is_no_folder(address: str) -> None:
    assert find_problem(address) is None
    assert not is_folder(address)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_stays_a_folder(folder: str) -> None:
    assert find_problem(folder) is None
    assert is_folder(folder)


@pytest.mark.parametrize("address", MISTAKEN)
def test_what_looks_like_an_address_is_refused_with_the_right_form(address: str) -> None:
    problem = find_problem(address)
    assert problem is not None
    assert "mongodb://USER:PASSWORD@HOST/DATABASE" in problem
    assert "the absolute path of a folder; nothing was created" in problem
    assert SECRET not in problem


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("mongodb://u:p@h/d", "mongodb://u:***@h/d"),
        ("mongodb://u:p/q@r:s@h/d", "mongodb://u:***@h/d"),
        ("mongodb://u:p%40q@h/d", "mongodb://u:***@h/d"),
        ("mongodb://p@h/d", "mongodb://***@h/d"),
        ("mongodb://h:1,i:2/d", "mongodb://h:1,i:2/d"),
        ("mongodb://[::1]:27017/d", "mongodb://[::1]:27017/d"),
        ("mongodb://user:p", "mongodb://user:***"),
        ("mongodb://h:1,user:p/d?w=a:b", "mongodb://h:1,user:***/d?w=a:b"),
        ("mongodb://h/d?proxyPassword=p&x=y", "mongodb://h/d?proxyPassword=***&x=y"),
        ("mongodb://h/d?password=p%20q&x=y", "mongodb://h/d?password=***&x=y"),
        (
            "mongodb://h/d?authMechanismProperties=A:p,B:q",
            "mongodb://h/d?authMechanismProperties=***",
        ),
        ("mongodb:/u:p@h/d", "mongodb:/u:***@h/d"),
        ("u:p@h/d", "u:***@h/d"),
        ("/data/a:b@c", "/data/a:b@c"),
        ("/home/x", "/home/x"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str, shown: str) -> None:
    assert masked(address) == shown


def test_the_repr_of_an_address_hides_the_password_and_the_string_keeps_it() -> None:
    address = Address(f"mongodb://u:{SECRET}@h/d")
    assert repr({"store": address}) == "{'store': 'mongodb://u:***@h/d'}"
    assert f"{address!r:.200}" == "'mongodb://u:***@h/d'"
    assert str(address) == f"mongodb://u:{SECRET}@h/d"
    assert address == f"mongodb://u:{SECRET}@h/d"


def test_the_secrets_of_an_address_are_known_as_written_and_decoded() -> None:
    address = (
        "mongodb://u:h%75nter2@h/d?tlsCertificateKeyFilePassword=k&authMechanismProperties=A:t"
    )
    assert secrets_in(address) == {"h%75nter2", "hunter2", "k", "A:t", "t"}
    assert secrets_in("mongodb://h:1/d") == frozenset()


def test_a_message_about_arguments_hides_their_passwords() -> None:
    address = f"mongodb://u:{SECRET}@h/d"
    for argument in (address, f"--stor={address}", f"mongodb:\\\\u:{SECRET}@h"):
        for message in (f"no such option {argument}", f"extra argument {argument!r}"):
            assert SECRET not in mask_arguments(message, [argument])
