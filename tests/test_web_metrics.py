"""Counters in the text format of Prometheus."""

from __future__ import annotations

import re

from tract.web.metrics import Metrics

LINE = re.compile(r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.]+')


def test_what_was_counted_is_in_the_text() -> None:
    metrics = Metrics()
    metrics.count("log", 200, 0.003, 10)
    metrics.count("log", 404, 0.3, 5)
    text = metrics.text(waiting=3)
    assert 'tract_requests_total{route="log",status="404"} 1' in text
    assert 'tract_request_seconds_bucket{route="log",le="0.005"} 1' in text
    assert 'tract_request_seconds_bucket{route="log",le="+Inf"} 2' in text
    assert 'tract_request_seconds_count{route="log"} 2' in text
    assert 'tract_response_bytes_total{route="log"} 15' in text
    assert "tract_requests_waiting 3" in text


def test_every_line_has_the_form_that_prometheus_reads() -> None:
    metrics = Metrics()
    metrics.count("result", 200, 0.1, 1)
    lines = metrics.text(0).splitlines()
    assert lines
    assert all(LINE.fullmatch(line) for line in lines)
