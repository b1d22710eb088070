"""Values: what JSON can hold comes back equal, everything else is refused by path."""

from __future__ import annotations

import copy
import datetime
import enum
import gc
import json
import math
import pickle
import sys
import threading
import types
import uuid
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import foliodb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
# Of more digits than that, Python turns no int into text by itself.
INTS = st.integers() | st.integers(-(10**400), 10**400)
SCALARS = st.none() | st.booleans() | INTS | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=25,
)
DOCUMENTS = st.dictionaries(TEXT.filter(lambda key: key != "_id"), VALUES, max_size=8)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> foliodb.Collection:
    """One collection for all examples: its shapes and keys are seen again and again."""
    path = tmp_path_factory.mktemp("values") / "db"
    return foliodb.open(path, durability="none")["values"]


def same(a: Any, b: Any) -> bool:
    """Equal, of equal types, in equal order: `1 == 1.0 == True` is not enough."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return bool(a == b)


@settings(max_examples=150)
@given(DOCUMENTS)
def test_round_trip(shared: foliodb.Collection, document: dict[str, Any]) -> None:
    expected = {"_id": "x", **document}
    shared.put("x", document)
    assert same(shared["x"], expected)
    assert same(shared.get("x", lazy=True).to_dict(), expected)
    assert json.loads(shared.get_raw("x")) == expected
    shared.put_many([expected])
    assert same(shared["x"], expected)


@settings(max_examples=50)
@given(st.lists(DOCUMENTS, max_size=8))
def test_documents_of_any_shape_in_one_scan(
    shared: foliodb.Collection, documents: list[dict[str, Any]]
) -> None:
    for name in shared.ids():
        del shared[name]
    shared.put_many((str(number), document) for number, document in enumerate(documents))
    expected = [{"_id": str(number), **document} for number, document in enumerate(documents)]
    assert all(map(same, shared.scan(), expected)) and shared.count() == len(expected)
    assert [dict(document) for document in shared.scan(lazy=True)] == expected


@settings(max_examples=100)
@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_text_that_others_wrote(shared: foliodb.Collection, value: Any) -> None:
    """White space and escapes as other writers choose them."""
    text = json.dumps({"value": value, "é\n": value}, indent=2, ensure_ascii=True)
    shared.put_raw("x", text)
    assert same(shared["x"], {"_id": "x", "value": value, "é\n": value})


# Documents among which others of their kind come: what they share must not show.
ALIKE: list[dict[str, Any]] = [
    {"kind": "order", "tags": ["red", "new"], "note": "exactly sixteen!"},
    {"kind": "order", "tags": ["red", "red", "re"], "note": "exactly sixteen?"},
    {"kind": "ordeR", "tags": ["", "r", "ré", "red\n", "\U0001f600"], "note": "exactly seventeen"},
    {"id": "u2", "copy": ["u2", {"u2": "u2"}], "kind": "order"},
    {"kind": {"kind": "order"}, "tags": "red", "note": None},
]


KEYS = st.sampled_from(["a", "b", "__class__", "__dict__", "é", ""]) | TEXT
# What programs do to a dict; each takes the dict and a key.
CHANGES: list[Callable[[dict[str, Any], str], object]] = [
    lambda document, key: document.__setitem__(key, [key]),
    lambda document, key: document.pop(key, None),
    lambda document, _: document.popitem() if document else None,
    lambda document, key: document.setdefault(key, {}),
    lambda document, key: document.update({key: 1, key + "x": 2}),
    lambda document, _: document.clear(),
    lambda document, key: document.__ior__(copy.copy(document) | {key: None}),
]


@settings(max_examples=60)
@given(
    st.lists(KEYS.filter(lambda key: key != "_id"), max_size=40, unique=True),
    st.lists(st.tuples(st.integers(0, 49), st.sampled_from(CHANGES), KEYS), max_size=60),
)
def test_dicts_that_are_made_alike_are_independent(
    shared: foliodb.Collection,
    keys: list[str],
    changes: list[tuple[int, Callable[[dict[str, Any], str], object], str]],
) -> None:
    lines = [json.dumps({"_id": f"a{n}", "in": {key: n for key in keys}}) for n in range(50)]
    expected = [json.loads(line) for line in lines]
    for name in shared.ids():
        del shared[name]
    shared.put_many(expected)
    found = list(shared.scan())
    assert same(found, expected)
    for number, change, key in changes:
        for documents in (found, expected):
            change(documents[number], key)
            change(documents[-1 - number].setdefault("in", {}), key)
    assert same(found, expected)
    assert same(pickle.loads(pickle.dumps(copy.deepcopy(found))), expected)
    assert json.dumps(found) == json.dumps(expected)


def test_objects_in_more_places_than_are_remembered(users: foliodb.Collection) -> None:
    """They share one shape, also with the objects in them."""

    def tree(depth: int, number: int) -> dict[str, Any]:
        if depth == 0:
            return {"leaf": number, f"only_{number % 3}": [number]}
        return {f"key_{child}": tree(depth - 1, number + child) for child in range(5)}

    documents = {f"d{number:02}": tree(4, number) for number in range(40)}
    users.put_many(documents.items())
    for _ in range(2):
        assert list(users.scan()) == [
            {"_id": id, **document} for id, document in documents.items()
        ]
        assert all(users[id] == {"_id": id, **document} for id, document in documents.items())


def test_texts_that_documents_share(users: foliodb.Collection) -> None:
    documents = [{"_id": f"u{number}", **ALIKE[number % len(ALIKE)]} for number in range(500)]
    users.put_many(documents)
    assert list(users.scan()) == documents
    assert [users[document["_id"]] for document in documents] == documents
    # One object stands for a text that comes again and again, and for the id.
    found = list(users.scan())[-len(ALIKE) :]
    assert found[0]["kind"] is found[1]["kind"]
    assert found[0]["tags"][0] is found[1]["tags"][1]
    users.put("copied", {"copy": ["copied"]})
    copied = users["copied"]
    assert copied["_id"] is copied["copy"][0]


@pytest.mark.parametrize(
    "line",
    [
        '{"tags":["x1","x1"],"_id":"x1"}',
        '{"copy":{"copy":"x2"},"_id":"x2","again":"x2"}',
        '{"_id":"x3","x3":"x3","list":["x3",["x3"]]}',
        '{ "_id" : "x4" , "a" : "x4" }',
        '{"_id":"\\u0078\\u0035","a":"x5","b":"\\u0078\\u0035"}',
    ],
)
def test_an_id_wherever_it_stands(users: foliodb.Collection, path: Path, line: str) -> None:
    users.put("before", {"a": 1})
    users.flush()
    with (path / "collections/users/meta/data.jsonl").open("a") as file:
        file.write(line + "\n")
    users.refresh()
    wanted = json.loads(line)
    assert users[wanted["_id"]] == wanted


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "-1", "1e5", "1E+2", "0.1", "1.10", "123456789.123456789e-5", "2.5e-324"]
    + ["9007199254740993", "-9223372036854775808", "18446744073709551616", "0.30000000000000004"]
    + ["179769313486231580793e289", "4.35", "0.000001", "5e-7", "8.5", "1234567890123456.7"],
)
def test_numbers(shared: foliodb.Collection, text: str) -> None:
    shared.put_raw("x", f'{{"n":{text}}}')
    assert same(shared["x"]["n"], json.loads(text))
    exact = shared.get("x", decimal=True)["n"]
    assert exact == (Decimal(text) if any(c in text for c in ".eE") else int(text))
    shared.put("x", {"n": exact})
    assert Decimal(json.loads(shared.get_raw("x"), parse_float=Decimal)["n"]) == Decimal(text)


class Colour(enum.IntEnum):
    """An int of a kind."""

    RED = 3


class Word(str):
    """A str of a kind."""


def test_relatives_of_plain_types(shared: foliodb.Collection) -> None:
    document = OrderedDict(
        colour=Colour.RED,
        word=Word("w"),
        pair=(1, (2, [])),
        mapping=UserDict(a=1),
        proxy=types.MappingProxyType({"b": None}),
        ratio=Decimal("1.10"),
    )
    shared.put("x", document)
    assert shared.get_raw("x") == (
        '{"_id":"x","colour":3,"word":"w","pair":[1,[2,[]]],"mapping":{"a":1},'
        '"proxy":{"b":null},"ratio":1.10}'
    )
    shared.put("x", UserDict(document))
    assert shared["x"]["pair"] == [1, [2, []]]


REFUSED = [
    (math.nan, "NaN"),
    (math.inf, "inf"),
    (Decimal("NaN"), "NaN"),
    (b"bytes", "bytes"),
    (datetime.datetime(2025, 1, 2), "isoformat"),
    (datetime.date(2025, 1, 2), "isoformat"),
    ({1, 2}, "list"),
    (deque(), "list"),
    (uuid.UUID(int=1), "default="),
    (1j, "complex"),
    (object(), "object"),
    (lambda: None, "function"),
    ("\ud800", "surrogate"),
]


@pytest.mark.parametrize(("value", "says"), REFUSED)
def test_refused_by_path(shared: foliodb.Collection, value: Any, says: str) -> None:
    document = {"fine": 1, "deep": [{"here": value}]}
    for put in (
        lambda: shared.put("x", document),
        lambda: shared.put_many([{"_id": "x", **document}]),
    ):
        with pytest.raises(foliodb.InvalidInputError, match=r'deep\[0\]\.here of document "x"') as e:
            put()
        assert says in str(e.value)


def test_keys_are_text(shared: foliodb.Collection) -> None:
    for key in (1, None, True, 1.5, ("a",), b"a"):
        with pytest.raises(foliodb.InvalidInputError, match=r"key a\..* is a .*, not a str"):
            shared.put("x", {"a": {key: 1}})


def test_cycles_and_depth(shared: foliodb.Collection) -> None:
    cycle: dict[str, Any] = {"a": [1]}
    cycle["a"].append(cycle)
    ring: list[Any] = []
    ring.append(ring)
    for document in (cycle, {"ring": ring}):
        with pytest.raises(foliodb.InvalidInputError, match="contains itself"):
            shared.put("x", document)
    nested: Any = 1
    for _ in range(126):
        nested = [nested]
    shared.put("x", {"n": nested})
    assert shared["x"]["n"] == nested
    with pytest.raises(foliodb.InvalidInputError, match="nests deeper than 127"):
        shared.put("x", {"n": [nested]})
    with pytest.raises(foliodb.FolioSyntaxError):
        shared.put_raw("x", '{"a":' + "[" * 100_000 + "]" * 100_000 + "}")


def test_a_default_that_never_ends(shared: foliodb.Collection) -> None:
    class Nest:
        """Turned into a list of itself."""

    class Other:
        """Turned into the one above."""

    def default(value: Any) -> Any:
        return Other() if isinstance(value, Nest) else Nest()

    with pytest.raises(foliodb.InvalidInputError, match="nests deeper"):
        shared.put("x", {"n": Nest()}, default=default)
    with pytest.raises(ZeroDivisionError):
        shared.put("x", {"n": Nest()}, default=lambda _: 1 / 0)
    shared.put("x", {"n": {1, 2}}, default=sorted)
    assert shared["x"]["n"] == [1, 2]


def test_a_default_that_pulls_the_rug(shared: foliodb.Collection) -> None:
    document: dict[str, Any] = {"a" * 50 + str(n): [set(), n] for n in range(50)}
    inner = document["a" * 50 + "7"]

    def default(_: Any) -> Any:
        inner.clear()
        document.clear()
        return 0

    shared.put("x", {"first": document}, default=default)
    document.update({"k": [set()]})
    with pytest.raises(foliodb.InvalidInputError, match="first"):
        shared.put("x", {"first": document}, default=lambda _: document.clear() or object())


def test_documents_that_change_before_their_turn(users: foliodb.Collection) -> None:
    """What is put is what a document is at its turn, also where it was looked at before."""
    documents: list[dict[str, Any]] = [
        {"_id": f"d{n}", "n": f"text {n}", "more": [n, {"deep": f"text {n}"}]} for n in range(400)
    ]

    def default(value: object) -> str:
        assert isinstance(value, Now)
        for later in documents[value.number + 1 : value.number + 8]:
            name = later["_id"]
            later.clear()
            later.update({"_id": name, "n": f"changed by {value.number}", **{f"k{i}": i for i in range(9)}})
            later.pop("k0")
        gc.collect()
        return "now"

    # Behind the first, 64 documents are taken to be like it; one of them changes those after.
    for number in (2, 64, 150, 270, 399):
        documents[number]["now"] = Now(number)
    assert users.put_many(documents, default=default).inserted == 400
    for number, document in enumerate(documents):
        stored = users[f"d{number}"]
        assert stored == {**document, **({"now": "now"} if "now" in document else {})}, number
    assert users["d67"]["n"] == "changed by 64" and users["d399"]["now"] == "now"


def test_documents_that_another_thread_changes(users: foliodb.Collection) -> None:
    """Between two buffers other threads run: each document is put as it is at its turn."""
    many = [{"_id": f"m{n}", "text": "x" * 3000, "n": f"{n} 0"} for n in range(2000)]
    is_done = threading.Event()

    def change() -> None:
        turn = 0
        while not is_done.is_set():
            turn += 1
            for number, document in enumerate(many):
                document.pop("more", None)
                document["n"] = f"{number} {turn}"
                document["more"] = [f"{number}", turn]

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(5):
            users.put_many(many)
    finally:
        is_done.set()
        other.join()
    assert len(users) == 2000
    for document in users.scan():
        number, turn = document["n"].split()
        assert document["_id"] == f"m{number}" and int(turn) >= 0
        assert document.get("more", [number])[0] == number


class Now:
    """What JSON does not have."""

    def __init__(self, number: int) -> None:
        self.number = number


def test_huge_ints(shared: foliodb.Collection) -> None:
    limit = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else 0
    value = 10 ** (limit or 5000)
    if limit:
        with pytest.raises(foliodb.InvalidInputError, match="set_int_max_str_digits"):
            shared.put("x", {"n": value})
        shared.put_raw("x", '{"n":1' + "0" * limit + "}")
        with pytest.raises(ValueError, match="digits"):
            shared["x"]
        assert len(shared.get_raw("x")) > limit
    shared.put("x", {"n": value // 10})
    assert shared["x"]["n"] == value // 10


def test_wrong_types(users: foliodb.Collection) -> None:
    for document in (None, 1, "text", [1], b"{}"):
        with pytest.raises(foliodb.InvalidInputError, match="not a dict"):
            users.put("x", document)
    for name in (None, True, 1.0, b"x", object()):
        with pytest.raises(TypeError):
            users.put(name, {})
        with pytest.raises(TypeError):
            users.get(name)
    for documents in ([1], ["text"], [None], [("x", {}, 1)], [("x", 1)], "text", [{"_id": None}]):
        with pytest.raises(foliodb.InvalidInputError):
            users.put_many(documents)
    with pytest.raises(TypeError):
        users.put_many(5)
    with pytest.raises(foliodb.InvalidInputError, match="id="):
        users.put_many([], id=5)
    with pytest.raises(TypeError):
        users.scan(limit=-1.5)
    with pytest.raises(foliodb.InvalidInputError, match="-1 is no count"):
        users.scan(limit=-1)
    for options in (
        {"mode": "w"},
        {"durability": "maybe"},
        {"timeout": -1.0},
        {"timeout": float("inf")},
        {"cache_size": -1},
    ):
        with pytest.raises(foliodb.InvalidInputError):
            foliodb.open("nowhere", **options)


def test_an_id_that_is_no_utf8_is_named(users: foliodb.Collection) -> None:
    half = "\ud800"
    for call in (
        lambda: users.put(half, {}),
        lambda: users.get(half),
        lambda: users.get_many(["a", half]),
        lambda: users.put_many([(half, {})]),
        lambda: users.put_many([{"_id": half}]),
    ):
        with pytest.raises(foliodb.InvalidInputError, match=r"the id '\\ud800' holds half of a"):
            call()
    assert half not in users


def test_a_carried_id_must_agree(users: foliodb.Collection) -> None:
    users.put("a", {"n": 1, "_id": "a"})
    for carried in ("b", 1, None, ["a"]):
        with pytest.raises(foliodb.InvalidInputError, match='put under "a"'):
            users.put("a", {"_id": carried})
    users.put("a", {"nested": {"_id": 5}})
    assert users["a"]["nested"] == {"_id": 5}


def test_a_document_of_100_megabytes(path: Path) -> None:
    text = "größe and \\ \n " * (100 << 20 >> 4)
    with foliodb.open(path, durability="none") as db:
        db["big"].put("x", {"text": text, "list": list(range(1000))})
        assert db["big"]["x"]["text"] == text
        assert next(db["big"].scan(lazy=True))["list"][999] == 999


def test_numpy_scalars(shared: foliodb.Collection) -> None:
    numpy = pytest.importorskip("numpy")
    document = {"i": numpy.int64(5), "f": numpy.float32(1.5), "b": numpy.bool_(True)}
    shared.put("x", document)
    assert same(shared["x"], {"_id": "x", "i": 5, "f": 1.5, "b": True})
    with pytest.raises(foliodb.InvalidInputError, match="ndarray"):
        shared.put("x", {"a": numpy.zeros(3)})
    with pytest.raises(foliodb.InvalidInputError, match="value at a.d of document "):
        shared.put("x", {"a": {"d": numpy.datetime64("2024-01-31")}})
