"""Runs the files under `conformance/sql` in SQLite and in DuckDB.

Where their dialects agree with ours they must answer the same: what the files say is SQL,
not what one engine does. `skipif sqlite` and `skipif duckdb` mark records, `onlyif sqlite`
over `halt` ends a file for one. Of an error it is asked that there is one.

DuckDB is imported in processes of its own, one for each version under `.venv/duckdb`.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_languages import FOLDER, Record, records, shown

ROOT = Path(__file__).parents[3]
FILES = sorted((FOLDER / "sql").glob("*.slt"))
DUCKDBS = sorted((ROOT / ".venv" / "duckdb").glob("*/duckdb"))
# What the files were marked with; older ones lack some of it.
SQLITE_MIN = (3, 39)


def run(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    cursor = connection.execute(sql)
    return list(cursor.fetchall()) if cursor.description else []


def answered(connection: Any, record: Record) -> str | None:
    """What is wrong with a record, if anything."""
    expects_error = record.words[1] == "error"
    is_undone = False
    if expects_error:
        # What is accepted after all leaves nothing behind.
        try:
            connection.execute("begin")
            is_undone = True
        except Exception:  # a transaction is already open
            pass
    try:
        rows = run(connection, record.sql)
    except Exception as error:  # each engine has its own
        return None if expects_error else f"failed: {error}"
    finally:
        if is_undone:
            try:
                connection.execute("rollback")
            except Exception:  # the error has ended it
                pass
    if expects_error:
        return "did not fail"
    if record.words[0] == "statement":
        return None
    return compared(rows, record)


def compared(rows: list[tuple[Any, ...]], record: Record) -> str | None:
    kinds, wanted = record.words[1], record.expected
    if any(len(row) != len(kinds) for row in rows):
        return f"{len(rows[0])} columns"
    found = ["\t".join(map(cell, row, kinds)) for row in rows]
    if "rowsort" in record.words:
        found, wanted = sorted(found), sorted(wanted)
    return None if found == wanted else f"answered {found}"


def cell(value: Any, kind: str) -> str:
    if kind == "B" and type(value) is int:  # SQLite's booleans
        return str(bool(value)).lower()
    try:
        return str(int(value)) if kind == "I" and value is not None else shown(value, kind)
    except (TypeError, ValueError, OverflowError):  # of another type than ours
        return str(value)


def problems(connection: Any, name: str, path: Path) -> list[str]:
    """All that is wrong with a file in an engine."""
    found = []
    for record in records(path, (name,)):
        problem = answered(connection, record)
        if problem is not None:
            found.append(f"{path.name}:{record.line}: {record.sql}\n  {problem}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sqlite(path: Path) -> None:
    if sqlite3.sqlite_version_info < SQLITE_MIN:
        pytest.skip(f"SQLite {sqlite3.sqlite_version} is older than the files are marked for")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("pragma foreign_keys = on")
    found = problems(connection, "sqlite", path)
    assert not found, "\n".join(found)


@pytest.mark.skipif(
    not DUCKDBS, reason="NO DUCKDB: scripts/duckdb environment puts it into .venv/duckdb"
)
@pytest.mark.parametrize("package", DUCKDBS, ids=lambda package: package.parent.name)
def test_duckdb(package: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    command = [sys.executable, __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    """All files in the DuckDB that can be imported; what is wrong is printed."""
    import duckdb

    found = []
    for path in FILES:
        connection = duckdb.connect(":memory:")
        connection.execute("set timezone = 'UTC'")
        found += problems(connection, "duckdb", path)
    print("\n".join(found))
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())
