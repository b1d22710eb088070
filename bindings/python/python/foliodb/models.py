"""Rows of ZiQL as instances of a class: a dataclass, a pydantic model, or any class that takes
fields."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from ._foliodb import Answer


def built(model: Any, answer: Answer) -> list[Any]:
    """The rows of an answer as instances of a model."""
    return [instance(model, row) for row in answer]


def instance(model: Any, row: Mapping[str, Any]) -> Any:
    """One row as an instance.

    A pydantic model validates; a dataclass takes the fields, and nested dataclasses, or lists
    of them, are built from the nested rows.
    """
    if hasattr(model, "model_validate"):
        return model.model_validate(row)
    if not dataclasses.is_dataclass(model):
        return model(**row)
    make: Any = model
    if not any(isinstance(value, (dict, list)) for value in row.values()):
        return make(**row)
    # Resolving annotations fails for classes local to a function; the error says so.
    hints = typing.get_type_hints(model)
    return make(**{name: _nested(hints.get(name), value) for name, value in row.items()})


def _nested(hint: Any, value: Any) -> Any:
    if isinstance(value, list):
        element = next(iter(typing.get_args(hint)), None)
        return [_nested(element, item) for item in value]
    if not isinstance(value, dict):
        return value
    for choice in _choices(hint):
        if dataclasses.is_dataclass(choice) or hasattr(choice, "model_validate"):
            return instance(choice, value)
    return value


def _choices(hint: Any) -> tuple[Any, ...]:
    """The types of a union (`Address | None`), or the type itself."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)
