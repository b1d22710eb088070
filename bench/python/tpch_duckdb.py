#!/usr/bin/env python3
"""DuckDB at the queries of the suite `tpch`: the same rows, the same answers or an error.

    python bench/python/tpch_duckdb.py [--repetitions 7] FOLDER RESULTS.json

FOLDER is what the suite wrote where `TPCH_FILES` said. Adds DuckDB's rows, for each scale
there, to a results file that `cargo bench --bench queries -- tpch --json` wrote. As many threads
as there are processors, which is what FolioDB takes; tables on disk, without keys and
indexes, as DuckDB's guide to performance advises; every row of an answer is fetched.
"""

from __future__ import annotations

import datetime
import decimal
import tempfile
from pathlib import Path

import duckdb
from duckdb_suite import THREADS, main, measured


def load(folder: Path, path: Path) -> duckdb.DuckDBPyConnection:
    """A database with all rows, on disk when this returns."""
    connection = duckdb.connect(str(path), config=THREADS)
    connection.execute((folder / "schema.sql").read_text())
    for rows in folder.glob("*.tbl"):
        connection.execute(f"COPY {rows.stem} FROM '{rows}' (DELIMITER '|', HEADER false, QUOTE '')")
    connection.execute("CHECKPOINT")
    return connection


def cell(value: object) -> object:
    """A value as the suite writes it."""
    match value:
        case decimal.Decimal() | int():
            return float(value)
        case datetime.date():
            return value.isoformat()
        case str():
            return value.rstrip()
        case _:
            return value


def is_same(ours: list, theirs: list) -> bool:
    """Whether two rows are equal; sums of floats may differ in their last digits."""
    return len(ours) == len(theirs) and all(
        abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1.0)
        if isinstance(a, float | int) and isinstance(b, float | int)
        else a == b
        for a, b in zip(ours, theirs, strict=True)
    )


def compare(name: str, ours: list[list], theirs: list[list]) -> None:
    """Ends the run where an answer is not the same; equal rows may come in either order."""
    left = [[cell(value) for value in row] for row in theirs]
    for row in ours:
        found = next((index for index, other in enumerate(left) if is_same(row, other)), None)
        if found is None:
            raise SystemExit(f"{name}: FolioDB's row {row} is none of DuckDB's {left[:3]}")
        left.pop(found)
    if left:
        raise SystemExit(f"{name}: DuckDB has {len(left)} rows more")


def measure(folder: Path, repetitions: int) -> list[dict]:
    """Timings of one scale."""
    timings = []
    with tempfile.TemporaryDirectory() as scratch:
        connection = load(folder, Path(scratch) / "duckdb.db")
        for query in sorted(folder.glob("q*.sql")):
            row = {"suite": "tpch", "operations": 1}
            timings.append(measured(connection, query, query.read_text(), compare, row, repetitions))
        connection.close()
    return timings


if __name__ == "__main__":
    main(__doc__, "tables without keys and indexes", measure)
