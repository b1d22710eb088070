"""Rows displayed on a terminal and in a notebook.

    collection 'people' in 'mydata': 10,000 documents
    _id  n  active
    p1   1  False
    p2   2  False
    … 9,998 more

`repr` and `_repr_html_` of collections, scans and results use this module. Display consumes
nothing: a collection is scanned for the documents shown; a scan and a result read their first
rows, as the first `next` would, and buffer them for the next reader. Only Ctrl-C is raised: an
error is shown instead, and raised when the rows are read.
"""

from __future__ import annotations

from ._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ._foliodb import Answer
    from .collection import Collection, Scan

# Limits of the display.
_ROWS = 10
_CHARACTERS = 60
_HTML_COLUMNS = 12

# Columns of a terminal of unknown width, and of one cell among others.
_TERMINAL_WIDTH = 80
_CELL_WIDTH = 40

_GAP = "  "
_MORE = "…"

# The cell of a document without the field.
_MISSING = object()


class View:
    """The display: a title, columns with rows or whole lines, and a footer."""

    def __init__(
        self,
        title: str = "",
        columns: Sequence[str] = (),
        rows: Sequence[Sequence[Any]] = (),
        lines: Sequence[str] = (),
        note: str = "",
    ) -> None:
        self.title = title
        self.columns = columns
        self.rows = rows
        self.lines = lines
        self.note = note


def collection_text(collection: Collection) -> str:
    """The `repr` of a collection."""
    return _text(_seen(_of_collection, collection, _collection_title(collection)))


def collection_html(collection: Collection) -> str:
    """A collection in a notebook."""
    return _html(_seen(_of_collection, collection, _collection_title(collection)))


def scan_text(scan: Scan) -> str:
    """The `repr` of a scan."""
    return _text(_seen(_of_scan, scan, _scan_title(scan)))


def scan_html(scan: Scan) -> str:
    """A scan in a notebook."""
    return _html(_seen(_of_scan, scan, _scan_title(scan)))


def answer_text(answer: Answer) -> str:
    """The `repr` of an answer."""
    if not answer.columns:
        return "Answer()" if answer.count is None else f"Answer(count={answer.count})"
    return _text(_seen(_of_answer, answer, _answer_title(answer)))


def answer_html(answer: Answer) -> str:
    """An answer in a notebook."""
    if not answer.columns:
        return f"<p>{_answer_title(answer) or 'done'}</p>"
    return _html(_seen(_of_answer, answer, _answer_title(answer)))


def _seen(view: Callable[[Any, str], View], shown: Any, title: str) -> View:
    """The view of an object, or of its error."""
    try:
        return view(shown, title)
    except Exception as error:
        name, text = type(error).__name__, str(error).partition("\n")[0]
        return View(title, note=f"{name}: {text}")


def _collection_title(collection: Collection) -> str:
    return f"collection {collection.name!r} in {str(collection.database.path)!r}"


def _scan_title(scan: Scan) -> str:
    return f"scan of {_collection_title(scan._collection)}"


def _answer_title(answer: Answer) -> str:
    count = answer.count
    return "" if count is None else f"{_counted(count, 'row')} changed"


def _of_collection(collection: Collection, title: str) -> View:
    documents, _, _ = collection.scan(limit=_ROWS)._peek(_ROWS)
    count = max(collection.count(), len(documents))
    return _of_documents(
        f"{title}: {_counted(count, 'document')}", documents, _note(count - len(documents), True)
    )


def _of_scan(scan: Scan, title: str) -> View:
    documents, further, is_all = scan._peek(_ROWS)
    note = _note(further, is_all) if documents else "no documents left"
    return _of_documents(title, documents, note)


def _of_answer(answer: Answer, title: str) -> View:
    rows, further, is_all = answer._peek(_ROWS)
    note = _note(further, is_all) if rows else "no rows left"
    return View(title, answer.columns, rows, note=note)


def _of_documents(title: str, documents: Sequence[Any], note: str) -> View:
    if documents and isinstance(documents[0], str):
        return View(title, lines=documents, note=note)
    names = list(dict.fromkeys(name for document in documents for name in document))
    rows = [[document.get(name, _MISSING) for name in names] for document in documents]
    return View(title, names, rows, note=note)


def _note(further: int, is_all: bool) -> str:
    """The footer after the shown rows, as far as it is known without reading more."""
    if is_all:
        return f"{_MORE} {further:,} more" if further else ""
    return f"{_MORE} at least {further:,} more" if further else f"{_MORE} there may be more"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _text(view: View) -> str:
    from shutil import get_terminal_size

    width = get_terminal_size((_TERMINAL_WIDTH, 0)).columns or _TERMINAL_WIDTH
    lines = [_cut(_plain(view.title), width)] if view.title else []
    lines += _table(view, width)
    lines += (_cut(_plain(line[: width + 1]), width) for line in view.lines)
    if view.note:
        lines.append(_cut(_plain(view.note), width))
    return "\n".join(lines)


def _table(view: View, width: int) -> Iterable[str]:
    """The columns that fit, a line for the names and one for each row."""
    if not view.columns:
        return
    columns: list[list[str]] = []
    left = width
    for at, name in enumerate(view.columns):
        is_last = at + 1 == len(view.columns)
        room = left - (0 if is_last else len(_GAP + _MORE))
        cells = [_cut(_plain(name), _CELL_WIDTH)]
        cells += (_cut(_cell(row[at]), _CELL_WIDTH) for row in view.rows)
        size = max(map(_width, cells))
        if columns and size > room:
            columns.append([_MORE] * len(cells))
            break
        size = min(size, max(room, 1))
        is_number = all(_is_number(row[at]) for row in view.rows)
        columns.append([_padded(_cut(cell, size), size, is_number) for cell in cells])
        left -= size + len(_GAP)
    for line in zip(*columns):
        yield _cut(_GAP.join(line).rstrip(), width)


def _html(view: View) -> str:
    from html import escape

    columns = view.columns[:_HTML_COLUMNS]
    head = "".join(f"<th>{escape(_plain(name))}</th>" for name in columns)
    if len(columns) < len(view.columns):
        head += f"<th>{_MORE}</th>"
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row[:_HTML_COLUMNS]) + "</tr>"
        for row in view.rows
    )
    body += "".join(
        f"<tr><td><code>{escape(_cut(_plain(line), _CHARACTERS))}</code></td></tr>" for line in view.lines
    )
    caption = f"<caption>{escape(view.title)}</caption>" if view.title else ""
    note = f"<p>{escape(view.note)}</p>" if view.note else ""
    return f"<table>{caption}<tr>{head}</tr>{body}</table>{note}"


def _cell(value: Any) -> str:
    return "" if value is _MISSING else _cut(_plain(str(value)[: _CHARACTERS + 1]), _CHARACTERS)


def _is_number(value: Any) -> bool:
    if value is None or value is _MISSING:
        return True
    # `Decimal` without importing its module.
    return type(value).__name__ in ("int", "float", "Decimal")


def _plain(text: str) -> str:
    """Text without control sequences."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _width(text: str) -> int:
    """The width of a text on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _cut(text: str, size: int) -> str:
    """The text cut or padded to a width."""
    if len(text) <= size and _width(text) <= size:
        return text
    while _width(text) > size - 1:
        text = text[:-1] if len(text) <= size else text[:size]
    return text + _MORE


def _padded(text: str, size: int, is_right: bool) -> str:
    room = " " * (size - _width(text))
    return room + text if is_right else text + room
