"""Orders and random numbers that are the same on every machine and in every release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from .errors import InvalidInputError

_MASK = (1 << 64) - 1


class SplitMix:
    """SplitMix64 (Steele, Lea, Flood, 2014), seeded by any number of integers."""

    def __init__(self, *seeds: int) -> None:
        self.state = 0
        for seed in seeds:
            self.state = (self.state ^ (seed & _MASK)) & _MASK
            self.state = self.next()

    def next(self) -> int:
        """64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1, with a bias below 2^-32."""
        return (self.next() * bound) >> 64


def whole_seed(seed: int) -> int:
    """The seed, also one of NumPy's. Raises `InvalidInputError` if it is not an integer."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise InvalidInputError(f"a seed is an integer, not {seed!r}")
    return seed.__index__()


def keyed_order(seed: int, ids: Iterable[str]) -> list[int]:
    """The positions of ids in an order that depends on the seed and the ids, not on the
    positions.

    Each id is hashed with the seed, and the hashes sort: adding or removing an id does not
    change the order of the others.
    """
    # BLAKE2 is part of every Python, with the same results.
    start = hashlib.blake2b(f"{whole_seed(seed)}/".encode(), digest_size=16)
    keys = []
    for name in ids:
        hashed = start.copy()
        hashed.update(name.encode())
        keys.append(hashed.digest())
    return sorted(range(len(keys)), key=keys.__getitem__)
