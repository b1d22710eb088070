#!/usr/bin/env python3
"""DuckDB at the queries of the suite `asking` that read every line.

    python bench/python/asking_duckdb.py [--repetitions 7] FOLDER RESULTS.json

FOLDER is what the suite wrote where `ASKING_FILES` said: a folder for each number of
documents, with the lines, the queries over them and FolioDB's answers. Adds DuckDB's rows,
by `read_json_auto` over the same file, to a results file that
`cargo bench --bench asking -- --json` wrote. As many threads as there are processors; an
answer that is not FolioDB's ends the run.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import duckdb
from duckdb_suite import THREADS, main, measured


def cell(value: object) -> object:
    """A value as the suite writes it."""
    return float(value) if hasattr(value, "as_tuple") else value


def is_same(ours: object, theirs: object) -> bool:
    """Whether two values are equal; means of floats may differ in their last digits."""
    if isinstance(ours, float) or isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9)
    return ours == theirs


def compare(name: str, ours: list[list], theirs: list[list]) -> None:
    """Ends the run where an answer is not the same, row by row: every query has an order."""
    theirs = [[cell(value) for value in row] for row in theirs]
    same = len(ours) == len(theirs) and all(
        len(left) == len(right) and all(map(is_same, left, right))
        for left, right in zip(ours, theirs, strict=True)
    )
    if not same:
        raise SystemExit(f"{name}: FolioDB answers {ours[:3]}, DuckDB {theirs[:3]}")


def measure(folder: Path, repetitions: int) -> list[dict]:
    """Timings of one number of documents."""
    timings = []
    connection = duckdb.connect(config=THREADS)
    for query in sorted(folder.glob("*.sql")):
        text = re.sub(r"'([^']*\.jsonl)'", r"read_json_auto('\1')", query.read_text())
        row = {"suite": "asking", "operations": int(folder.name)}
        timings.append(measured(connection, query, text, compare, row, repetitions))
    connection.close()
    return timings


if __name__ == "__main__":
    main(__doc__, "read_json_auto over the file of lines", measure)
