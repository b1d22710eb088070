"""Polars: the same rows as SQL, and only what is asked for is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pl = pytest.importorskip("polars")

import foliodb  # noqa: E402
from foliodb.conditions import of_polars  # noqa: E402
from foliodb.polars import scan_folio  # noqa: E402

from .conftest import ordered  # noqa: E402

# Predicates, the same as SQL, and whether they are evaluated where documents are read.
CASES = [
    (pl.col("kind") == "view", "kind = 'view'", True),
    ((pl.col("user") >= 10) & (pl.col("user") < 30), "user >= 10 AND user < 30", True),
    (pl.col("price").is_null(), "price IS NULL", True),
    (pl.col("price").is_not_null() & (pl.col("price") > 99.5), "price > 99.5", True),
    (~(pl.col("kind") == "view"), "NOT kind = 'view'", True),
    ((pl.col("kind") == "click") | (pl.col("user") == 3), "kind = 'click' OR user = 3", True),
    (pl.col("kind").str.starts_with("ch"), "kind LIKE 'ch%'", True),
    (pl.col("place").struct.field("city") == "city 3", "place.city = 'city 3'", True),
    (pl.col("user").is_in([1, 2]), "user IN (1, 2)", False),
    (pl.col("user") % 10 == 3, "user % 10 = 3", False),
    ((pl.col("user") % 10 == 3) & (pl.col("kind") == "view"), "user%10 = 3 AND kind = 'view'", True),
    (pl.col("user") > pl.col("price"), "user > price", False),
    (pl.col("kind").str.to_lowercase() == "view", "lower(kind) = 'view'", False),
]


@pytest.mark.parametrize(("predicate", "condition", "is_pushed"), CASES)
def test_filters(
    data: Path, sql: Any, predicate: pl.Expr, condition: str, is_pushed: bool
) -> None:
    events = scan_folio(data, "events")
    found = events.filter(predicate).select("kind", "_id").collect()
    assert ordered(found.rows()) == sql(f"SELECT kind, _id FROM events WHERE {condition}")
    pushed = of_polars(predicate, {("kind",), ("user",), ("price",), ("place", "city")})
    assert (pushed is not None) == is_pushed


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_the_first_rows_are_cut_before_they_are_filtered(data: Path, engine: Any) -> None:
    events = scan_folio(data, "events")
    rows = events.collect()
    for predicate in (pl.col("user") > 5, pl.col("user") % 10 == 3):
        for first in (events.head(10), events.slice(5, 10)):
            found = first.filter(predicate).collect(engine=engine)
            assert found.equals(first.collect(engine=engine).filter(predicate))
        found = events.filter(predicate).head(3).collect(engine=engine)
        assert found.equals(rows.filter(predicate).head(3))


def test_groups_joins_and_limits(data: Path, sql: Any) -> None:
    events, kinds = scan_folio(data, "events"), scan_folio(data, "kinds")
    grouped = events.group_by("kind").agg(pl.len(), pl.col("price").sum()).collect()
    assert ordered(grouped.rows()) == sql(
        "SELECT kind, count(*), coalesce(sum(price), 0.0) FROM events GROUP BY kind"
    )
    joined = events.join(kinds, on="kind").select(pl.col("weight").sum()).collect()
    assert joined.rows() == sql("SELECT sum(weight) FROM events JOIN kinds USING (kind)")
    assert events.select(pl.len()).collect().rows() == sql("SELECT count(*) FROM events")
    assert events.head(10).collect().height == 10
    assert events.filter(pl.col("user") == 5).head(3).collect().height == 3
    users = scan_folio(data, "users").filter(pl.col("name").is_null()).select(pl.len()).collect()
    assert users.rows() == sql("SELECT count(*) FROM users WHERE name IS NULL")


def test_nested_values(data: Path, sql: Any) -> None:
    events = scan_folio(data, "events").filter(pl.col("place").is_not_null())
    cities = events.select(pl.col("place").struct.field("city")).unique().collect()
    assert ordered(cities.rows()) == sql(
        "SELECT DISTINCT place.city FROM events WHERE place IS NOT NULL"
    )


def test_intervals_are_text(tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "mydata") as database:
        database.sql("CREATE TABLE spans (id integer, span interval, spans interval[])")
        database.sql(
            "INSERT INTO spans VALUES (1, '1 month 2 days 3.5 seconds', ARRAY[interval '1 day', NULL]), "
            "(2, NULL, NULL)"
        )
        spans = scan_folio(database, "spans").sort("id")
        rows = [(1, "1 mon 2 days 00:00:03.5", ["1 day", None]), (2, None, None)]
        assert spans.collect().rows() == rows
        assert spans.select("id").collect().rows() == [(1,), (2,)]
        assert spans.filter(pl.col("span") == "1 mon 2 days 00:00:03.5").collect().rows() == rows[:1]
        assert database.sql("SELECT * FROM spans ORDER BY id").pl().rows() == rows
