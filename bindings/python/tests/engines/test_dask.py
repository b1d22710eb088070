"""Dask: the same rows as SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dask.dataframe")

import dask  # noqa: E402
import foliodb  # noqa: E402
from foliodb.dask import from_collection  # noqa: E402

from .conftest import ordered  # noqa: E402


def test_answers_are_those_of_one_process(data: Path, sql: Any) -> None:
    with dask.config.set(scheduler="threads"):
        events = from_collection(data, "events", columns=["kind", "user"], npartitions=6)
        assert events.npartitions == 6
        assert len(events) == sql("SELECT count(*) FROM events")[0][0]
        grouped = events.groupby("kind").user.sum().compute()
        assert ordered(grouped.items()) == sql("SELECT kind, sum(user)::bigint FROM events GROUP BY 1")
        few = from_collection(data, "events", columns=["kind"], filter="user = 3 AND price > 9")
        assert len(few) == sql("SELECT count(*) FROM events WHERE user = 3 AND price > 9")[0][0]
        users = from_collection(data, "users", npartitions=3)
        assert users.name.count().compute() == sql("SELECT count(name) FROM users")[0][0]


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "db") as database:
        database.sql("CREATE TABLE nothing (n integer)")
    with pytest.raises(ValueError, match="empty"):
        from_collection(tmp_path / "db", "nothing")
