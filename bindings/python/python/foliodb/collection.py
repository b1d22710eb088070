"""Collections of documents, and scans over them."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from . import _foliodb

Filter = Callable[[dict[str, Any]], object]

# How much of a collection a notebook shows.
_SHOWN_DOCUMENTS = 10
_SHOWN_COLUMNS = 12
_SHOWN_CHARACTERS = 60


class Scan(_foliodb.Scan):
    """The documents of a collection in file order, as of when the scan began.

    An iterator: memory does not grow with the collection. `next_batch(n)` gives
    the next `n` documents as a list; `progress()` how many bytes of how many are done.
    """


class Collection(_foliodb.Collection):
    """A collection of documents under ids.

    It is a mapping (`users["u1"]`, `"u1" in users`, `len(users)`, `del users["u1"]`),
    and iterates over its ids in file order. A document is a `dict` that JSON can hold;
    `_id` comes first in what is read. Threads may share a collection.
    """

    def scan(
        self,
        fields: Iterable[str] | None = None,
        *,
        filter: Filter | None = None,
        limit: int | None = None,
        decimal: bool = False,
        lazy: bool = False,
    ) -> Scan:
        """The documents in file order, streaming, as of now.

        `fields` keeps only these, as dotted paths (`"metadata.source"`), and `_id`;
        `filter` is a function of the whole document; `limit` ends the scan after so
        many. `decimal` makes fractions `decimal.Decimal`, with the digits of the file.
        `lazy` yields `Document`s, which parse what is looked at and nothing else.
        """
        if isinstance(fields, str):
            fields = [fields]
        fields = None if fields is None else list(fields)
        return Scan(
            self, fields, filter=filter, limit=limit, decimal=decimal, lazy=lazy
        )

    def scan_raw(
        self,
        fields: Iterable[str] | None = None,
        *,
        filter: Filter | None = None,
        limit: int | None = None,
    ) -> Scan:
        """As `scan`, with the exact line of each document as a `str`."""
        fields = None if fields is None else list(fields)
        return Scan(self, fields, filter=filter, limit=limit, raw=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids())

    def keys(self) -> list[str]:
        """All ids, in file order."""
        return self.ids()

    def values(self) -> Scan:
        """All documents, streaming."""
        return self.scan()

    def items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All pairs of id and document, streaming."""
        return ((document["_id"], document) for document in self.scan())

    def __repr__(self) -> str:
        return f"{self.database!r}[{self.name!r}]"

    def _repr_html_(self) -> str:
        documents = list(islice(self.scan(), _SHOWN_DOCUMENTS))
        names = dict.fromkeys(name for document in documents for name in document)
        columns = list(names)[:_SHOWN_COLUMNS]
        head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(row, column)}</td>" for column in columns) + "</tr>"
            for row in documents
        )
        caption = f"{html.escape(self.name)}: {self.count():,} documents"
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>"


def _cell(document: dict[str, Any], column: str) -> str:
    if column not in document:
        return ""
    text = str(document[column])
    if len(text) > _SHOWN_CHARACTERS:
        text = text[: _SHOWN_CHARACTERS - 1] + "…"
    return html.escape(text)
