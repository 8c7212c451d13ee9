"""The page of metrics that Prometheus reads, if its client is installed."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING

from infinite_memory.core.errors import install_hint
from infinite_memory_mcp.call_rates import KeyRates
from infinite_memory_mcp.http.responses import Refusal
from infinite_memory_mcp.lazy_store import LazyStore

if TYPE_CHECKING:
    from infinite_memory_mcp.observe.prometheus import Exporter

_CLIENT = "prometheus_client"


class MetricsPage:
    """Renders the metrics of a server. The client of Prometheus is loaded by the first request."""

    def __init__(self, memory: LazyStore, rates: KeyRates, *, is_confined: bool = False) -> None:
        """Render the metrics of `memory`, of the handles made from it, and the calls in `rates`.

        A server that `is_confined` to scopes has no page, which would count the whole store.
        """
        self._memory = memory
        self._rates = rates
        self._is_confined = is_confined
        self._lock = threading.Lock()
        self._exporter: Exporter | None = None

    def render(self, accept: str | None) -> tuple[bytes, str]:
        """Return the page and its content type.

        Raises:
            Refusal: the client of Prometheus is not installed (501), or the server is confined to
                scopes (403).
        """
        if self._is_confined:
            raise Refusal(
                403,
                "the metrics count the whole store, and this server was started with --scopes: read"
                " them from a server without --scopes",
            )
        with self._lock:
            if self._exporter is None:
                self._exporter = self._make_exporter()
        return self._exporter.render(accept)

    def _make_exporter(self) -> Exporter:
        if find_spec(_CLIENT) is None:
            raise Refusal(
                501,
                "metrics need the client of Prometheus, which is not installed: run"
                f" {install_hint('prometheus')}",
            )
        from infinite_memory_mcp.observe.prometheus import Exporter  # noqa: PLC0415

        return Exporter(self._memory, self._rates)
