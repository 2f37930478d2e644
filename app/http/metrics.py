"""Metrics of the server for Prometheus: plain numbers, exported as text on request."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 125.0)
"""Seconds; the last one is the maximum duration of an execution."""


class Histogram:
    """Counts of durations by bucket."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        found, so_far = [], 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            found.append((bound, float(so_far)))
        return found


class Metrics:
    """The metrics of one server; gauges and counters are read at export time."""

    def __init__(self) -> None:
        self.started = time.time()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._executions: Counter[tuple[str, str]] = Counter()
        self._execution_seconds = Histogram()
        self._lines: Counter[str] = Counter()
        self._counts: list[tuple[str, str, Callable[[], float]]] = []
        self._gauges: list[tuple[str, str, Callable[[], float]]] = []

    def gauge(self, name: str, about: str, ask: Callable[[], float]) -> None:
        self._gauges.append((name, about, ask))

    def count(self, name: str, about: str, ask: Callable[[], float]) -> None:
        """Register a counter, a value that only grows."""
        self._counts.append((name, about, ask))

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[(method, route, str(status))] += 1
        histogram = self._seconds.get(route)
        if histogram is None:
            histogram = self._seconds[route] = Histogram()
        histogram.add(seconds)

    def execution(self, status: str, code: str, seconds: float) -> None:
        self._executions[(status, code)] += 1
        self._execution_seconds.add(seconds)

    def log_lines(self, read: int, dropped: int) -> None:
        self._lines["read"] += read
        self._lines["dropped"] += dropped

    def text(self) -> tuple[bytes, str]:
        """Return the exposition and its content type."""
        from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the label values depend on the requests."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics for ``prometheus_client``."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        def counted(name: str, about: str, labels: tuple[str, ...], values: Counter[Any]) -> Metric:
            family = CounterMetricFamily(f"clawperator_{name}", about, labels=labels)
            for key, value in sorted(values.items()):
                family.add_metric(key if isinstance(key, tuple) else (key,), value)
            return family

        yield counted("http_requests", "Requests answered", ("method", "route", "status"), self._requests)
        times = HistogramMetricFamily("clawperator_http_request_seconds", "Time to answer", labels=("route",))
        for route, histogram in sorted(self._seconds.items()):
            times.add_metric((route,), histogram.buckets(), histogram.total)
        yield times
        yield counted("executions", "Executions that ended", ("status", "code"), self._executions)
        took = HistogramMetricFamily("clawperator_execution_seconds", "Time of executions")
        took.add_metric((), self._execution_seconds.buckets(), self._execution_seconds.total)
        yield took
        yield counted("log_lines", "Lines of device logs", ("fate",), self._lines)
        yield GaugeMetricFamily("clawperator_start_time_seconds", "When the server started", value=self.started)
        for name, about, ask in self._counts:
            yield CounterMetricFamily(f"clawperator_{name}", about, value=ask())
        for name, about, ask in self._gauges:
            yield GaugeMetricFamily(f"clawperator_{name}", about, value=ask())
