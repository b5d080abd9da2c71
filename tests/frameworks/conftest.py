"""Settings for agents of frameworks: none of them reports to its maker."""

from __future__ import annotations

import os

import pytest

QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or else it is fetched from the network
    "OTEL_SDK_DISABLED": "true",
}


@pytest.fixture(scope="session", autouse=True)
def quiet() -> None:
    """Only where these tests run: others trace for real."""
    os.environ.update(QUIET)
