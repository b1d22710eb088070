"""Columns of documents, which need not have the same fields, and functions over them.

Operations of data sets on a field of all documents: its values, their order and types, and
functions that take documents one by one, by columns, or in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ._foliodb import near_match
from .errors import InvalidInputError, NotFoundError, TypeMismatchError


def chosen(names: str | Sequence[str] | None) -> list[str] | None:
    """One name or several, as a list."""
    return [names] if isinstance(names, str) else None if names is None else list(names)


def names_of(documents: Iterable[Any]) -> list[str]:
    """The fields of all documents, in order of first appearance."""
    return list(dict.fromkeys(name for document in documents for name in _fields(document)))


def values_of(documents: Iterable[Any], name: str) -> list[Any]:
    """The values of a field, `None` for a document without it.

    Raises `NotFoundError`, with the most similar name, if no document has it.
    """
    known: dict[str, None] = {}
    values = []
    is_there = False
    for document in documents:
        fields = _fields(document)
        is_there = is_there or name in fields
        if not is_there:
            known.update(dict.fromkeys(fields))
        values.append(fields.get(name))
    if values and not is_there:
        raise _missing(name, list(known))
    return values


def _missing(name: str, known: list[str]) -> NotFoundError:
    near = near_match(name, known)
    hint = f"did you mean {near!r}?" if near else f"available: {', '.join(map(repr, known))}"
    return NotFoundError(f"no document has a field {name!r}; {hint}")


def _fields(document: Any) -> Mapping[str, Any]:
    if isinstance(document, Mapping):
        return document
    raise InvalidInputError(
        f"the data set has no fields: a function turned a document into a {type(document).__name__}"
    )


def distinct(values: Iterable[Any]) -> list[Any]:
    """The distinct values, in order of first appearance; `True` is not 1."""
    seen: dict[Any, Any] = {}
    for value in values:
        seen.setdefault(_identity(value), value)
    return list(seen.values())


def _identity(value: Any) -> Any:
    """A hashable key, the same for equal JSON values."""
    if isinstance(value, dict):
        return ("dict", frozenset((key, _identity(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("list", tuple(map(_identity, value)))
    return (isinstance(value, bool), value)


def sorted_places(
    columns: Mapping[str, list[Any]], reverse: bool | Sequence[bool], null_placement: str
) -> list[int]:
    """The positions of rows, ordered by the first column, then by the next, and so on."""
    if null_placement not in ("at_start", "at_end"):
        raise InvalidInputError(
            f"null_placement {null_placement!r} is unknown; use 'at_start' or 'at_end'"
        )
    directions = [reverse] * len(columns) if isinstance(reverse, bool) else list(reverse)
    if not columns or len(directions) != len(columns):
        raise InvalidInputError(
            f"{len(columns)} columns and {len(directions)} directions; give one for each"
        )
    places = list(range(len(next(iter(columns.values())))))
    # The last column first: each sort is stable.
    for (name, values), is_down in reversed(list(zip(columns.items(), directions))):
        missing = [place for place in places if _is_missing(values[place])]
        present = [place for place in places if not _is_missing(values[place])]
        try:
            present.sort(key=values.__getitem__, reverse=is_down)
        except TypeError:
            kinds = sorted({type(values[place]).__name__ for place in present})
            raise TypeMismatchError(
                f"field {name!r} has values without an order ({', '.join(kinds)}); "
                "map them to numbers or texts first"
            ) from None
        places = missing + present if null_placement == "at_start" else present + missing
    return places


def _is_missing(value: Any) -> bool:
    # NaN has no order, and is not equal to itself.
    return value is None or (isinstance(value, float) and value != value)


class Mapped:
    """A function over documents, for `map` and `filter` of a data set."""

    def __init__(
        self,
        function: Callable[..., Any],
        batched: bool = False,
        input_columns: list[str] | None = None,
        remove_columns: list[str] | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.function = function
        self.batched = batched
        self.input_columns = input_columns
        self.remove_columns = frozenset(remove_columns or ())
        self.fn_kwargs = dict(fn_kwargs or {})

    def __call__(self, documents: list[Any]) -> list[Any]:
        """The documents with the result of the function for each."""
        pairs = zip(documents, self.answers(documents))
        return [self._merged(document, answer) for document, answer in pairs]

    def one(self, document: Any) -> Any:
        """The same for one document."""
        return self([document])[0]

    def accepts(self, document: Any) -> bool:
        """Whether the result of the function is true for a document."""
        return bool(self.answers([document])[0])

    def answers(self, documents: list[Any]) -> list[Any]:
        """The result of the function, for each document."""
        if not documents:
            return []
        if self.batched:
            return self._batch_answers(documents)
        if self.input_columns is None:
            return [self.function(document, **self.fn_kwargs) for document in documents]
        return [
            self.function(*(_fields(document).get(name) for name in self.input_columns), **self.fn_kwargs)
            for document in documents
        ]

    def _batch_answers(self, documents: list[Any]) -> list[Any]:
        names = names_of(documents) if self.input_columns is None else self.input_columns
        columns = {name: [document.get(name) for document in documents] for name in names}
        if self.input_columns is None:
            answer = self.function(columns, **self.fn_kwargs)
        else:
            answer = self.function(*columns.values(), **self.fn_kwargs)
        if answer is None:
            return [None] * len(documents)
        if not isinstance(answer, Mapping):
            return _as_long("the answer", answer, documents)
        lists = {name: _as_long(f"{name!r}", values, documents) for name, values in answer.items()}
        return [dict(zip(lists, row)) for row in zip(*lists.values())] or [{} for _ in documents]

    def _merged(self, document: Any, answer: Any) -> Any:
        if answer is not None and not isinstance(answer, Mapping):
            return answer
        if not self.remove_columns:
            return document if answer is None else {**_fields(document), **answer}
        left = {name: value for name, value in document.items() if name not in self.remove_columns}
        return {**left, **(answer or {})}


def _as_long(what: str, values: Any, documents: list[Any]) -> list[Any]:
    try:
        found = list(values)
    except TypeError:
        found = []
    if len(found) != len(documents):
        raise InvalidInputError(
            f"a batched function must return a list for each column, as long as its input: "
            f"{what} has {len(found)} of {len(documents)} values"
        )
    return found
