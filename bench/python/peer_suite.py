"""A peer at the queries that a suite has written to a folder: the frame of a run.

The folder has one for each size, with a text and FolioDB's answer for each query. Rows are added
to a results file that `cargo bench --bench queries -- SUITE --json` wrote. As many threads as there are
processors; every row of an answer is fetched; an answer that is not FolioDB's ends the run.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

THREADS = os.cpu_count()


def measured(
    ask: Callable[[str], list],
    query: Path,
    text: str,
    compare: Callable[[str, list, list], None],
    row: dict,
    repetitions: int,
) -> dict:
    """The timings of one query, as the results file has them, after its answer was compared."""
    compare(query.stem, json.loads(query.with_suffix(".json").read_text()), ask(text))
    samples = []
    for _ in range(repetitions):
        wall, processor = time.perf_counter_ns(), time.process_time_ns()
        ask(text)
        wall, processor = time.perf_counter_ns() - wall, time.process_time_ns() - processor
        samples.append({"total_ns": wall, "phases": [["query", wall]], "cpu_ns": processor})
    named = {"workload": query.stem, "mode": "warm", "documents": int(query.parent.name)}
    return {**named, **row, "durability": "", "samples": samples, "foreign_cores": 0.0}


def main(about: str, system: str, package: str, settings: str, measure: Callable[[Path, int], list[dict]]) -> None:
    """Measures each size with `measure`, and adds the rows to the results."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text())
    for folder in sorted(arguments.folder.iterdir(), key=lambda folder: int(folder.name)):
        results["timings"] += measure(folder, arguments.repetitions)
    version = metadata.version(package)
    told = {"name": system, "version": f"{package} {version}"}
    results["systems"].append({**told, "settings": f"{THREADS} threads; {settings}"})
    results["machine"]["packages"][package] = version
    arguments.results.write_text(json.dumps(results, indent=1) + "\n")
    print(f"{system} {version}: the same answers, added to {arguments.results}")
