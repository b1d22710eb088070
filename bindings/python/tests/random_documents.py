"""Random nested documents, and their types.

A shape says what the documents of a collection hold; every document is drawn from it, and may lack
any member. One document has them all, so that the columns that FolioDB infers are those of the
shape.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Type:
    """The type of a value: a scalar by its name, else `struct` or `list`.

    `big` are integers that no arithmetic is done with, `mixed` values of several kinds.
    """

    kind: str
    members: tuple[tuple[str, Type], ...] = ()
    item: Type | None = None

    def duck(self) -> str:
        if self.kind == "struct":
            return f"struct({', '.join(f'{quoted(name)} {own.duck()}' for name, own in self.members)})"
        if self.kind == "list":
            assert self.item is not None
            return self.item.duck() + "[]"
        return DUCK_NAMES[self.kind]

    def has(self, kind: str) -> bool:
        inner = [own for _, own in self.members] + ([self.item] if self.item else [])
        return self.kind == kind or any(own.has(kind) for own in inner)


DUCK_NAMES = {
    "int": "bigint",
    "big": "bigint",
    "float": "double",
    "bool": "boolean",
    "text": "varchar",
    "mixed": "json",
}
INT, BIG, FLOAT, BOOL, TEXT, MIXED = map(Type, DUCK_NAMES)
# Not drawn from: an `_id` is written once.
ID = Type("id")
SCALARS = [INT, INT, BIG, FLOAT, FLOAT, BOOL, TEXT, TEXT]

# Some need quotes in SQL, some escapes in JSON. Of names that differ only in case DuckDB allows one.
NAMES = [
    *("a", "b", "n", "geo", "lat", "at", "tags", "value", "Über", "_id_", "k v", 'q"t', "back\\slash"),
    *("tab\t", "select", "1st", "x.y", "it's", "/", "\u00e9\u4e2d", "\U0001f600", "_tombstone_", "[1]"),
]
# The first are frequent, so that values meet.
TEXTS = [
    *["a", "ab", "b"] * 8,
    *("", "a", "A", "ab", "b", "a%b", "a_b", "it's", 'q"q', "back\\slash", "line\nbreak", "\u0001"),
    *("\u00fc", "\U0001f600", "1", "1.0", "true", "null", "[1]", '{"a":1}', "2020-01-01", " a ", "a" * 40),
]
INTS = [*range(-3, 6), 100]
BIGS = [0, 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
# Quarters: their sums are exact in any order.
FLOATS = [-2.25, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.75, 1e15]
MIXTURE = [1, 2, 1.5, "x", "1", "", True, False, [1], [], {"a": 1}, {}, "true"]
POOLS: dict[str, list[Any]] = {
    "int": INTS,
    "big": BIGS,
    "float": FLOATS,
    "bool": [True, False],
    "text": TEXTS,
    "mixed": MIXTURE,
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def random_struct(random: Random, depth: int, count: int) -> Type:
    names = random.sample(NAMES, count)
    return Type("struct", tuple((name, random_type(random, depth)) for name in names))


def random_type(random: Random, depth: int) -> Type:
    kind = random.random()
    if depth > 0 and kind < 0.35:
        return random_struct(random, depth - 1, random.randint(1, 4))
    if depth > 0 and kind < 0.55:
        return Type("list", item=random_type(random, depth - 1))
    return MIXED if kind > 0.95 else random.choice(SCALARS)


def random_shape(random: Random) -> Type:
    """What the documents of a collection hold, apart from `_id`."""
    shape = random_struct(random, 3, random.randint(4, 7))
    return Type("struct", (*shape.members, ("i", INT), ("s", TEXT)))


def whole(random: Random, of: Type, second: bool) -> Any:
    """A value with every member. Two of them make a double a double, a mixture a mixture."""
    if of.kind == "struct":
        return {name: whole(random, own, second) for name, own in of.members}
    if of.kind == "list":
        assert of.item is not None
        return [whole(random, of.item, second)]
    if of.kind == "mixed":
        return "x" if second else 1
    return {"float": 1.5, "big": 2**53 + 1}.get(of.kind) or random.choice(POOLS[of.kind])


def drawn(random: Random, of: Type) -> Any:
    if random.random() < 0.1:
        return None
    if of.kind == "struct":
        own = [member for member in of.members if random.random() < 0.8]
        if random.random() < 0.3:
            random.shuffle(own)
        return {name: drawn(random, inner) for name, inner in own}
    if of.kind == "list":
        assert of.item is not None
        return [drawn(random, of.item) for _ in range(random.randint(0, 3))]
    value = random.choice(POOLS[of.kind])
    if of.kind == "float" and value.is_integer() and random.random() < 0.5:
        return int(value)
    return value


def drawn_document(random: Random, shape: Type) -> dict[str, Any]:
    return {name: drawn(random, of) for name, of in shape.members if random.random() < 0.85}


def spelled(random: Random, value: Any, of: Type, has_repeats: bool = True) -> str:
    """The value as JSON, in one of the ways people and programs write it."""
    if isinstance(value, dict) and of.kind == "struct":
        types = dict(of.members)
        members = list(value.items())
        if has_repeats and len(members) > 1 and random.random() < 0.1:
            # A key twice: the last one counts.
            name = members[-1][0]
            members.insert(0, (name, drawn(random, types[name])))
        space = random.choice(["", "", " ", "\t"])
        colon = random.choice([":", ": ", " :"])
        pairs = (
            spelled_text(random, name) + colon + spelled(random, own, types[name], has_repeats) for name, own in members
        )
        return "{" + space + f",{space}".join(pairs) + space + "}"
    if isinstance(value, list) and of.item is not None:
        items = (spelled(random, own, of.item, has_repeats) for own in value)
        return "[" + random.choice([",", ", "]).join(items) + "]"
    if isinstance(value, str):
        return spelled_text(random, value)
    if isinstance(value, float) and of is FLOAT and random.random() < 0.3:
        return random.choice([f"{value:.3f}", f"{value:e}"])
    return json.dumps(value)


def spelled_text(random: Random, text: str) -> str:
    if random.random() < 0.1:
        units = text.encode("utf-16-be")
        return '"' + "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)) + '"'
    written = json.dumps(text, ensure_ascii=random.random() < 0.5)
    return written.replace("/", "\\/") if random.random() < 0.3 else written


@dataclass
class History:
    """How a collection came to its documents."""

    # What is stored through the collection: an id and a document, or None for a deletion.
    stored: list[tuple[str, dict[str, Any] | None]]
    # Lines appended to its file by hand afterwards.
    appended: list[str]
    live: dict[str, dict[str, Any]]


def random_history(random: Random, shape: Type, count: int) -> History:
    """Some documents, some of them superseded or deleted, some written by hand."""
    changes: list[tuple[str, dict[str, Any] | None]] = []
    live: dict[str, dict[str, Any]] = {}
    for second, id in enumerate(["full", "full2"]):
        live[id] = whole(random, shape, bool(second))
        changes.append((id, live[id]))
    for number in range(count):
        id = f"d{random.randint(0, number)}" if random.random() < 0.2 else f"d{number}"
        document = drawn_document(random, shape) if random.random() < 0.9 else None
        if document is None and id not in live:
            continue
        live.pop(id, None)
        if document is not None:
            live[id] = document
        changes.append((id, document))
    # What no longer counts may have been of any shape.
    last = {id: at for at, (id, _) in enumerate(changes)}
    for at, (id, document) in enumerate(changes):
        if document is not None and at < last[id] and random.random() < 0.4:
            changes[at] = id, {**whole(random, random_shape(random), False), "_other": 1}
    by_hand = len(changes) * 4 // 5
    appended = [line_by_hand(random, id, document, shape) for id, document in changes[by_hand:]]
    return History(changes[:by_hand], appended, live)


def line_by_hand(random: Random, id: str, document: dict[str, Any] | None, shape: Type) -> str:
    if document is None:
        # In exactly this spelling.
        return json.dumps({"_tombstone": id}, separators=(",", ":"))
    written = {"_id": id, **document}
    return json.dumps(written) if "_other" in document else spelled(random, written, with_id(shape))


def with_id(shape: Type) -> Type:
    return Type("struct", (("_id", ID), *shape.members))
