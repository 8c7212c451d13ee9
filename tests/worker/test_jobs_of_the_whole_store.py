"""A confined handle runs no job that concerns the whole store, whichever is asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from infinite_memory import InvalidInput, MemoryStore
from infinite_memory.features.background.worker.jobs import JOBS

WHOLE = [job.name for job in JOBS if job.whole_store]


def test_some_jobs_are_of_the_whole_store_and_some_are_not() -> None:
    assert {"backup", "compact"} <= set(WHOLE)
    assert len(WHOLE) < len(JOBS)


@pytest.mark.parametrize("job", [job.name for job in JOBS])
def test_a_confined_handle_runs_only_jobs_of_its_scopes(
    open_store: Callable[..., MemoryStore], job: str
) -> None:
    store = open_store()
    store.scopes.create("inside")
    store.remember("The ferry leaves at ten", scope="inside", id="a")
    store.remember("The secret of others", id="b")
    confined = store.confine(scopes="inside")
    if job in WHOLE:
        for dry_run in (True, False):
            with pytest.raises(InvalidInput, match=rf"no job '{job}'") as caught:
                confined.upkeep.optimize(dry_run=dry_run, jobs=[job])
            assert f" {job}," not in str(caught.value).partition("the jobs are")[2] + ","
        assert not store.config.home.joinpath("backups").exists()
    else:
        (report,) = confined.upkeep.optimize(jobs=[job]).jobs
        assert report.failure is None
        assert {step.scope for step in report.steps} <= {"inside"}
    assert store.get("b").text == "The secret of others"
    if job not in WHOLE:
        return
    (report,) = store.upkeep.optimize(jobs=[job]).jobs
    assert report.job == job


def test_without_a_name_a_confined_handle_skips_them(
    open_store: Callable[..., MemoryStore],
) -> None:
    store = open_store()
    store.scopes.create("inside")
    confined = store.confine(scopes="inside")
    assert not {report.job for report in confined.upkeep.optimize().jobs} & set(WHOLE)
