"""What a script pays that opens a store and reads one record: whole processes."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from records import record_id
from report import Row

# As short as a user would write it.
SCRIPTS = {
    "FolioDB": (
        "Folio",
        "import foliodb\n"
        "print(foliodb.open({folder!r}, 'r')['records'][{id!r}]['name'])\n",
    ),
    "sqlite3 + orjson": (
        "Sqlite",
        "import sqlite3, orjson\n"
        "connection = sqlite3.connect({folder!r} + '/data.db')\n"
        "row = connection.execute('SELECT document FROM records WHERE id = ?', ({id!r},)).fetchone()\n"
        "print(orjson.loads(row[0])['name'])\n",
    ),
}


def process_rows(folder: Path, options: argparse.Namespace) -> list[Row]:
    """A new process each time, the systems in turn."""
    rows = {}
    number = options.n // 2
    for repetition in range(2 * options.repeat + 1):
        for system, (name, script) in SCRIPTS.items():
            if not (folder / name).exists():
                continue
            text = script.format(folder=str(folder / name), id=record_id(number))
            started = time.perf_counter_ns()
            output = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True)
            elapsed = time.perf_counter_ns() - started
            assert output.stdout.split() == [b"User", str(number).encode()], system
            row = rows.setdefault(
                system, Row("new process", system, "cold", options.n, 1, "", [])
            )
            if repetition > 0:
                row.samples.append([("process", elapsed)])
    return list(rows.values())
