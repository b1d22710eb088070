"""Data sets: by position and as a stream, with seeds, shards, workers and resume."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import foliodb
import pytest
from hypothesis import given
from hypothesis import strategies as st

COUNT = 100


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> foliodb.Collection:
    """Documents with a number each."""
    items = foliodb.open(tmp_path_factory.mktemp("datasets") / "db")["items"]
    items.put_many({f"i{n}": {"n": n, "xy": [n, n + 0.5], "name": f"item {n}"} for n in range(COUNT)})
    items.flush()
    return items


def numbers(documents: Any) -> list[int]:
    return [document["n"] for document in documents]


def test_positions(items: foliodb.Collection) -> None:
    data = items.dataset()
    assert len(data) == COUNT and data[3]["n"] == 3 and data[-1]["n"] == COUNT - 1
    assert numbers(data[5:8]) == [5, 6, 7] and numbers(data[::-40]) == [99, 59, 19]
    assert numbers(data[[4, -1, 4]]) == numbers(data.__getitems__([4, -1, 4])) == [4, 99, 4]
    assert data["n"] == data.column("n") == list(range(COUNT))
    assert numbers(data) == list(range(COUNT)) and numbers(reversed(data))[:2] == [99, 98]
    assert data.features == {"_id": "str", "n": "int", "xy": "list", "name": "str"}
    for position in (COUNT, -COUNT - 1):
        with pytest.raises(IndexError):
            data[position]


def test_chains(items: foliodb.Collection) -> None:
    data = items.dataset()
    even = data.filter(lambda document: document["n"] % 2 == 0)
    assert len(even) == 50 and numbers(even.skip(10).take(2)) == [20, 22]
    doubled = even.map(lambda document: {"n": document["n"] * 2})
    assert (doubled[1]["_id"], doubled[1]["n"]) == ("i2", 4) and even[1]["n"] == 2
    assert numbers(data.select([9, 3])) == [9, 3]
    assert [len(batch) for batch in data.batch(40)] == [40, 40, 20]
    assert [len(batch) for batch in data.batch(40, drop_last=True)] == [40, 40]
    for wrong in (lambda: data.take(-1), lambda: data.batch(0), lambda: data.shard(2, 2)):
        with pytest.raises(foliodb.InvalidInputError):
            wrong()


# What a seed gives is part of the interface: experiments are repeated years later.
SHUFFLED = {0: [47, 98, 72, 43, 18], 7: [70, 51, 0, 95, 48]}


@pytest.mark.parametrize("seed", SHUFFLED)
def test_a_seed_is_for_ever(items: foliodb.Collection, seed: int) -> None:
    data = items.dataset().shuffle(seed)
    assert numbers(data[:5]) == SHUFFLED[seed]
    assert sorted(numbers(data)) == list(range(COUNT))


@given(shards=st.integers(1, 12), seed=st.integers(0, 2**64))
def test_shards_make_up_the_whole(items: foliodb.Collection, shards: int, seed: int) -> None:
    data = items.dataset().shuffle(seed)
    parts = [numbers(data.shard(shards, index)) for index in range(shards)]
    assert sorted(sum(parts, [])) == list(range(COUNT))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    stream = items.dataset(streaming=True).shuffle(16, seed)
    parts = [numbers(stream.shard(shards, index)) for index in range(shards)]
    assert sorted(sum(parts, [])) == list(range(COUNT))


def test_what_changes_after_a_data_set_is_made(users: foliodb.Collection) -> None:
    users.put_many({"a": {"n": 1}, "b": {"n": 2}})
    data = users.dataset()
    users.put("a", {"n": 3})
    users.put("c", {"n": 4})
    assert numbers(data) == [3, 2]
    users.delete("b")
    with pytest.raises(foliodb.NotFoundError, match='"b"|\'b\''):
        data[1]


def test_stream(items: foliodb.Collection) -> None:
    stream = items.dataset(streaming=True)
    assert numbers(stream) == numbers(stream) == list(range(COUNT))
    assert numbers(stream.skip(10).take(3)) == [10, 11, 12]
    assert [item["m"] for item in stream.map(lambda d: {"m": -d["n"]}).take(2)] == [0, -1]
    assert numbers(stream.filter(lambda d: d["n"] > 97)) == [98, 99]
    assert [numbers(batch) for batch in stream.take(5).batch(2)] == [[0, 1], [2, 3], [4]]
    assert [numbers(b) for b in stream.take(5).batch(2, drop_last=True)] == [[0, 1], [2, 3]]
    shuffled = stream.shuffle(buffer_size=10, seed=1)
    assert numbers(shuffled) == numbers(shuffled) != list(range(COUNT))
    assert sorted(numbers(shuffled)) == list(range(COUNT))
    first = numbers(shuffled)
    shuffled.set_epoch(1)
    assert sorted(numbers(shuffled)) == list(range(COUNT)) and numbers(shuffled) != first
    for wrong in (lambda: stream.take(-1), lambda: stream.shuffle(0), lambda: stream.shard(3, 3)):
        with pytest.raises(foliodb.InvalidInputError):
            wrong()


@given(stop=st.integers(0, 50), seed=st.integers(0, 99), epoch=st.integers(0, 3))
def test_resume(items: foliodb.Collection, stop: int, seed: int, epoch: int) -> None:
    def fresh() -> foliodb.StreamingDataset:
        stream = items.dataset(streaming=True).filter(lambda d: d["n"] % 3).shuffle(8, seed)
        return stream.map(lambda d: {"n": d["n"]})

    whole = fresh()
    whole.set_epoch(epoch)
    expected = numbers(whole)
    first = fresh()
    first.set_epoch(epoch)
    iterator = iter(first)
    begun = numbers(next(iterator) for _ in range(stop))
    state = pickle.loads(pickle.dumps(first.state_dict()))
    second = fresh()
    second.load_state_dict(state)
    assert begun + numbers(second) == expected
    # An iteration that went to its end leaves nothing to skip.
    assert numbers(second) == expected and second.state_dict() == {**state, "given": 0}


def test_a_state_is_of_one_data_set(users: foliodb.Collection) -> None:
    users.put_many({f"u{n}": {"n": n} for n in range(50)})

    def fresh(buffer_size: int | None = 8, seed: int = 1) -> foliodb.StreamingDataset:
        return users.dataset(streaming=True).shuffle(buffer_size, seed)

    stream = fresh().map(lambda d: {"n": d["n"]}).take(40)
    iterator = iter(stream)
    begun = numbers(next(iterator) for _ in range(10))
    state = json.loads(json.dumps(stream.state_dict()))
    same = fresh().map(lambda d: {"other": 1}).take(40)
    same.load_state_dict(state)
    assert begun + numbers(same) == numbers(stream)
    of_others = {
        "the seed of shuffle is 2, and was 1": fresh(seed=2).map(len).take(40),
        "the buffer size of shuffle is 9, and was 8": fresh(9).map(len).take(40),
        "the buffer size of shuffle is None, and was 8": fresh(None).map(len).take(40),
        "the count of take is 41, and was 40": fresh().map(len).take(41),
        "filter replaces map": fresh().filter(len).take(40),
        "take is missing": fresh().map(len),
        "batch is new": fresh().map(len).take(40).batch(2),
    }
    for difference, other in of_others.items():
        with pytest.raises(foliodb.ConflictError, match=difference):
            other.load_state_dict(state)
        assert other.state_dict()["given"] == 0
    with pytest.raises(foliodb.ConflictError, match="the collection is 'more', and was 'users'"):
        users.database["more"].dataset(streaming=True).shuffle(8, 1).map(len).take(40).load_state_dict(state)
    for old in ({"epoch": 0, "given": 3}, {**state, "version": 3}):
        with pytest.raises(foliodb.InvalidInputError, match="version .* and this release knows 2"):
            fresh().load_state_dict(old)
    wrongs: list[Any] = [{}, [1], None, {**state, "given": "3"}, {**state, "epoch": -1}]
    wrongs += [{**state, "steps": steps} for steps in (None, 3, [[]], ["shuffle"])]
    for wrong in wrongs:
        with pytest.raises(foliodb.InvalidInputError, match="not returned by state_dict"):
            fresh().load_state_dict(wrong)
    for seed in ("x", None, 1.5, True):
        for data in (users.dataset(), users.dataset(streaming=True)):
            with pytest.raises(foliodb.InvalidInputError, match="a seed is an integer"):
                data.shuffle(seed=seed)  # type: ignore[arg-type]


def test_a_state_is_of_one_state_of_the_data(users: foliodb.Collection, path: Path) -> None:
    users.put_many({f"u{n}": {"n": n} for n in range(50)})
    users.flush()
    data = path / "collections/users/meta/data.jsonl"

    def taken() -> tuple[foliodb.StreamingDataset, dict[str, Any]]:
        stream = users.dataset(streaming=True).shuffle(8)
        next(iter(stream))
        return users.dataset(streaming=True).shuffle(8), stream.state_dict()

    def edit_by_hand() -> None:
        data.write_text(data.read_text().replace('"n":7}', '"n":8}'))
        users.refresh()

    for change, words in (
        (lambda: users.put("u3", {"n": 3}), "the same number of them"),
        (lambda: users.put("new", {"n": 3}), "50 then and 51 now"),
        (lambda: users.delete("new"), "51 then and 50 now"),
        (users.compact, "the same number of them"),
        (edit_by_hand, "the same number of them"),
    ):
        stream, state = taken()
        change()  # type: ignore[operator]
        with pytest.raises(foliodb.ConflictError, match=f"have changed since .*{words}.*set_epoch"):
            stream.load_state_dict(state)
    stream, state = taken()
    stream.load_state_dict(state)
    users.put("u3", {"n": 3})
    with pytest.raises(foliodb.ConflictError, match="have changed"):
        next(iter(stream))
    assert len(list(stream)) == 50
    # A copy of the data is the same data.
    stream, state = taken()
    users.database.backup(path / "../copy")
    copy = foliodb.open(path / "../copy")["users"].dataset(streaming=True).shuffle(8)
    copy.load_state_dict(state)
    assert len(list(copy)) == 49


def test_shuffling_keeps_its_order_under_updates(users: foliodb.Collection) -> None:
    users.put_many({f"u{n}": {"n": n} for n in range(200)})

    def orders() -> list[list[int]]:
        split = users.dataset().train_test_split(0.25, seed=3)
        streams = [users.dataset(streaming=True).shuffle(None, seed) for seed in (5, 6)]
        streams[1].set_epoch(1)
        data = [users.dataset().shuffle(5), split["train"], split["test"], *streams]
        return [numbers(part) for part in data]

    before = orders()
    assert all(sorted(order) != order for order in before) and before[3] != before[4]
    for n in (3, 50, 3, 120):
        users.put(f"u{n}", {"n": n})
    assert orders() == before
    users.compact()
    assert orders() == before
    # Whoever comes or goes leaves the others in their order.
    users.delete("u7")
    users.put("more", {"n": 1000})
    for order, now in zip(before, orders()):
        kept = [n for n in order if n != 7]
        assert [n for n in now if n in order] == [n for n in kept if n in now]
    assert [n for n in orders()[0] if n != 1000] == [n for n in before[0] if n != 7]
    with pytest.raises(foliodb.InvalidInputError, match="is the first operation"):
        users.dataset(streaming=True).take(3).shuffle(None)


def test_columns(users: foliodb.Collection) -> None:
    users.put_many(
        {
            "a": {"name": "Ann", "age": 30, "tags": ["x"]},
            "b": {"name": "Bob", "score": 1.5},
            "c": {"name": "Ann", "age": None, "tags": ["x"]},
            "d": {"name": "Dan", "age": 7, "score": True},
        }
    )
    data = users.dataset()
    assert data.column_names == ["_id", "name", "age", "tags", "score"] and data.num_rows == 4
    assert data["score"] == [None, 1.5, None, True]
    for typo, near in (("nmae", "did you mean 'name'"), ("tag", "did you mean 'tags'"), ("x", "available: '_id'")):
        with pytest.raises(KeyError, match=near) as raised:
            data[typo]
        assert isinstance(raised.value, foliodb.NotFoundError)
    assert data.unique("name") == ["Ann", "Bob", "Dan"]
    assert data.unique("tags") == [["x"], None] and data.unique("score") == [None, 1.5, True]
    assert data.take(0)["anything"] == [] and data.take(0).column_names == []
    with pytest.raises(KeyError):
        data.unique("nmae")
    with pytest.raises(foliodb.InvalidInputError, match="has no fields: .* into a int"):
        data.map(lambda d: 5).column_names


def test_sort(users: foliodb.Collection) -> None:
    rows = [("x", 3), ("y", 1), ("x", None), ("z", 2), ("y", 1.5), (None, 9)]
    users.put_many({f"u{at}": {"k": k, "n": n} for at, (k, n) in enumerate(rows)})
    users.put("u6", {"k": "x"})
    data = users.dataset()

    def sorted_by(*arguments: Any, **settings: Any) -> str:
        return "".join(document["_id"][1] for document in data.sort(*arguments, **settings))

    assert sorted_by("n") == "1430526" and sorted_by("n", reverse=True) == "5034126"
    assert sorted_by("n", null_placement="at_start") == "2614305"
    assert sorted_by(["k", "n"]) == "0261435" and sorted_by(["k", "n"], reverse=[True, False]) == "3140265"
    assert sorted_by(["k"]) == "0261435"
    users.put("u6", {"k": "x", "n": "text"})
    with pytest.raises(foliodb.TypeMismatchError, match=r"field 'n' .*\(float, int, str\)"):
        data.sort("n")
    with pytest.raises(foliodb.InvalidInputError, match="2 columns and 1 directions"):
        data.sort(["k", "n"], reverse=[True])
    with pytest.raises(foliodb.InvalidInputError, match="null_placement 'first' is unknown"):
        data.sort("n", null_placement="first")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="did you mean 'k'|available"):
        data.sort("kk")


def test_the_same_as_hugging_face(items: foliodb.Collection) -> None:
    datasets = pytest.importorskip("datasets")
    data = items.dataset()
    theirs = datasets.Dataset.from_list(data.to_list())
    assert data.column_names == theirs.column_names and data["name"] == theirs["name"][:]
    for arguments in (("n", True), (["n"], [False])):
        assert data.sort(*arguments)["n"] == theirs.sort(*arguments)["n"][:]
    for settings in (
        {"test_size": 0.2},
        {"test_size": 0.205},
        {"test_size": 7},
        {"train_size": 0.305},
        {"train_size": 30, "test_size": 0.5},
        {},
    ):
        mine, other = data.train_test_split(**settings, seed=1), theirs.train_test_split(**settings, seed=1)
        assert {name: len(part) for name, part in mine.items()} == {n: len(p) for n, p in other.items()}
        assert not set(mine["train"]["n"]) & set(mine["test"]["n"])
        mine = data.train_test_split(**settings, shuffle=False)
        assert mine["test"]["n"] == theirs.train_test_split(**settings, shuffle=False)["test"]["n"][:]
    both = {"train_size": 60, "test_size": 60}, {"train_size": 0.9, "test_size": 0.101}
    for wrong in (0, 1.0, 0.0, -1, 100, 101, 1.5, "x", *both):
        settings = wrong if isinstance(wrong, dict) else {"test_size": wrong}
        for split in (data.train_test_split, theirs.train_test_split):
            with pytest.raises(ValueError):
                split(**settings)
    functions: list[tuple[Any, dict[str, Any]]] = [
        (lambda d: {"n": d["n"] + 1, "new": "x"}, {}),
        (lambda d: None, {}),
        (lambda n, by: {"n": n * by}, {"input_columns": "n", "fn_kwargs": {"by": 3}}),
        (lambda d: {"length": len(d["name"])}, {"remove_columns": ["name", "xy"]}),
        (lambda d: {"n": d["n"]}, {"remove_columns": ["n", "name"]}),
        (lambda b: {"sum": [n + x[1] for n, x in zip(b["n"], b["xy"])]}, {"batched": True}),
        (lambda ns: {"m": [-n for n in ns]}, {"batched": True, "input_columns": ["n"]}),
    ]
    for function, settings in functions:
        mine = data.map(function, **settings)
        assert mine.to_list() == theirs.map(function, **settings).to_list()
        if "batched" not in settings:
            assert list(items.dataset(streaming=True).map(function, **settings)) == mine.to_list()
    tests: list[tuple[Any, dict[str, Any]]] = [
        (lambda d: d["n"] % 3 == 0, {}),
        (lambda n, name: n > 50 and name != "item 60", {"input_columns": ["n", "name"]}),
        (lambda b: [n < 5 for n in b["n"]], {"batched": True}),
    ]
    for function, settings in tests:
        mine = data.filter(function, **settings)
        assert mine["n"] == theirs.filter(function, **settings)["n"][:]
        if "batched" not in settings:
            assert numbers(items.dataset(streaming=True).filter(function, **settings)) == mine["n"]
    for short in (lambda b: {"n": [1]}, lambda b: {"n": 5}):
        with pytest.raises(foliodb.InvalidInputError, match="'n' has . of 100 values"):
            data.map(short, batched=True)[:]


def test_hugging_face_and_back(items: foliodb.Collection, db: foliodb.Database) -> None:
    pytest.importorskip("datasets")
    shuffled = items.dataset().shuffle(4)
    assert foliodb.to_hf(shuffled.with_format("numpy"))["n"][:] == numbers(shuffled)
    counts = foliodb.from_hf(shuffled.train_test_split(0.1), db)
    assert {name: count.inserted for name, count in counts.items()} == {"train": 90, "test": 10}


def test_each_worker_looks_up_its_own(
    items: foliodb.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With PyTorch standing aside: what `_share` says is what a worker gets."""
    stream = items.dataset(streaming=True).shuffle(None, 2)
    for data in (stream.map(lambda d: {"n": d["n"]}), stream.take(60).map(lambda d: {"n": d["n"]})):
        expected = numbers(data)
        for worker in range(3):
            monkeypatch.setattr("foliodb.streaming._share", lambda: (worker, 3))
            assert numbers(data) == expected[worker::3]
        monkeypatch.undo()


