"""Find the server that runs for a home folder, and open its page in the browser."""

from __future__ import annotations

import http.client
import json
import logging
import secrets
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import read_regular
from infinite_memory_mcp.web.sign_in import SignIns, is_proof, prove

_log = logging.getLogger(__name__)
_FILE = "page.json"
_SECONDS = 2.0
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@contextmanager
def announced(home: Path | None, url: str, sign_ins: SignIns) -> Iterator[None]:
    """Let `find_page` find a server in the block, by a file that its user alone can read.

    The secret in it makes codes to sign in; the file of another server is replaced. None for the
    home folder does nothing.
    """
    if home is None:
        yield
        return
    path = home / _FILE
    content = json.dumps({"url": url, "secret": sign_ins.secret}).encode()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, content, temporary_suffix=f".{secrets.token_hex(4)}")
    except OSError as error:
        _log.warning("`infinite-memory web` will not find this server: %s", error)
    try:
        yield
    finally:
        with suppress(OSError):
            if read_regular(path) == content:
                path.unlink()


def find_page(home: Path, *, port: int = 0) -> str | None:
    """Return the address of the page of the server that runs for a home folder, with a new code.

    None if it listens at another port than a `port` that is not 0, or if none answers: the file of
    a server that was killed stays. The secret is not sent, since another program may listen there
    by now; what answers has to prove that it knows it.
    """
    challenge = secrets.token_hex(16)
    try:
        state = json.loads(read_regular(home / _FILE))
        url, secret = str(state["url"]), str(state["secret"])
        if port not in (0, urlsplit(url).port):
            return None
        body = json.dumps({"challenge": challenge, "proof": prove(secret, "ask", challenge)})
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_SECONDS)
        try:
            headers = {"content-type": "application/json"}
            connection.request("POST", "/sign-in/code", body, headers)
            answer = json.loads(connection.getresponse().read(10_000))["value"]
        finally:
            connection.close()
        code = str(answer["code"])
        is_ours = is_proof(str(answer["proof"]), secret, "answer", challenge, code)
    except (OSError, ValueError, LookupError, TypeError, http.client.HTTPException):
        return None
    return make_address(url, code) if is_ours else None


def make_address(url: str, code: str) -> str:
    """Return the address of a page that signs in; a fragment is sent to no server."""
    return f"{url}/#code={code}"


def open_page(address: str, environment: Mapping[str, str] | None) -> None:
    """Say the address of the page, and open it in the browser of a machine with a screen.

    Without an `environment` no browser is opened.
    """
    sys.stdout.write(f"Your memory is at {address} (once, within two minutes).\n")
    sys.stdout.flush()
    has_screen = sys.platform in ("win32", "darwin")
    if environment is not None and (has_screen or any(map(environment.get, _SCREENS))):
        # Some wait for the browser to end.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
