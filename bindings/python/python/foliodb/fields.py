"""What is known of the fields of a collection, shown as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


class Fields(list[dict[str, Any]]):
    """A dictionary for each path of the documents; see `Collection.fields`."""

    def __init__(self, rows: Iterable[str]) -> None:
        super().__init__(map(json.loads, rows))

    def __repr__(self) -> str:
        lines = [("path", "type", "share", "distinct", "examples"), *map(_cells, self)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join(map(str.ljust, cells, widths)).rstrip() for cells in lines
        )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    distinct = "" if row["distinct"] is None else str(row["distinct"])
    examples = ", ".join(json.dumps(value, ensure_ascii=False) for value in row["examples"])
    return row["path"], row["type"], f"{row['share']:.1%}", distinct, examples
