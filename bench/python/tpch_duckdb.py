#!/usr/bin/env python3
"""DuckDB at the queries of the suite `tpch`: the same rows, the same answers or an error.

    python bench/python/tpch_duckdb.py [--repetitions 7] FOLDER RESULTS.json

FOLDER is what the suite wrote where `TPCH_FILES` said. Adds DuckDB's rows, for each scale
there, to a results file that `cargo bench --bench tpch -- --json` wrote. As many threads
as there are processors, which is what FolioDB takes; tables on disk, without keys and
indexes, as DuckDB's guide to performance advises; every row of an answer is fetched.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import os
import tempfile
import time
from pathlib import Path

import duckdb


def load(folder: Path, path: Path) -> duckdb.DuckDBPyConnection:
    """A database with all rows, on disk when this returns."""
    connection = duckdb.connect(str(path), config={"threads": os.cpu_count()})
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
    left = list(theirs)
    for row in ours:
        found = next((index for index, other in enumerate(left) if is_same(row, other)), None)
        if found is None:
            raise SystemExit(f"{name}: FolioDB's row {row} is none of DuckDB's {left[:3]}")
        left.pop(found)
    if left:
        raise SystemExit(f"{name}: DuckDB has {len(left)} rows more")


def measure(folder: Path, repetitions: int) -> list[dict]:
    """Timings of one scale, as the results file has them."""
    timings = []
    with tempfile.TemporaryDirectory() as scratch:
        connection = load(folder, Path(scratch) / "duckdb.db")
        for query in sorted(folder.glob("q*.sql")):
            text = query.read_text()
            theirs = [[cell(value) for value in row] for row in connection.execute(text).fetchall()]
            compare(query.stem, json.loads(query.with_suffix(".json").read_text()), theirs)
            samples = []
            for _ in range(repetitions):
                wall, processor = time.perf_counter_ns(), time.process_time_ns()
                connection.execute(text).fetchall()
                wall, processor = time.perf_counter_ns() - wall, time.process_time_ns() - processor
                samples.append({"total_ns": wall, "phases": [["query", wall]], "cpu_ns": processor})
            timings.append(
                {
                    "suite": "tpch",
                    "workload": query.stem,
                    "system": "DuckDB",
                    "mode": "warm",
                    "documents": int(folder.name),
                    "operations": 1,
                    "durability": "",
                    "samples": samples,
                    "foreign_cores": 0.0,
                }
            )
        connection.close()
    return timings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text())
    for folder in sorted(arguments.folder.iterdir(), key=lambda folder: int(folder.name)):
        results["timings"] += measure(folder, arguments.repetitions)
    settings = f"{os.cpu_count()} threads; tables without keys and indexes"
    results["systems"].append(
        {"name": "DuckDB", "version": f"duckdb {duckdb.__version__}", "settings": settings}
    )
    results["machine"]["packages"]["duckdb"] = duckdb.__version__
    arguments.results.write_text(json.dumps(results, indent=1) + "\n")
    print(f"DuckDB {duckdb.__version__}: the same answers, added to {arguments.results}")


if __name__ == "__main__":
    main()
