"""Random statements by path have DuckDB's answers.

Over a collection with superseded, deleted and hand-written lines, over another one that has indexes
on fields too, over a file in FROM and over a table, all with the same documents; DuckDB has them in
tables of the types that FolioDB infers.

    FOLIO_SEED=7    repeats one set of documents and its statements
    FOLIO_RUNS=250  makes so many sets, of 40 statements each
    FOLIO_DEEP=1    makes 150
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

import foliodb
import pytest
from random_documents import POOLS, TEXT, Type, quoted, random_history, random_shape, spelled, with_id
from random_statements import Query, Statements, written

STATEMENTS = 40
RUNS, DEEP_RUNS = 10, 150
FIRST_SEED = 1
INDEXES = 6

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
        self.places: dict[str, dict[str, str]] = {"collection": {}, "indexed": {}, "file": {}, "table": {}}
        self.duck = duckdb.connect()
        self.histories = {}
        with foliodb.open(folder / "db") as db:
            for (name, shape), count in zip(self.shapes.items(), (50, 20)):
                self.histories[name] = random_history(random, shape, count)
                stored = self.histories[name].stored
                store(db[name], stored)
                # Some of the documents are there before the indexes, most are changed after.
                store(db[f"{name}_indexed"], stored[: len(stored) // 3])
                create_indexes(Random(f"{name} {random.random()}"), db[f"{name}_indexed"], shape)
                store(db[f"{name}_indexed"], stored[len(stored) // 3 :])
        for name, shape in self.shapes.items():
            for collection in (name, f"{name}_indexed"):
                with (folder / "db" / "collections" / collection / "meta" / "data.jsonl").open("a") as file:
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
            self.places["indexed"][name] = f"{name}_indexed"
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

    def indexes_used(self, query: Query) -> list[str]:
        """The kinds of reads by an index on fields that the plan has."""
        plan = "\n".join(row[0] for row in self.db.sql("explain " + self.text("indexed", query)))
        used = re.findall(r" by_\d.*", plan)
        return ["alone" if "from the index alone" in line else "lines" for line in used]

    def ask_duck(self, query: Query) -> tuple[str, list[Any]]:
        text = query.text.duck
        for name in self.shapes:
            text = text.replace(f"<{name}>", name)
        return text, normalized(self.duck.execute(text).fetchall(), query, is_duck=True)


def store(collection: Any, changes: list[tuple[str, dict[str, Any] | None]]) -> None:
    for id, document in changes:
        if document is None:
            collection.delete(id)
        else:
            collection.put(id, document)


def create_indexes(random: Random, collection: Any, shape: Type) -> None:
    """Creates indexes on fields: nested ones, elements of lists, several, some documents only."""
    paths = list(scalar_paths(shape, ""))
    elements = [path for path in paths if path[0].endswith("[]")]
    fields = [path for path in paths if path not in elements]
    for number in range(INDEXES):
        some = random.sample(fields, min(len(fields), random.choice([1, 1, 2, 3])))
        texts = [path + random.choice(["", "", " desc"]) for path, _ in some]
        if elements and random.random() < 0.3:
            texts = [*texts[: random.randint(0, 1)], random.choice(elements)[0]]
        path, of = random.choice(fields)
        value = random.choice(POOLS[of.kind])
        # The least integer is written as a sum, and conditions have literals only.
        is_literal = not isinstance(value, (float, list, dict)) and value != -(2**63)
        is_partial = random.random() < 0.3 and is_literal
        compared = random.choice(["=", "<>", "<", ">="]) if not isinstance(value, bool) else "="
        where = f"{path} {compared} {written(value)}" if is_partial else None
        if is_partial and random.random() < 0.3:
            where = f"{path} is not null"
        collection.create_index(*texts, name=f"by_{number}", where=where)


def scalar_paths(of: Type, before: str) -> Iterator[tuple[str, Type]]:
    """The fields that an index may have, with the types of their values."""
    for name, own in of.members:
        path = f"{before}{quoted(name)}"
        if own.kind == "struct":
            yield from scalar_paths(own, f"{path}.")
        elif own.kind == "list":
            assert own.item is not None
            if own.item.kind in POOLS:
                yield f"{path}[]", own.item
        else:
            yield path, own


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
        USED.update(data.indexes_used(query))
    if found:
        found += [f"{name}:\n{lines}" for name, lines in data.lines.items()]
        found += [f"{name}, by hand: {line}" for name, own in data.histories.items() for line in own.appended]
        for name in data.shapes:
            indexes = data.db[f"{name}_indexed"].indexes()
            found += [f"{name}, index: {own.name} {own.fields} where {own.condition}" for own in indexes]
    for name in data.shapes:
        for index in data.db[f"{name}_indexed"].indexes():
            problems = data.db[f"{name}_indexed"].check_index(index.name).problems
            found += [f"FOLIO_SEED={seed}, {name}, {index.fields}: {text}" for text in problems]
    data.db.close()
    data.duck.close()
    return found


# How many scans used an index on fields, in all runs.
USED: Counter[str] = Counter()


@pytest.mark.parametrize("seed", seeds())
def test_answers_are_those_of_duckdb(seed: int, tmp_path: Path) -> None:
    found = failures(seed, tmp_path)
    assert not found, "\n\n".join(found)


def test_indexes_were_used() -> None:
    """What the statements above were asked with and without has to have made a difference."""
    if len(seeds()) < RUNS:
        pytest.skip("one set of documents may have no use for its indexes")
    print(f"{sum(USED.values())} scans used an index: {dict(USED)}")
    assert sum(USED.values()) > len(seeds()), USED