def test_pandas(items: foliodb.Collection) -> None:
    pandas = pytest.importorskip("pandas")
    frame = items.dataset().shuffle(1).with_format("numpy").take(30).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["_id", "n", "xy", "name"]
    assert frame.n.tolist() == numbers(items.dataset().shuffle(1).take(30))
    assert len(items.dataset().take(0).to_pandas()) == 0


def test_pickles(items: foliodb.Collection) -> None:
    for data in (items.dataset().shuffle(3).take(7), items.dataset(streaming=True).take(7)):
        again = pickle.loads(pickle.dumps(data))
        assert numbers(again) == numbers(data)


def last_number(data: Any) -> int:
    return numbers(data)[-1]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers(items: foliodb.Collection, method: str) -> None:
    parts = [items.dataset().shard(4, index) for index in range(4)]
    streams = [items.dataset(streaming=True).shard(4, index) for index in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(last_number, parts + streams) == [96, 97, 98, 99] * 2


def test_numpy(items: foliodb.Collection) -> None:
    numpy = pytest.importorskip("numpy")
    document = items.dataset().with_format("numpy")[3]
    assert isinstance(document["xy"], numpy.ndarray) and document["xy"].tolist() == [3.0, 3.5]
    assert document["name"] == "item 3"
    with pytest.raises(foliodb.InvalidInputError, match="'pandas' is unknown"):
        items.dataset().with_format("pandas")  # type: ignore[arg-type]


def test_what_pytorch_takes_a_stream_for(
    items: foliodb.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`DataLoader` goes by the class, also where PyTorch was imported last."""
    stream = items.dataset(streaming=True).shuffle(4)
    data = types.ModuleType("torch.utils.data")
    data.IterableDataset = type("IterableDataset", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.data", data)
    assert isinstance(stream, data.IterableDataset)
    assert isinstance(stream, foliodb.StreamingDataset)
    assert not isinstance(items.dataset(), data.IterableDataset)
    assert type(pickle.loads(pickle.dumps(stream))) is foliodb.StreamingDataset


def only_numbers(document: dict[str, Any]) -> dict[str, Any]:
    return {"n": document["n"], "xy": document["xy"]}


@pytest.mark.parametrize("method", [None, "fork", "spawn"])
def test_torch(items: foliodb.Collection, method: str | None) -> None:
    torch = pytest.importorskip("torch")
    loader_of = torch.utils.data.DataLoader
    settings: dict[str, Any] = {"batch_size": 16}
    if method is not None:
        settings |= {"num_workers": 2, "multiprocessing_context": method}
    data = items.dataset().map(only_numbers).with_format("torch")
    batches = list(loader_of(data, shuffle=True, **settings))
    assert batches[0]["xy"].shape == (16, 2)
    assert sorted(torch.cat([batch["n"] for batch in batches]).tolist()) == list(range(COUNT))
    stream = items.dataset(streaming=True).shuffle(20).map(only_numbers)
    batches = list(loader_of(stream, **settings))
    assert sorted(torch.cat([batch["n"] for batch in batches]).tolist()) == list(range(COUNT))
    # A hundred documents, however many workers share them out.
    assert sum(len(batch["n"]) for batch in loader_of(stream.take(50), **settings)) == 50
