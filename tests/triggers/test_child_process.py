"""The process for conditions: when it starts, what it may do, and that it never stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator
from tests.triggers.cases import holds, occasion

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="looks at processes in /proc, and forks"
)

CAKE = "match_keys(context.messages, ['cake'])"
SAID = occasion(("user", "a cake"))
SLOW = "context.messages[0].content === 'slow' ? (() => { while (true); })() : true"

PARENT = """
import sys
from datetime import UTC, datetime
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator

def ask(text):
    message = ChatMessage(role="user", content=text)
    said = Occasion(now=datetime(2026, 1, 5, tzinfo=UTC), messages=(message,))
    return evaluator.evaluate({"it": prepared}, said)["it"].holds

evaluator = JavaScriptEvaluator()
prepared = evaluator.prepare(%r)
print(evaluator._workers._idle[0]._process.pid, flush=True)
sys.stdin.readline()
while True:
    ask("slow")
"""


def wait_until(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def make_busy(pid: int, begin: Callable[[], object]) -> None:
    """Begin, and wait until a process has used the processor for a tenth of a second, or ended.

    What it had used is read before it begins: half a second later it may have been ended.
    """
    begun = read_ticks(pid)
    assert begun >= 0
    begin()
    wait_until(lambda: not begun <= read_ticks(pid) < begun + os.sysconf("SC_CLK_TCK") // 10)


def read_ticks(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[11])
    except FileNotFoundError:
        return -1


def pid_of(evaluator: JavaScriptEvaluator) -> int:
    (worker,) = evaluator._workers._idle
    return worker._process.pid


def start_parent() -> tuple[subprocess.Popen[bytes], int]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT % SLOW], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


def start_asking(parent: subprocess.Popen[bytes]) -> None:
    assert parent.stdin is not None
    parent.stdin.write(b"go\n")
    parent.stdin.flush()


def kill_parent(parent: subprocess.Popen[bytes]) -> None:
    with parent:
        parent.kill()
        parent.wait()


def test_it_starts_with_the_first_condition_and_ends_with_the_evaluator(
    javascript: JavaScriptEvaluator,
) -> None:
    assert not javascript._workers._idle
    assert holds(javascript, CAKE, SAID)
    pid = pid_of(javascript)
    assert holds(javascript, CAKE, SAID)
    assert pid_of(javascript) == pid
    javascript.close()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.process
def test_it_ends_when_its_parent_is_killed() -> None:
    parent, pid = start_parent()
    assert is_alive(pid)
    kill_parent(parent)
    wait_until(lambda: not is_alive(pid))


@pytest.mark.thorough
def test_it_ends_when_its_parent_is_killed_in_the_middle_of_a_condition() -> None:
    parent, pid = start_parent()
    make_busy(pid, lambda: start_asking(parent))
    kill_parent(parent)
    wait_until(lambda: not is_alive(pid))


@pytest.mark.thorough
def test_it_ends_by_itself_when_its_parent_is_stopped() -> None:
    parent, pid = start_parent()
    make_busy(pid, lambda: start_asking(parent))
    parent.send_signal(signal.SIGSTOP)
    wait_until(lambda: not is_alive(pid))
    parent.send_signal(signal.SIGCONT)
    kill_parent(parent)


def test_it_has_no_environment_and_may_open_no_file_and_start_no_process(
    javascript: JavaScriptEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    assert holds(javascript, CAKE, SAID)
    pid = pid_of(javascript)
    assert b"s3cret" not in Path(f"/proc/{pid}/environ").read_bytes()
    limits = {
        line[:26].strip(): line[26:].split()[:2]
        for line in Path(f"/proc/{pid}/limits").read_text("ascii").splitlines()
    }
    for name in ("Max open files", "Max processes", "Max file size", "Max core file size"):
        assert limits[name] == ["0", "0"]
    assert int(limits["Max address space"][0]) < 1 << 31
    open_files = {link.readlink().name.split(":")[0] for link in Path(f"/proc/{pid}/fd").iterdir()}
    assert open_files <= {"pipe", "null"}
    assert os.getsid(pid) != os.getsid(0)


@pytest.mark.thorough
def test_a_process_that_something_else_ended_is_replaced(javascript: JavaScriptEvaluator) -> None:
    prepared = {"it": javascript.prepare(CAKE)}
    for _ in range(3):
        pid = pid_of(javascript)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not is_alive(pid))
        # The condition that was to be checked may be lost with it, and the next is not.
        javascript.evaluate(prepared, SAID)
        assert javascript.evaluate(prepared, SAID)["it"].holds


@pytest.mark.thorough
def test_threads_share_it(javascript: JavaScriptEvaluator) -> None:
    prepared = {
        str(n): javascript.prepare(f"match_keys(context.messages, ['k{n}'])") for n in range(9)
    }

    def ask(number: int) -> None:
        for _ in range(20):
            verdicts = javascript.evaluate(prepared, occasion(("user", f"k{number}")))
            assert [name for name, verdict in verdicts.items() if verdict.holds] == [str(number)]

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(ask, range(9)))


@pytest.mark.thorough
def test_the_conditions_of_a_caller_never_hold_those_of_another(
    javascript: JavaScriptEvaluator,
) -> None:
    hanging = {f"slow {n}": javascript.prepare(f"{SLOW} // {n}") for n in range(50)}
    cake = {"it": javascript.prepare(CAKE)}
    pid = pid_of(javascript)
    verdicts: dict[str, object] = {}
    other = threading.Thread(
        target=lambda: verdicts.update(javascript.evaluate(hanging, occasion(("user", "slow"))))
    )
    make_busy(pid, other.start)
    for _ in range(3):
        assert javascript.evaluate(cake, SAID)["it"].holds
    assert javascript.prepare("true") is not None
    assert not verdicts
    javascript.close()
    other.join(timeout=10)
    assert not other.is_alive()


def test_closing_does_not_wait_for_the_conditions_that_are_being_checked(
    javascript: JavaScriptEvaluator,
) -> None:
    prepared = {f"slow {n}": javascript.prepare(f"{SLOW} // {n}") for n in range(50)}
    verdicts = {}
    thread = threading.Thread(
        target=lambda: verdicts.update(javascript.evaluate(prepared, occasion(("user", "slow"))))
    )
    pid = pid_of(javascript)
    make_busy(pid, thread.start)
    javascript.close()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert len(verdicts) == 50
    assert not any(verdict.holds for verdict in verdicts.values())
    assert verdicts["slow 49"].error == "the store is closed"


@pytest.mark.thorough
def test_after_an_interrupt_no_verdict_is_taken_for_that_of_another_condition(
    javascript: JavaScriptEvaluator,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    sources = {"slow": SLOW, "true": "true", "also": "1 + 1"}
    prepared = {name: javascript.prepare(source) for name, source in sources.items()}
    never = {name: javascript.prepare("false") for name in "abc"}
    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            javascript.evaluate(prepared, occasion(("user", "slow")))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    verdicts = javascript.evaluate(never, SAID)
    assert not any(verdict.holds or verdict.error for verdict in verdicts.values())


@pytest.mark.thorough
def test_a_forked_child_has_a_process_of_its_own(javascript: JavaScriptEvaluator) -> None:
    prepared = {"it": javascript.prepare(CAKE)}
    assert javascript.evaluate(prepared, SAID)["it"].holds
    pid = pid_of(javascript)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            verdict = javascript.evaluate(prepared, SAID)["it"]
            if verdict.holds and pid_of(javascript) != pid:
                status = 0
            javascript.close()
        finally:
            os._exit(status)
    assert javascript.evaluate(prepared, SAID)["it"].holds
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert pid_of(javascript) == pid
    assert javascript.evaluate(prepared, SAID)["it"].holds


def test_a_forked_child_does_not_keep_it_alive(javascript: JavaScriptEvaluator) -> None:
    assert holds(javascript, CAKE, SAID)
    pid = pid_of(javascript)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # Until the parent closes its end, whatever becomes of the process.
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    (worker,) = javascript._workers._idle
    assert worker._process.stdin is not None
    worker._process.stdin.close()
    wait_until(lambda: not is_alive(pid))
    os.close(write)
    os.waitpid(child, 0)
