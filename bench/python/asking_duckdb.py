#!/usr/bin/env python3
"""DuckDB at the queries of the suite `asking` that read every line.

    python bench/python/asking_duckdb.py [--repetitions 7] FOLDER RESULTS.json

FOLDER is what the suite wrote where `ASKING_FILES` said: a folder for each number of
documents, with the lines, the queries over them and FolioDB's answers. Adds DuckDB's rows,
by `read_json_auto` over the same file and over a table made of it, to a results file that
`cargo bench --bench queries -- asking --json` wrote. As many threads as there are processors; an
answer that is not FolioDB's ends the run.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import duckdb
from duckdb_suite import THREADS, main, measured

# The file that a query is over.
FILE = r"'([^']*\.jsonl)'"


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
    for file in folder.glob("*.jsonl"):
        connection.execute(f"CREATE TABLE {file.stem} AS FROM read_json_auto('{file}')")
    row = {"suite": "asking", "operations": int(folder.name)}
    for query in sorted(folder.glob("*.sql")):
        text = query.read_text()
        over_file = re.sub(FILE, r"read_json_auto('\1')", text)
        timings.append(measured(connection, query, over_file, compare, row, repetitions))
        over_table = re.sub(FILE, lambda found: Path(found[1]).stem, text)
        row_of_table = {**row, "system": "DuckDB, table"}
        timings.append(measured(connection, query, over_table, compare, row_of_table, repetitions))
        connection.execute("SET threads TO 1")
        alone = {**row, "workload": f"{query.stem}, one thread"}
        timings.append(measured(connection, query, over_file, compare, alone, repetitions))
        connection.execute("RESET threads")
    connection.close()
    return timings


if __name__ == "__main__":
    main(__doc__, "read_json_auto over the file of lines, and a table made of it", measure)
