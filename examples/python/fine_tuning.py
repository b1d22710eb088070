"""A data set for fine-tuning: conversations collected, cleaned, corrected by hand, split.

The file of the collection is plain JSON Lines, so that whoever reviews the answers
needs an editor and nothing else.

Prints:

    collected 500, of them 25 without an answer
    reviewed: Paris is the capital of France.
    train 427, validation 48, the same on every machine
    exported 427 lines of ['_id', 'messages']
"""

from __future__ import annotations

import json
from pathlib import Path

import foliodb


def collected() -> list[dict]:
    """What a service has logged; one answer in twenty is missing."""
    return [
        {
            "request": f"req/{number}",
            "messages": [
                {"role": "user", "content": f"What is {number} + {number}?"},
                {"role": "assistant", "content": str(2 * number) if number % 20 else ""},
            ],
        }
        for number in range(500)
    ]


def main() -> None:
    """From logs to an export that training tools read."""
    with foliodb.open("fine-tuning") as db:
        chats = db["chats"]
        # "req/7" is no valid id; the one made from it is the same every time, so
        # that collecting again replaces and does not repeat.
        counts = chats.put_many(collected(), id="request")
        empty = [chat["_id"] for chat in chats.scan() if not chat["messages"][-1]["content"]]
        print(f"collected {counts.inserted}, of them {len(empty)} without an answer")
        with chats.batch() as batch:
            for name in empty:
                batch.delete(name)

        review(db)
        reviewed = chats["by-hand"]["messages"][-1]["content"]
        print(f"reviewed: {reviewed}")
        chats.delete("by-hand")

        data = chats.dataset().shuffle(seed=42)
        size = len(data) // 10 + 1
        splits = {"validation": data.take(size), "train": data.skip(size)}
        for name, split in splits.items():
            db[name].put_many({"_id": chat["_id"], "messages": chat["messages"]} for chat in split)
        print(f"train {db['train'].count()}, validation {db['validation'].count()}, the same on every machine")

        db["train"].export_file("train.jsonl", fields=["messages"])
    lines = Path("train.jsonl").read_text().splitlines()
    print(f"exported {len(lines)} lines of {list(json.loads(lines[0]))}")


def review(db: foliodb.Database) -> None:
    """What a reviewer does in an editor: adds a line, saves."""
    db.flush()
    with open("fine-tuning/collections/chats/meta/data.jsonl", "a") as file:
        file.write(
            '{"_id": "by-hand", "messages": [{"role": "user", "content": "Capital of France?"}, '
            '{"role": "assistant", "content": "Paris is the capital of France."}]}\n'
        )
    db["chats"].refresh()


if __name__ == "__main__":
    main()
