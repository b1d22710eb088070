#!/usr/bin/env python3
"""Writes docs/benchmarks/python.md from a kept results file and the notes beside it.

    python bench/python/page.py [--check]

No figure on that page is typed by hand; `--check` fails when it is not what the
results give.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from report import BARS, Row, short

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results/python.json"
PAGE = ROOT / "docs/benchmarks/python.md"

WORKLOADS = {
    ("write", ""): "Bulk write, sync included",
    ("read_all", "cold"): "Read all, cold",
    ("read_all", "warm"): "Read all, warm",
    ("random", "cold"): "Lookups one by one, cold",
    ("random", "warm"): "Lookups one by one, warm",
    ("lazy", "warm"): "Read all as lazy documents, warm",
    ("raw", "warm"): "Read all as text, warm",
    ("get_many", "warm"): "Lookups in one call, warm",
    ("arrow", "warm"): "Read all into an Arrow table, warm",
    ("new process", "cold"): "A new process that opens the store and prints one record",
}


def rows_of(results: dict) -> dict[tuple[str, str, str], Row]:
    """The rows of a results file, by what tells them apart."""
    rows = [Row.from_json(timing) for timing in results["timings"]]
    return {row.key: row for row in rows}


def page(results: dict, notes: str) -> str:
    """The whole page."""
    rows = rows_of(results)
    machine = results["machine"]
    first = next(iter(rows.values()))
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [
        "# Benchmarks: Python",
        "",
        f"{first.documents:,} records, taken {results['taken'][:10]} at commit {machine['commit']} on {machine['cores']} cores of"
        f" {machine['cpu']}, {machine['memory_gib']} GiB, {machine['kernel']},",
        f"load {machine['load_at_start']} at the start; {machine['allocator']}; {packages}. Dicts in, dicts out; rates are medians.",
        "`bench/python/page.py` writes this page from [the results](../../bench/results/python.json); [how it is measured](methodology.md).",
        "",
        "## Bars",
        "",
        "| | ratio | bar | |",
        "|---|---|---|---|",
    ]
    lines += [bar_line(rows, *bar) for bar in BARS if bar[0] in rows and bar[2] in rows]
    for (workload, mode), title in WORKLOADS.items():
        group = [row for row in rows.values() if (row.workload, row.mode) == (workload, mode)]
        lines += ["", f"## {title}", "", "| system | records/s | time | spread |", "|---|---|---|---|"]
        lines += [row_line(row) for row in sorted(group, key=Row.rate, reverse=True)]
    lines += ["", notes.strip(), ""]
    return "\n".join(lines)


def bar_line(rows: dict, ours: tuple, bar: float, theirs: tuple) -> str:
    """One bar: what was claimed and what was found."""
    ratio = rows[ours].rate() / rows[theirs].rate()
    other = theirs[1] if theirs[1] != ours[1] else f"its own {theirs[0]}"
    name = " ".join(filter(None, (ours[0], ours[2])))
    return f"| {name}, against {other} | {ratio:.2f} | {bar:g} | {'met' if ratio >= bar else 'missed'} |"


def row_line(row: Row) -> str:
    """One system at one workload."""
    return f"| {row.system} | {short(row.rate())} | {row.middle() / 1e6:.3g} ms | ±{row.spread():.0f} % |"


def main() -> int:
    """Writes the page, or checks it."""
    notes = RESULTS.with_suffix(".notes.md").read_text()
    text = page(json.loads(RESULTS.read_text()), notes)
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        return 0
    if PAGE.read_text() == text:
        return 0
    print(f"{PAGE} is not what the results give; run bench/python/page.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
