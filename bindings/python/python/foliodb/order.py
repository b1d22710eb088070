"""Orders and random numbers that are the same on every machine and in every release."""

from __future__ import annotations

from array import array

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
        """A number from 0 to `bound` - 1. The bias of the product is below 2^-32."""
        return (self.next() * bound) >> 64


def shuffled(indices: array[int], seed: int) -> array[int]:
    """The indices in random order (Fisher and Yates)."""
    indices = indices[:]
    random = SplitMix(seed)
    for last in range(len(indices) - 1, 0, -1):
        other = random.below(last + 1)
        indices[last], indices[other] = indices[other], indices[last]
    return indices
