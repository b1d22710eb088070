"""Random statements by path have DuckDB's answers.

Over a collection with superseded, deleted and hand-written lines, over a file in FROM and over a
table, all with the same documents; DuckDB has them in tables of the types that FolioDB infers.

    FOLIO_SEED=7    repeats one set of documents and its statements
    FOLIO_RUNS=250  makes so many sets, of 40 statements each
    FOLIO_DEEP=1    makes 150
"""

from __future__ import annotations

import json
import math
import os
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

import foliodb
import pytest
from random_documents import TEXT, Type, random_history, random_shape, spelled, with_id
from random_statements import Query, Statements

STATEMENTS = 40
RUNS, DEEP_RUNS = 10, 150
FIRST_SEED = 1

duckdb = pytest.importorskip("duckdb")


def seeds() -> list[int]:
    if seed := os.environ.get("FOLIO_SEED"):
        return [int(seed)]
    runs = int(os.environ.get("FOLIO_RUNS", DEEP_RUNS if os.environ.get("FOLIO_DEEP") else RUNS))
    return list(range(FIRST_SEED, FIRST_SEED + runs))


class Data:
    """The same documents in all places that statements are asked of."""

    def __init__(self, random: Random, folder: Path) -> None:
        self.folder = folder
        self.shapes = {"docs": random_shape(random), "other": random_shape(random)}
        # Some paths in common, for joins and set operations.
        shared = random.sample(self.shapes["docs"].members, 2)
        own = {name.lower() for name, _ in shared}
        rest = tuple(member for member in self.shapes["other"].members if member[0].lower() not in own)
        self.shapes["other"] = Type("struct", (*shared, *rest))
        self.lines: dict[str, str] = {}
        self.places: dict[str, dict[str, str]] = {"collection": {}, "file": {}, "table": {}}
        self.duck = duckdb.connect()
        self.histories = {}
        with foliodb.open(folder / "db") as db:
            for (name, shape), count in zip(self.shapes.items(), (50, 20)):
                self.histories[name] = random_history(random, shape, count)
                for id, document in self.histories[name].stored:
                    if document is None:
                        db[name].delete(id)
                    else:
                        db[name].put(id, document)
        for name, shape in self.shapes.items():
            with (folder / "db" / "collections" / name / "meta" / "data.jsonl").open("a") as file:
                file.writelines(line + "\n" for line in self.histories[name].appended)
            live = self.histories[name].live
            documents = [{"_id": id, **document} for id, document in live.items()]
            self.lines[name] = "".join(json.dumps(document) + "\n" for document in documents)
            (folder / f"{name}.duck.jsonl").write_text(self.lines[name])
            # The first documents set the order of the members, by which set operations match.
            written = [
                spelled(random, document, with_id(shape), has_repeats=at > 1)
                for at, document in enumerate(documents)
            ]
            (folder / f"{name}.jsonl").write_text("".join(line + "\n" for line in written))
        self.db = foliodb.open(folder / "db")
        for name, shape in self.shapes.items():
            self.places["collection"][name] = name
            self.places["file"][name] = f"'{folder / name}.jsonl'"
            self.places["table"][name] = f"{name}_table"
            self.db.sql(f"create table {name}_table as select * from {name}")
            columns = [("_id", TEXT), *shape.members]
            types = ", ".join(f"{literal(column)}: {literal(of.duck())}" for column, of in columns)
            self.duck.execute(
                f"create table {name} as select * from read_json('{folder / name}.duck.jsonl',"
                f" format = 'newline_delimited', columns = {{{types}}})"
            )

    def text(self, place: str, query: Query) -> str:
        text = query.text.folio
        for name, source in self.places[place].items():
            text = text.replace(f"<{name}>", source)
        return text

    def ask(self, text: str, query: Query) -> list[Any]:
        return normalized([list(row) for row in self.db.sql(text)], query)

    def ask_duck(self, query: Query) -> tuple[str, list[Any]]:
        text = query.text.duck
        for name in self.shapes:
            text = text.replace(f"<{name}>", name)
        return text, normalized(self.duck.execute(text).fetchall(), query, is_duck=True)


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def normalized(rows: list[Any], query: Query, is_duck: bool = False) -> list[Any]:
    found = [[plain(value, of, is_duck) for value, of in zip(row, query.types, strict=True)] for row in rows]
    return found if query.is_ordered else sorted(found, key=repr)


def plain(value: Any, of: Type, is_duck: bool) -> Any:
    """A value as both engines would give it: a struct lacks the members that are null."""
    if value is None:
        return None
    if of.kind == "mixed":
        return plain_json(json.loads(value) if is_duck else value)
    if of.kind == "struct":
        # Keys are compared, too: a column name in other letters is another name.
        types = dict(of.members)
        members = {key: plain(own, types[key], is_duck) for key, own in value.items()}
        return sorted((key, own) for key, own in members.items() if own is not None)
    if of.kind == "list":
        assert of.item is not None
        return [plain(item, of.item, is_duck) for item in value]
    if of.kind == "float":
        return float(value) + 0.0
    if of.kind in ("int", "big"):
        assert value == int(value)
        return int(value)
    assert isinstance(value, bool if of.kind == "bool" else str), (value, of)
    return value


def plain_json(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, dict):
        return sorted((key, plain_json(own)) for key, own in value.items() if own is not None)
    return [plain_json(item) for item in value] if isinstance(value, list) else value


def is_equal(one: Any, two: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        return len(one) == len(two) and all(map(is_equal, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-9)
    return type(one) is type(two) and bool(one == two)


def problem(data: Data, query: Query) -> str | None:
    """What is wrong with the answers to a query."""
    duck_text, expected = data.ask_duck(query)
    for place in data.places:
        text = data.text(place, query)
        try:
            found = data.ask(text, query)
        except foliodb.FolioError as error:
            return f"{place}: {error}\n  {text}\n  DuckDB was asked {duck_text}\n  and answered {expected}"
        if not is_equal(found, expected):
            return f"{place}: {text}\n  {difference(found, expected)}\n  DuckDB was asked {duck_text}"
    return None


def difference(found: list[Any], expected: list[Any]) -> str:
    """The first rows that differ."""
    pairs = zip_longest(found, expected, fillvalue="no row")
    return next(
        f"row {number} of {len(found)} is {one}, and of DuckDB's {len(expected)} {two}"
        for number, (one, two) in enumerate(pairs)
        if not is_equal(one, two)
    )


def failures(seed: int, folder: Path) -> list[str]:
    random = Random(seed)
    data = Data(random, folder)
    found = []
    for number in range(STATEMENTS):
        query = Statements(Random(f"{seed}.{number}"), data.shapes).statement()
        try:
            wrong = problem(data, query)
        except duckdb.Error as error:
            wrong = f"DuckDB refused {query.text.duck}\n  {error}"
        if wrong:
            found.append(f"FOLIO_SEED={seed}, statement {number}: {wrong}")
    if found:
        found += [f"{name}:\n{lines}" for name, lines in data.lines.items()]
        found += [f"{name}, by hand: {line}" for name, own in data.histories.items() for line in own.appended]
    data.db.close()
    data.duck.close()
    return found


@pytest.mark.parametrize("seed", seeds())
def test_answers_are_those_of_duckdb(seed: int, tmp_path: Path) -> None:
    found = failures(seed, tmp_path)
    assert not found, "\n\n".join(found)
