#!/usr/bin/env python3
"""FolioDB beside what Python programs keep records in, in one run.

    python bench/python/benchmark_io.py [-n 500000] [-r 5000] [-o results.json] [filter]

Dicts in, dicts out, serialization inside the timer for everybody; what is read
is kept in a list, as a notebook does, with the collector on. `cold` is a
fresh open with the work, `warm` the work again on the open store. The order of
the systems rotates from one repetition to the next; rows are medians. Lookups,
which take a few milliseconds, are taken several times in each repetition. Before a
bulk write the file system is synced, untimed: nobody pays for what the one before
has written, or for the deletion of its own last round.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from machine import describe
from only_folio import extra_rows
from process import process_rows
from records import make_records, random_ids
from report import Row, show
from stores import Store, available


# How often each repetition takes the lookups.
LOOKUP_TURNS = 5


def main() -> None:
    """Measures, prints, and writes the results file."""
    options = arguments()
    stores, missing = available()
    for line in missing:
        print(f"not installed: {line}", file=sys.stderr)
    stores = [store for store in stores if store.is_asked_for(options.filter)]
    taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    machine = describe()
    print(f"{options.n:,} records, {options.r:,} lookups, {options.repeat} repetitions; {machine['cpu']}")
    rows: dict[tuple[str, str, str], Row] = {}
    with tempfile.TemporaryDirectory(prefix="folio-bench-", dir=options.dir) as folder:
        for number in range(options.repeat + 1):
            # The first round warms everything up and is not counted.
            for row in one_round(rotated(stores, number), Path(folder), options.n, options.r):
                known = rows.setdefault(row.key, row)
                if number > 0 and known is not row or number == 1:
                    known.add(row)
        for row in extra_rows(Path(folder), options) + process_rows(Path(folder), options):
            rows[row.key] = row
    show(list(rows.values()))
    if options.o:
        write_results(Path(options.o), taken, machine, stores, list(rows.values()))


def arguments() -> argparse.Namespace:
    """The seed's options, and a few for the curious."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("filter", nargs="?", default="", help="parts of systems' names, between commas")
    parser.add_argument("-n", type=int, default=100_000, help="records (100000)")
    parser.add_argument("-r", type=int, default=1_000, help="random lookups (1000)")
    parser.add_argument("-o", metavar="FILE", help="write the results as JSON")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions (5)")
    parser.add_argument("--dir", help="where the stores are made (the system's temporary folder)")
    return parser.parse_args()


def rotated(stores: list[type[Store]], by: int) -> list[type[Store]]:
    """The systems in another order each time."""
    by %= max(len(stores), 1)
    return stores[by:] + stores[:by]


def one_round(stores: list[type[Store]], folder: Path, n: int, r: int) -> Iterator[Row]:
    """Every workload once, for every system in turn."""
    records = make_records(n)
    ids = random_ids(n, r)
    for kind in stores:
        yield write_row(kind, folder / kind.__name__, records)
    expected = json.dumps(records[0])
    del records
    for kind in stores:
        yield from read_rows(kind, folder / kind.__name__, n, expected)
    seekers = [kind for kind in stores if kind.has_lookup]
    for turn in range(LOOKUP_TURNS):
        for kind in rotated(seekers, turn):
            yield from lookup_rows(kind, folder / kind.__name__, n, ids)


def timed(work: Callable[[], object]) -> tuple[int, object]:
    """Nanoseconds, and what came of it."""
    started = time.perf_counter_ns()
    result = work()
    return time.perf_counter_ns() - started, result


def write_row(kind: type[Store], folder: Path, records: list[dict]) -> Row:
    """A bulk write with its sync."""
    shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "sync"):
        os.sync()
    store = kind(folder)
    store.create()
    gc.collect()
    write, _ = timed(lambda: store.write(records))
    sync, _ = timed(store.sync)
    store.close()
    phases = [("write", write), ("sync", sync)]
    return Row("write", kind.name, "", len(records), len(records), kind.durability, phases)


def read_rows(kind: type[Store], folder: Path, n: int, expected: str) -> Iterator[Row]:
    """All records, from a fresh open and again."""
    store = kind(folder)
    gc.collect()
    opened, _ = timed(store.open)
    cold, result = timed(store.read_all)
    assert len(result) == n and json.dumps(result[0]) == expected, kind.name
    yield Row("read_all", kind.name, "cold", n, n, "", [("open", opened), ("scan", cold)])
    del result
    gc.collect()
    warm, result = timed(store.read_all)
    yield Row("read_all", kind.name, "warm", n, n, "", [("scan", warm)])
    store.close()


def lookup_rows(kind: type[Store], folder: Path, n: int, ids: list[str]) -> Iterator[Row]:
    """Records by id, from a fresh open and again."""
    store = kind(folder)
    gc.collect()
    opened, _ = timed(store.open)
    cold, result = timed(lambda: store.lookup(ids))
    assert [record["_id"] for record in result] == ids, kind.name
    yield Row("random", kind.name, "cold", n, len(ids), "", [("open", opened), ("lookup", cold)])
    del result
    gc.collect()
    warm, result = timed(lambda: store.lookup(ids))
    yield Row("random", kind.name, "warm", n, len(ids), "", [("lookup", warm)])
    store.close()


def write_results(
    path: Path,
    taken: str,
    machine: dict,
    stores: list[type[Store]],
    rows: list[Row],
) -> None:
    """The results file: the shape that the Rust suites write, with every sample."""
    systems = [
        {"name": store.name, "version": store.version(), "settings": store.settings}
        for store in stores
    ]
    results = {
        "format": 1,
        "taken": taken,
        "quick": False,
        "machine": machine,
        "systems": systems,
        "timings": [row.as_json() for row in rows],
    }
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"results in {path}")


if __name__ == "__main__":
    main()
