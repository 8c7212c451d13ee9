"""The built-in index and PostgreSQL pass the contract of an engine of candidates."""

from __future__ import annotations

from uuid import uuid4

import pytest

from infinite_memory.core.protocols import Embedder
from infinite_memory.search.candidates.built_in import BuiltInCandidates
from infinite_memory.testing.candidate_contract import CandidateContract, Engine


class TestBuiltIn(CandidateContract):
    @classmethod
    def make_engine(cls, embedder: Embedder) -> Engine:
        return BuiltInCandidates(embedder.dimensions)


@pytest.mark.thorough
class TestPostgres(CandidateContract):
    url: str

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _server(cls, postgres: str) -> None:
        cls.url = postgres

    @classmethod
    def make_engine(cls, embedder: Embedder) -> Engine:
        from infinite_memory.search.candidates.postgres import PostgresCandidates

        return PostgresCandidates(cls.url, str(uuid4()), embedder)
