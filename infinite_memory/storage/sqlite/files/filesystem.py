"""Checks the owner, the permissions and the file system of the folder of a store.

Without the checks, an unsuitable folder would lead to an unclear error or to a damaged store.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.paths import user_id

if sys.platform != "win32":
    import pwd

_MOUNTS = Path("/proc/self/mountinfo")
_ROOT = 0
_ESCAPE = re.compile(r"\\([0-7]{3})")

_NETWORK = frozenset(
    "9p afs beegfs ceph cifs coda davfs fuse.ceph fuse.curlftpfs fuse.davfs2 fuse.gcsfuse "
    "fuse.glusterfs fuse.juicefs fuse.rclone fuse.s3fs fuse.sshfs gfs2 glusterfs gpfs lustre ncpfs "
    "nfs nfs4 ocfs2 orangefs smb2 smb3 smbfs vboxsf".split()
)


@frozen
class Mount:
    """A file system of type `kind`, mounted from `source` at `point`."""

    point: str
    kind: str
    source: str


def check_surroundings(folder: Path, *, mounts: Path = _MOUNTS) -> None:
    """Refuse a folder in which a store could not be written, or would be damaged.

    `mounts` is the list of mounts as Linux writes it. Where that file does not exist, as outside
    Linux, network file systems are not noticed.

    Raises:
        StorageUnavailable: with the problem and the way out; nothing was changed.
    """
    _check_network(folder, mounts)
    if not folder.is_dir():
        return  # reported when the folder is used
    _check_owner(folder)
    _check_writable(folder)


def read_mounts(text: str) -> list[Mount]:
    """Return the mounts in the text of /proc/self/mountinfo, in its order (see proc(5))."""
    mounts = []
    for line in text.splitlines():
        fields, _, suffix = line.partition(" - ")
        places, kinds = fields.split(" "), suffix.split(" ")
        if len(places) > 4 and len(kinds) > 1:
            mounts.append(Mount(_unescape_field(places[4]), kinds[0], _unescape_field(kinds[1])))
    return mounts


def mount_of(folder: Path, mounts: list[Mount]) -> Mount | None:
    """Return the file system that holds `folder`, None if no mount in `mounts` contains it."""
    real = folder.resolve()
    containing = [mount for mount in mounts if real.is_relative_to(mount.point)]
    # Of two mounts on the same point, the later mount is visible.
    return max(reversed(containing), key=lambda mount: len(mount.point), default=None)


def _unescape_field(field: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)


def _check_network(folder: Path, mounts: Path) -> None:
    try:
        text = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    mount = mount_of(folder, read_mounts(text))
    # A machine or a container with a network root has no storage that is more local.
    if mount is None or mount.kind not in _NETWORK or mount.point == "/":
        return
    raise StorageUnavailable(
        f"{folder} is on a network file system ({mount.kind}, {mount.source} at {mount.point}), "
        "where processes that share a database damage it: keep the store on a disk of this "
        "machine, such as the home folder of --home or INFINITE_MEMORY_HOME"
    )


def _check_owner(folder: Path) -> None:
    owner, me = folder.stat().st_uid, user_id()
    if owner in (me, _ROOT):  # root could read and change everything anyway
        return
    if me == _ROOT:
        raise StorageUnavailable(
            f"{folder} belongs to the user {_name_user(owner)}, who could not use files that root "
            "creates: run this as that user, or give --home a folder of root"
        )
    raise StorageUnavailable(
        f"{folder} belongs to the user {_name_user(owner)}, not to {_name_user(me)}: "
        "give --home a folder of your own"
    )


def _check_writable(folder: Path) -> None:
    if sys.platform != "win32" and os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise StorageUnavailable(
            f"{folder} is on a file system that is mounted read-only: mount it for writing, or "
            "copy the folder to another place and give that to --home"
        )
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise StorageUnavailable(
            f"{folder} may not be read and written by the user {_name_user(user_id())}: "
            f"chmod 700 {folder}, or give --home another folder"
        )


def _name_user(user: int) -> str:
    if sys.platform != "win32":
        with suppress(KeyError):
            return pwd.getpwuid(user).pw_name
    return str(user)
