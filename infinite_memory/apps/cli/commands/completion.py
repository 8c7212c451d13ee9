"""The command `completion`, with which the shell completes commands, scopes, tags and ids."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import BashComplete, get_completion_class

from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import emit_json, emit_text, remark
from infinite_memory.apps.cli.settings import login_shell
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.paths import find_user_home

_PROGRAM = "infinite-memory"
_VARIABLE = "_INFINITE_MEMORY_COMPLETE"
_SCRIPTS = {
    "bash": ".local/share/infinite-memory/completion.bash",
    "zsh": ".local/share/infinite-memory/completion.zsh",
    # fish reads this folder by itself.
    "fish": ".config/fish/completions/infinite-memory.fish",
}
_START_FILES = {"bash": ".bashrc", "zsh": ".zshrc"}
_MARK = "# infinite-memory completion"

# bash divides words at a colon, which ids of imported memories hold, and at the sign in
# --scope=NAME; names of scopes may hold spaces and stars. The script of click completes none of
# them: this one puts a word together again, and quotes what it inserts.
_BASH_SCRIPT = r"""%(complete_func)s() {
    local -a words=()
    local word current type value
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if ((${#words[@]})) && [[ $word == [:=]* || ( -n $word && ${words[-1]} == *[:=] ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    current=${words[-1]#--*=}
    while IFS=',' read -r type value; do
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            [[ $current == [\"\']* ]] || printf -v value '%%q' "$value"
            if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
                value=${value#"${current%%"${current##*:}"}"}
            fi
            COMPREPLY+=("$value")
        fi
    done < <(IFS=$'\n' env COMP_WORDS="$(printf '%%s\n' "${words[@]}")" \
        COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    source_template = _BASH_SCRIPT


_shell_argument = click.argument("shell", type=click.Choice(list(_SCRIPTS)), required=False)


@click.group("completion")
@common_options
def completion_command() -> None:
    """Let the Tab key complete commands, options, scopes, tags and ids.

    SHELL is bash, zsh or fish; by default it is your login shell.
    """


@completion_command.command("install")
@_shell_argument
@common_options
@click.pass_context
def install(context: click.Context, shell: str | None) -> None:
    """Write the completion script, and load it in every new shell.

    The script is in ~/.local/share/infinite-memory, and one line in ~/.bashrc or ~/.zshrc loads
    it; fish needs no such line. A second call replaces both.
    """
    name = _find_shell_name(context, shell)
    home = _find_home()
    script = home / _SCRIPTS[name]
    script.parent.mkdir(parents=True, exist_ok=True)
    # First, since it refuses a start file that it cannot read; the line loads no missing script.
    start_file = _change_start_file(home, name, _make_start_line(name, script))
    write_atomically(script, _make_source(name).encode(), mode=0o644)
    _report_files(context, f"Installed the completion for {name}", script, start_file)


@completion_command.command("remove")
@_shell_argument
@common_options
@click.pass_context
def remove(context: click.Context, shell: str | None) -> None:
    """Remove the script, and the line that loads it."""
    name = _find_shell_name(context, shell)
    home = _find_home()
    script = home / _SCRIPTS[name]
    start_file = _change_start_file(home, name, None)
    script.unlink(missing_ok=True)
    _report_files(context, f"Removed the completion for {name}", script, start_file)


@completion_command.command("show")
@_shell_argument
@common_options
@click.pass_context
def show(context: click.Context, shell: str | None) -> None:
    """Print the completion script."""
    name = _find_shell_name(context, shell)
    source = _make_source(name)
    if wants_json(context):
        emit_json({"shell": name, "script": source})
    else:
        emit_text(source)


def _find_home() -> Path:
    return find_user_home("set HOME, the folder in which shells keep their files")


def _find_shell_name(context: click.Context, shell: str | None) -> str:
    name = shell or login_shell()
    if name not in _SCRIPTS:
        raise click.UsageError(
            f"there is no completion for the login shell {name!r}: name bash, zsh or fish", context
        )
    return name


def _make_source(shell: str) -> str:
    """Return the completion script of click for a shell."""
    kind = _Bash if shell == "bash" else get_completion_class(shell)
    assert kind is not None, shell
    # The script calls the program; the command object is needed only to answer it.
    return kind(click.Command(_PROGRAM), {}, _PROGRAM, _VARIABLE).source()


def _make_start_line(shell: str, script: Path) -> str:
    """Return the line of a start file that loads the script if it exists."""
    quoted = "'" + str(script).replace("'", "'\\''") + "'"
    load = f"[ -f {quoted} ] && . {quoted}"
    if shell == "zsh":
        load = f"(( $+functions[compdef] )) || {{ autoload -Uz compinit; compinit }}; {load}"
    return f"{load}  {_MARK}"


def _change_start_file(home: Path, shell: str, line: str | None) -> Path | None:
    """Put the line of the completion into the start file of the shell, or take it out.

    Returns the file if it was changed. A symbolic link stays one.
    """
    if shell not in _START_FILES:
        return None
    path = (home / _START_FILES[shell]).resolve()
    before = read_regular(path) if path.exists() else b""
    rows = before.decode("utf-8", "surrogateescape").split("\n")
    kept = [row for row in rows if not row.endswith(_MARK)]
    if line is not None:
        if kept[-1] == "":
            kept.pop()
        kept += [line, ""]
    after = "\n".join(kept).encode("utf-8", "surrogateescape")
    if after == before:
        return None
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    write_atomically(path, after, mode=mode, temporary_suffix=".infinite-memory-new")
    return path


def _report_files(context: click.Context, done: str, script: Path, start_file: Path | None) -> None:
    if wants_json(context):
        changed = None if start_file is None else str(start_file)
        emit_json({"script": str(script), "start_file": changed})
        return
    also = f" {start_file} was changed." if start_file is not None else ""
    remark(f"{done}: {script}.{also} It takes effect in new shells.", style="")
