"""Tables of SQLite files, brought over from Python."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import foliodb
import pytest


def made(path: Path) -> Path:
    """A file with two tables and a trigger."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT NOT NULL, founded DATE);
        CREATE TABLE visits (city INT REFERENCES cities, cost DECIMAL(8, 2));
        INSERT INTO cities VALUES (1, 'Oslo', '1048-01-01'), (2, 'Bergen', NULL);
        INSERT INTO visits VALUES (2, 12.5), (2, 7);
        CREATE TRIGGER late AFTER INSERT ON visits BEGIN SELECT 1; END;
        """
    )
    connection.close()
    return path


def test_tables_come_over(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.db")
    with foliodb.open(tmp_path / "data") as db:
        steps: list[tuple[int, int]] = []
        report = db.import_sqlite(path, progress=lambda done, total: steps.append((done, total)))
        assert report.tables == {"cities": 2, "visits": 2}
        assert (report.row_count, report.index_count, report.views) == (4, 0, [])
        assert report.notes == ['trigger "late" of "visits" left out: triggers are not supported']
        query = "SELECT name, sum(cost)::text FROM visits JOIN cities ON id = city GROUP BY name"
        assert db.sql(query).fetchall() == [("Bergen", "19.50")]
        with pytest.raises(foliodb.ConflictError, match="already exists in the database"):
            db.import_sqlite(str(path))


def test_some_tables(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.db")
    with foliodb.open(tmp_path / "data") as db:
        assert db.import_sqlite(path, tables=["Cities"]).tables == {"cities": 2}
        with pytest.raises(foliodb.NotFoundError, match='did you mean "visits"'):
            db.import_sqlite(path, tables=["visit"])
        with pytest.raises(foliodb.CorruptedError):
            db.import_sqlite(Path(__file__))
