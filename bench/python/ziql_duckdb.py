#!/usr/bin/env python3
"""DuckDB at the questions of the suite `ziql`: the same data, JSON out, processor time.

    python bench/python/ziql_duckdb.py [--repetitions 7] RESULTS.json

Adds its rows, for as many users, to a results file that `cargo bench --bench queries -- ziql --json`
wrote. One thread; JSON by `COPY … TO '/dev/null' (FORMAT json, ARRAY true)`, which is its way of
writing it. Nothing here is timed by the wall clock alone: each sample keeps both.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import duckdb

ADDRESSES = [
    "1 Harbour Street, Bergen",
    "22 Mill Lane, York",
    "3 Rue des Lilas, Lyon",
    "48 Elm Avenue, Boston",
    "5 Gartenweg, Ulm",
    "61 Via Roma, Turin",
]

# The distribution is that of the suite's own data; which user has which value is not.
USERS = """
CREATE TABLE user AS SELECT uuidv7() AS id, {name} AS name, {email} AS email,
    [18, 25, 32, 47, 56, 71][1 + (hash(i, 1) % 6)::int]::bigint AS age,
    {addresses}[1 + (hash(i, 2) % 6)::int] AS address
FROM (SELECT unnest(range({users})) AS i)"""
NAME = "['Alice', 'Bob', 'Charlie', 'Diana', 'Edward'][1 + (hash(i, 3) % 5)::int]"
EMAIL = "['alice', 'bob', 'charlie', 'diana', 'edward'][1 + (hash(i, 4) % 5)::int] || '@example.com'"

QUESTIONS = {
    "all": "SELECT id, name, email, age, address FROM user",
    "no match": "SELECT id, name, email, age, address FROM user WHERE name = 'asd'",
    "one": "SELECT id, name, email, age, address FROM user LIMIT 1",
    "name": "SELECT name FROM user",
    "fifth": "SELECT id, name, email, age, address FROM user WHERE name = 'Charlie'",
    "sixth": "SELECT id, name, email, age, address FROM user WHERE age = 32",
}


def sampled(work, repetitions: int) -> list[dict]:
    """Runs once to warm up, then as often as asked."""
    work()
    samples = []
    for _ in range(repetitions):
        wall, processor = time.perf_counter_ns(), time.process_time_ns()
        work()
        processor, wall = time.process_time_ns() - processor, time.perf_counter_ns() - wall
        samples.append({"total_ns": wall, "phases": [["ask", wall]], "cpu_ns": processor})
    return samples


def load(path: Path, name: str, email: str, users: int) -> duckdb.DuckDBPyConnection:
    """A database with all users, on disk when this returns."""
    connection = duckdb.connect(str(path), config={"threads": 1})
    connection.execute(USERS.format(name=name, email=email, users=users, addresses=ADDRESSES))
    connection.execute("CHECKPOINT")
    return connection


def measure(users: int, repetitions: int) -> tuple[list[dict], list[dict]]:
    """Timings and sizes, as the results file has them."""
    timings, sizes = [], []
    sets = {"few": (NAME, EMAIL), "many": (f"{NAME} || ' ' || i", "'user' || i || '@example.com'")}
    for set_name, (name, email) in sets.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "duckdb.db"
            connection = load(path, name, email, users)
            for question, text in QUESTIONS.items():
                if question == "fifth" and set_name == "many":
                    continue
                copy = f"COPY ({text}) TO '/dev/null' (FORMAT json, ARRAY true)"
                timings.append(
                    {
                        "suite": "ziql",
                        "workload": f"{set_name}, {question}",
                        "system": "DuckDB",
                        "mode": "warm",
                        "documents": users,
                        "operations": 1,
                        "durability": "",
                        "samples": sampled(lambda: connection.execute(copy), repetitions),
                        "foreign_cores": 0.0,
                    }
                )
            connection.close()
            size = path.stat().st_size
        sizes.append(
            {
                "system": f"DuckDB, {set_name}",
                "documents": users,
                "lines_size": size,
                "files_size": size,
                "allocated_size": size,
            }
        )
    return timings, sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("results", type=Path)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text())
    for users in sorted({row["documents"] for row in results["timings"]}):
        timings, sizes = measure(users, arguments.repetitions)
        results["timings"] += timings
        results["sizes"] += sizes
    results["systems"].append(
        {"name": "DuckDB", "version": f"duckdb {duckdb.__version__}", "settings": "one thread; COPY TO (FORMAT json)"}
    )
    results["machine"]["packages"]["duckdb"] = duckdb.__version__
    arguments.results.write_text(json.dumps(results, indent=1) + "\n")
    print(f"DuckDB {duckdb.__version__}: added to {os.fspath(arguments.results)}")


if __name__ == "__main__":
    main()
