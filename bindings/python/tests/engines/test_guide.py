"""The guide to scale, with all engines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parents[2] / "docs/guide/scale.md"


def test_page() -> None:
    command = [sys.executable, str(TESTS / "blocks.py"), str(PAGE)]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYSPARK_PYTHON": sys.executable,
    }
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )
    assert result.returncode == 0, result.stdout + result.stderr
