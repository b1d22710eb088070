"""The documents that every system is given: seed 42, about 200 bytes as JSON.

The same as those of the Rust suites, byte for byte: `_id` stands in the
document for every system, since a document store returns it.
"""

from __future__ import annotations

from typing import Any

SEED = 42
TAGS = ("a", "b", "c", "red", "green", "blue", "new", "sale")
SOURCES = ("web", "api", "mobile", "import")
MASK = (1 << 64) - 1


class Random:
    """SplitMix64 (Steele, Lea, Flood, 2014): the same in every language."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        """A number below `bound`."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return (mixed ^ (mixed >> 31)) % bound


def record_id(number: int) -> str:
    """The id of the record with this number, counted from 1."""
    return f"record_{number:08}"


def make_records(count: int) -> list[dict[str, Any]]:
    """The first `count` records."""
    random = Random(SEED)
    return [_record(random, number) for number in range(1, count + 1)]


def _record(random: Random, number: int) -> dict[str, Any]:
    below = random.below
    name = record_id(number)
    tags = [TAGS[below(8)] for _ in range(below(3) + 1)]
    month, day = 1 + below(12), 1 + below(28)
    return {
        "_id": name,
        "id": name,
        "name": f"User {number}",
        "email": f"user{number}@example.com",
        "age": 18 + below(63),
        "score": below(1_000) / 10.0,
        "active": below(2) == 1,
        "tags": tags,
        "metadata": {"created": f"2025-{month:02}-{day:02}", "source": SOURCES[below(4)]},
    }


def random_ids(documents: int, count: int) -> list[str]:
    """`count` ids drawn evenly, with repeats, from the first `documents` records."""
    random = Random(SEED ^ 0x9E37)
    return [record_id(1 + random.below(documents)) for _ in range(count)]
