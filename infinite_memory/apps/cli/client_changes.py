"""How a change of a client's file is shown: to a person as a diff, to a program as JSON."""

from __future__ import annotations

from typing import Any

from infinite_memory.apps.cli.output import Line, emit_lines, remark
from infinite_memory.apps.connect.changes import MASK, find_secrets, format_diff
from infinite_memory.apps.connect.connecting import Applied, ClientStatus, Plan
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.remote import show_url

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def show_change(
    applied: Applied, platform: Platform, entry: ServerEntry | None, *, dry_run: bool
) -> None:
    """Show the change of the servers in a client's file, and the next step."""
    plan, removed = applied.plan, entry is None
    is_remote = entry is not None and entry.url is not None
    title, where = plan.client.title, platform.shorten(plan.path)
    if not plan.changes:
        state = "is not connected" if removed else "is connected already"
        remark(f"{title} {state}: {where} stays as it is.", style="")
        return
    _show_diff(plan, where)
    _remark_removed(plan)
    if dry_run:
        remark("Nothing was written. Leave out --dry-run to do it.", style="")
        return
    kept = f" The former file is {platform.shorten(applied.backup)}." if applied.backup else ""
    done = "no longer connected" if removed else "connected"
    remark(f"{title} is {done}.{kept}", style="")
    if not removed:
        remark(plan.client.next_step, style="")
        if is_remote:
            remark("`infinite-memory doctor` asks the server whether it answers.", style="")


def show_hooks(applied: Applied, platform: Platform, *, removed: bool, dry_run: bool) -> None:
    """Show the change of the hooks of a client."""
    plan = applied.plan
    where = platform.shorten(plan.path)
    if not plan.changes:
        if not removed:
            remark(f"{where} has our hooks already.", style="")
        return
    _show_diff(plan, where)
    _remark_removed(plan)
    if not dry_run:
        kept = f" The former file is {platform.shorten(applied.backup)}." if applied.backup else ""
        done = "no longer has our hooks" if removed else "has our hooks"
        remark(f"{where} {done}.{kept}", style="")


def change_json(applied: Applied, *, is_written: bool) -> dict[str, Any]:
    """Return the change of a file; a secret in its diff is masked."""
    plan = applied.plan
    return {
        "path": str(plan.path),
        "changed": plan.changes,
        "written": is_written and plan.changes,
        "diff": "\n".join(_diff(plan, str(plan.path))),
        "removed": [str(extra) for extra in plan.removed],
        "backup": None if applied.backup is None else str(applied.backup),
    }


def applied_json(
    applied: Applied, entry: ServerEntry | None, *, is_written: bool
) -> dict[str, Any]:
    """Return the change of a client's servers, with the entry as that client stores it."""
    plan = applied.plan
    return {
        "client": plan.client.name,
        "entry": None if entry is None else _mask(plan.client.form(entry)),
        **change_json(applied, is_written=is_written),
    }


def status_json(status: ClientStatus) -> dict[str, Any]:
    """Return the state of our server in the file of a client."""
    entry = status.entry
    # Not its environment, which may hold keys.
    shown = None if entry is None else {"command": entry.command, "args": list(entry.args)}
    if entry is not None and entry.url is not None:
        shown = {"url": show_url(entry.url)}
    return {
        "client": status.client.name,
        "title": status.client.title,
        "path": str(status.path),
        "state": str(status.connection),
        "entry": shown,
        "problem": status.problem,
    }


def _remark_removed(plan: Plan) -> None:
    """Say what is taken out of a file, since a byte order mark is seen in no diff."""
    if plan.removed:
        named = " and ".join(plan.removed)
        remark(
            f"Taken out of the file, since {plan.client.title} cannot read it: {named}.", style=""
        )


def _show_diff(plan: Plan, where: str) -> None:
    emit_lines(Line([(line, _STYLES.get(line[:1], ""))]) for line in _diff(plan, where))


def _diff(plan: Plan, where: str) -> list[str]:
    return format_diff(plan.file.text, plan.new_text, where, secrets=plan.secrets)


def _mask(form: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with a mask for every secret in the parts that may hold secrets."""
    secrets = find_secrets(form)
    return {
        key: {name: MASK if item in secrets else item for name, item in value.items()}
        if isinstance(value, dict)
        else value
        for key, value in form.items()
    }
