"""Rows that have no peer: lazy documents, raw lines, lookups in bulk, Arrow."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path

import foliodb
from records import random_ids
from report import Row
from stores.folio import Folio


def extra_rows(folder: Path, options: argparse.Namespace) -> list[Row]:
    """The rows, each with as many repetitions as the others."""
    if not Folio.is_asked_for(options.filter):
        return []
    path = folder / Folio.__name__
    ids = random_ids(options.n, options.r)
    with foliodb.open(path, "r") as db:
        records = db["records"]
        assert records.count() == options.n
        work: list[tuple[str, int, Callable[[], object]]] = [
            ("lazy", options.n, lambda: list(records.scan(lazy=True))),
            ("raw", options.n, lambda: list(records.scan_raw())),
            ("get_many", options.r, lambda: records.get_many(ids)),
        ]
        if hasattr(records.scan(), "__arrow_c_stream__"):
            import pyarrow

            work.append(("arrow", options.n, lambda: pyarrow.table(records.scan())))
        return [measured(name, count, options, run) for name, count, run in work]


def measured(name: str, count: int, options: argparse.Namespace, run: Callable[[], object]) -> Row:
    """One row; the first call is not counted."""
    row = Row(name, Folio.name, "warm", options.n, count, "", [])
    for number in range(options.repeat + 1):
        gc.collect()
        started = time.perf_counter_ns()
        result = run()
        elapsed = time.perf_counter_ns() - started
        del result
        if number > 0:
            row.samples.append([("scan", elapsed)])
    return row
