"""The built-in index and PostgreSQL pass the contract of an engine of candidates."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from infinite_memory.core.protocols import Embedder
from infinite_memory.search.candidates.built_in import BuiltInCandidates
from infinite_memory.testing.candidate_contract import CandidateContract, Engine

pgserver = pytest.importorskip("pgserver")
pytestmark = pytest.mark.process


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


class TestBuiltIn(CandidateContract):
    def make_engine(self, embedder: Embedder) -> Engine:
        return BuiltInCandidates(embedder.dimensions)


class TestPostgres(CandidateContract):
    @pytest.fixture(autouse=True)
    def _server(self, url: str) -> None:
        self.url = url

    def make_engine(self, embedder: Embedder) -> Engine:
        from infinite_memory.search.candidates.postgres import PostgresCandidates

        return PostgresCandidates(self.url, str(uuid4()), embedder)
