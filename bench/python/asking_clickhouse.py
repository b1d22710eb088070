#!/usr/bin/env python3
"""ClickHouse, in this process, at the five queries of JSONBench in the suite `asking`.

    python bench/python/asking_clickhouse.py [--repetitions 7] FOLDER RESULTS.json

FOLDER is what the suite wrote where `ASKING_FILES` said. Adds ClickHouse's rows to a results
file that `cargo bench --bench queries -- asking --json` wrote: a column of type JSON whose five paths
have types, in the order of rows that JSONBench gives it. As many threads as there are
processors; an answer that is not FolioDB's ends the run.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from chdb import session
from peer_suite import THREADS, main, measured

TABLE = """
CREATE TABLE bench.events (data JSON(max_dynamic_paths = 0,
    kind LowCardinality(String), commit.operation LowCardinality(String),
    commit.collection LowCardinality(String), did String, time_us UInt64))
ENGINE = MergeTree ORDER BY (data.kind, data.commit.operation, data.commit.collection, data.did, data.time_us)
SETTINGS object_serialization_version = 'v3', dynamic_serialization_version = 'v3',
    object_shared_data_serialization_version = 'advanced',
    object_shared_data_serialization_version_for_zero_level_parts = 'advanced'"""

CREATED = "FROM bench.events WHERE data.kind = 'commit' AND data.commit.operation = 'create'"
POSTS = f"{CREATED} AND data.commit.collection = 'app.bsky.feed.post'"

# What is missing is an empty text in a path with a type.
QUERIES = {
    "events, Q1": "SELECT nullIf(toString(data.commit.collection), '') AS event, count() AS n FROM bench.events"
    " GROUP BY event ORDER BY n DESC, event",
    "events, Q2": "SELECT data.commit.collection AS event, count() AS n, uniqExact(data.did) AS users"
    f" {CREATED} GROUP BY event ORDER BY n DESC, event",
    "events, Q3": "SELECT data.commit.collection AS event, intDiv(data.time_us, 3600000000) % 24 AS hour, count() AS n"
    f" {CREATED} AND data.commit.collection IN ('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like')"
    " GROUP BY event, hour ORDER BY hour, event",
    "events, Q4": f"SELECT data.did AS did, min(data.time_us) AS first {POSTS} GROUP BY did ORDER BY first, did LIMIT 3",
    "events, Q5": "SELECT data.did AS did, max(data.time_us) - min(data.time_us) AS span"
    f" {POSTS} GROUP BY did ORDER BY span DESC, did LIMIT 3",
}


def compare(name: str, ours: list[list], theirs: list[list]) -> None:
    """Ends the run where an answer is not the same, row by row: every query has an order."""
    if ours != theirs:
        raise SystemExit(f"{name}: FolioDB answers {ours[:3]}, ClickHouse {theirs[:3]}")


def measure(folder: Path, repetitions: int) -> list[dict]:
    """Timings of one number of documents."""
    row = {"suite": "asking", "system": "ClickHouse", "operations": int(folder.name)}
    with tempfile.TemporaryDirectory() as scratch:
        store = session.Session(scratch)

        def ask(text: str) -> list[list]:
            answer = str(store.query(f"{text} SETTINGS max_threads = {THREADS}, output_format_json_quote_64bit_integers = 0", "JSONCompactEachRow"))
            return [json.loads(line) for line in answer.splitlines()]

        store.query("CREATE DATABASE bench")
        store.query(TABLE)
        store.query(f"INSERT INTO bench.events SELECT * FROM file('{folder / 'events.jsonl'}', 'JSONAsObject')")
        store.query("OPTIMIZE TABLE bench.events FINAL")
        queries = [(folder / f"{name}.sql", text) for name, text in QUERIES.items()]
        timings = [measured(ask, query, text, compare, row, repetitions) for query, text in queries]
        store.close()
    return timings


if __name__ == "__main__":
    main(__doc__, "ClickHouse", "chdb-core", "a column of type JSON, its rows in the order of kind, operation, collection, user, time", measure)
