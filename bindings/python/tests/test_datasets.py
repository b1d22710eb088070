"""Data sets: by position and as a stream, with seeds, shards, workers and resume."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import types
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
    assert data.column("nothing") == [None] * COUNT
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
    assert doubled[1] == {"n": 4} and even[1]["n"] == 2
    assert numbers(data.select([9, 3])) == [9, 3]
    assert [len(batch) for batch in data.batch(40)] == [40, 40, 20]
    assert [len(batch) for batch in data.batch(40, drop_last=True)] == [40, 40]
    for wrong in (lambda: data.take(-1), lambda: data.batch(0), lambda: data.shard(2, 2)):
        with pytest.raises(foliodb.InvalidInputError):
            wrong()


# What a seed gives is part of the interface: experiments are repeated years later.
SHUFFLED = {0: [21, 50, 0, 45, 98], 7: [54, 88, 78, 3, 77]}


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
    assert numbers(second) == expected and second.state_dict() == {"epoch": epoch, "given": 0}


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
