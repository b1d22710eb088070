"""Values that Python has no type for, and rows for people to look at."""

from __future__ import annotations

import html
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._foliodb import Answer

# How much of an answer a notebook shows.
_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 60


class Interval(NamedTuple):
    """A span of time in units that do not convert into each other.

    A month has 28 to 31 days, a day 23 to 25 hours. `datetime.timedelta` is taken as a
    parameter too; its days are days.
    """

    months: int = 0
    days: int = 0
    nanoseconds: int = 0

    def timedelta(self) -> timedelta:
        """The same as a `datetime.timedelta`, whose days have 24 hours.

        Raises `ValueError` when there are months, or parts of a microsecond.
        """
        if self.months or self.nanoseconds % 1000:
            raise ValueError(f"{self} is no timedelta: it has months or nanoseconds")
        return timedelta(days=self.days, microseconds=self.nanoseconds // 1000)


def table_html(answer: Answer) -> str:
    """The first rows that are left, which stay, as a table."""
    if not answer.columns:
        count = answer.count
        return "<p>done</p>" if count is None else f"<p>{count:,} rows changed</p>"
    rows = answer._peek(_SHOWN_ROWS + 1)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in answer.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_shown(value)}</td>" for value in row) + "</tr>"
        for row in rows[:_SHOWN_ROWS]
    )
    more = "<p>…</p>" if len(rows) > _SHOWN_ROWS else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def _shown(value: object) -> str:
    text = "" if value is None else str(value)
    cut = len(text) > _SHOWN_CHARACTERS
    return html.escape(text[:_SHOWN_CHARACTERS] + "…" if cut else text)
