"""DuckDB at the queries that a suite has written to a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import peer_suite

THREADS = {"threads": peer_suite.THREADS}


def measured(
    connection: duckdb.DuckDBPyConnection,
    query: Path,
    text: str,
    compare: Callable[[str, list, list], None],
    row: dict,
    repetitions: int,
) -> dict:
    """The timings of one query, after its answer was compared."""
    row = {"system": "DuckDB", **row}
    return peer_suite.measured(lambda text: connection.execute(text).fetchall(), query, text, compare, row, repetitions)


def main(about: str, settings: str, measure: Callable[[Path, int], list[dict]]) -> None:
    """Measures each size with `measure`, and adds the rows to the results."""
    peer_suite.main(about, "DuckDB", "duckdb", settings, measure)
