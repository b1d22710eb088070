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

import argparse
import json
import math
import os
import re
import time
from pathlib import Path

import duckdb


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
    same = len(ours) == len(theirs) and all(
        len(left) == len(right) and all(map(is_same, left, right))
        for left, right in zip(ours, theirs, strict=True)
    )
    if not same:
        raise SystemExit(f"{name}: FolioDB answers {ours[:3]}, DuckDB {theirs[:3]}")


def measure(folder: Path, repetitions: int) -> list[dict]:
    """Timings of one number of documents, as the results file has them."""
    timings = []
    connection = duckdb.connect(config={"threads": os.cpu_count()})
    for query in sorted(folder.glob("*.sql")):
        text = re.sub(r"'([^']*\.jsonl)'", r"read_json_auto('\1')", query.read_text())
        rows = connection.execute(text).fetchall()
        theirs = [[cell(value) for value in row] for row in rows]
        compare(query.stem, json.loads(query.with_suffix(".json").read_text()), theirs)
        samples = []
        for _ in range(repetitions):
            wall, processor = time.perf_counter_ns(), time.process_time_ns()
            connection.execute(text).fetchall()
            wall, processor = time.perf_counter_ns() - wall, time.process_time_ns() - processor
            samples.append({"total_ns": wall, "phases": [["query", wall]], "cpu_ns": processor})
        timings.append(
            {
                "suite": "asking",
                "workload": query.stem,
                "system": "DuckDB",
                "mode": "warm",
                "documents": int(folder.name),
                "operations": int(folder.name),
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
    settings = f"{os.cpu_count()} threads; read_json_auto over the file of lines"
    results["systems"].append(
        {"name": "DuckDB", "version": f"duckdb {duckdb.__version__}", "settings": settings}
    )
    results["machine"]["packages"]["duckdb"] = duckdb.__version__
    arguments.results.write_text(json.dumps(results, indent=1) + "\n")
    print(f"DuckDB {duckdb.__version__}: the same answers, added to {arguments.results}")


if __name__ == "__main__":
    main()
