"""Values that Python has no type for."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple


class Interval(NamedTuple):
    """A span of time in units that do not convert into each other.

    A month has 28 to 31 days, a day 23 to 25 hours. `datetime.timedelta` is also accepted as a
    parameter; its days remain days.
    """

    months: int = 0
    days: int = 0
    nanoseconds: int = 0

    def timedelta(self) -> timedelta:
        """The same as a `datetime.timedelta`, whose days have 24 hours.

        Raises `ValueError` if it has months, or parts of a microsecond.
        """
        if self.months or self.nanoseconds % 1000:
            raise ValueError(f"{self} is not a timedelta: it has months or nanoseconds")
        return timedelta(days=self.days, microseconds=self.nanoseconds // 1000)
