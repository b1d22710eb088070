"""A training run that is killed in the middle of an epoch and goes on where it was.

The order is settled by the collection, the seed and the epoch. A checkpoint therefore
holds two numbers, and the documents seen before and after the crash are together
exactly those of an epoch, each once.

Prints:

    killed in epoch 1 after 7 batches
    resumed in epoch 1 at document 448
    epoch 1: 1000 documents, each once, in the order of an epoch without a crash
    epoch 2 has another order
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import foliodb

BATCH_SIZE = 64
CHECKPOINT = Path("checkpoint.json")


def samples(db: foliodb.Database) -> foliodb.StreamingDataset:
    """The stream, which every run builds again."""
    return db["samples"].dataset(streaming=True).shuffle(buffer_size=256, seed=42)


def train(stream: foliodb.StreamingDataset, batches_max: int | None = None) -> Iterator[int]:
    """One epoch, or the rest of it; saves a checkpoint after every batch."""
    batch: list[int] = []
    done = 0
    for sample in stream:
        yield sample["n"]
        batch.append(sample["n"])
        if len(batch) == BATCH_SIZE:
            # Here the model would take a step.
            batch.clear()
            CHECKPOINT.write_text(json.dumps(stream.state_dict()))
            done += 1
            if done == batches_max:
                return


def main() -> None:
    """A run, a crash, and the rest of the run."""
    with foliodb.open("training") as db:
        db["samples"].put_many({f"s{n}": {"n": n, "text": f"sample {n}"} for n in range(1_000)})

        stream = samples(db)
        stream.set_epoch(1)
        before = list(train(stream, batches_max=7))
        print(f"killed in epoch 1 after {len(before) // BATCH_SIZE} batches")

    with foliodb.open("training", "r") as db:
        stream = samples(db)
        stream.load_state_dict(json.loads(CHECKPOINT.read_text()))
        state = stream.state_dict()
        print(f"resumed in epoch {state['epoch']} at document {state['given']}")
        after = list(train(stream))

        whole = samples(db)
        whole.set_epoch(1)
        in_order = before + after == [sample["n"] for sample in whole]
        each_once = sorted(before + after) == list(range(1_000))
        assert in_order and each_once
        print(f"epoch 1: {len(before + after)} documents, each once, in the order of an epoch without a crash")

        whole.set_epoch(2)
        assert [sample["n"] for sample in whole] != before + after
        print("epoch 2 has another order")


if __name__ == "__main__":
    main()
