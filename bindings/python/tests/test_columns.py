"""The parts of a columns index are Parquet files that other programs read as they are."""

from __future__ import annotations

from pathlib import Path

import foliodb
import pytest

COUNT = 3_000


def event(number: int) -> dict[str, object]:
    """An event with a text, a fraction, an object, a list, and a member of several types."""
    made: dict[str, object] = {
        "kind": ("like", "post", "follow")[number % 3],
        "n": number,
        "share": number / 8,
        "commit": {"operation": "create", "size": number % 7},
        "langs": ["en", "ja"][: number % 3],
        "mixed": number if number % 2 else f"text {number}",
    }
    if number % 5 == 0:
        made["late"] = True
    return made


@pytest.fixture
def folder(path: Path) -> Path:
    """The folder of the columns of a collection."""
    with foliodb.open(path) as db:
        events = db["events"]
        events.put_many((f"e{number:05}", event(number)) for number in range(COUNT))
        events.create_index(using="columns", name="all")
    return path / "collections/events/meta/columns-all"


def test_the_folder_has_nothing_but_parquet_files(folder: Path) -> None:
    names = [file.name for file in folder.iterdir()]
    assert names
    assert all(name.endswith(".parquet") for name in names)


def test_duckdb_reads_the_parts(folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    parts = str(folder / "*.parquet")
    answer = duckdb.sql(
        f"""select kind, count(*), sum(n), sum(share), sum("commit".size), sum(len(langs)),
                   count(late), min(mixed)
            from read_parquet('{parts}') group by kind order by kind"""
    ).fetchall()
    expected = [
        (
            kind,
            len(own),
            sum(own),
            sum(n / 8 for n in own),
            sum(n % 7 for n in own),
            sum(n % 3 for n in own),
            sum(n % 5 == 0 for n in own),
            f'"text {min(str(n) for n in own if n % 2 == 0)}"',
        )
        for kind in ("follow", "like", "post")
        for own in [[n for n in range(COUNT) if event(n)["kind"] == kind]]
    ]
    assert answer == expected


def test_polars_reads_the_parts(folder: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(folder / "*.parquet").sort("_id")
    check(frame.to_dicts())


def test_pandas_reads_the_folder(folder: Path) -> None:
    pytest.importorskip("pandas")
    dataset = pytest.importorskip("pyarrow.dataset")
    import pandas

    frame = pandas.read_parquet(folder)
    assert frame["n"].sum() == sum(range(COUNT))
    assert set(frame["kind"]) == {"like", "post", "follow"}
    check(dataset.dataset(folder).to_table().sort_by("_id").to_pylist())


def check(rows: list[dict[str, object]]) -> None:
    """Compares rows with the documents: a member of several types is JSON text."""
    assert len(rows) == COUNT
    for number, row in enumerate(rows):
        made = event(number)
        mixed = made.pop("mixed")
        assert row.pop("mixed") == (str(mixed) if isinstance(mixed, int) else f'"{mixed}"')
        assert row.pop("_id") == f"e{number:05}"
        assert row.pop("late") is made.pop("late", None)
        assert row == made
