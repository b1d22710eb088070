"""From and to HuggingFace `datasets`: splits are collections.

Prints:

    stored {'train': 80, 'test': 20}
    corrected: {'_id': '3', 'number': 3, 'text': 'sample 3', 'label': 'good', 'score': 0.03}
    back: 80 rows of ['_id', 'number', 'text', 'label', 'score']
    good: 41
"""

from __future__ import annotations

import sys

import foliodb

try:
    import datasets
    import pyarrow  # noqa: F401
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def main() -> None:
    """There, a correction, and back."""
    datasets.disable_progress_bars()
    samples = [
        {"number": n, "text": f"sample {n}", "label": "good" if n % 2 == 0 else "bad", "score": n / 100}
        for n in range(100)
    ]
    hub = datasets.DatasetDict(
        train=datasets.Dataset.from_list(samples[:80]), test=datasets.Dataset.from_list(samples[80:])
    )
    counts = foliodb.from_hf(hub, "reviews", id="number")
    print(f"stored { {name: count.inserted for name, count in counts.items()} }")

    with foliodb.open("reviews") as db:
        db["train"].patch(3, {"label": "good"})
        print(f"corrected: {db['train'][3]}")
        back = foliodb.to_hf(db["train"].scan())
    print(f"back: {len(back)} rows of {back.column_names}")
    print(f"good: {len(back.filter(lambda row: row['label'] == 'good'))}")


if __name__ == "__main__":
    main()
