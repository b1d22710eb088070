"""The types of a function's arguments and result, from its annotations."""

from __future__ import annotations

from ._checking import TYPE_CHECKING
from .errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Classes by name, so that their modules need not be imported.
_TYPES = {
    "bool": "boolean",
    "int": "bigint",
    "float": "double precision",
    "str": "text",
    "bytes": "bytea",
    "Decimal": "numeric",
    "date": "date",
    "time": "time",
    "datetime": "timestamp",
    "UUID": "uuid",
    "dict": "json",
}


def annotated_types(function: Callable[..., Any]) -> tuple[list[str], str]:
    """The types of the parameters and of the result, as SQL names them.

    Raises `InvalidInputError` for a parameter or result without an annotation, or with a class
    that has no SQL type.
    """
    import inspect

    try:
        signature = inspect.signature(function, eval_str=True)
    except (TypeError, ValueError, NameError) as error:
        raise InvalidInputError(f"the types of {_name(function)} cannot be determined: {error}; give parameters and returns") from None
    parameters = [
        _type(parameter.annotation, f"parameter {parameter.name}", function)
        for parameter in signature.parameters.values()
    ]
    return parameters, _type(signature.return_annotation, "the answer", function)


def _type(annotation: Any, place: str, function: Callable[..., Any]) -> str:
    name = getattr(annotation, "__name__", None)
    if name == "_empty" or name not in _TYPES:
        raise InvalidInputError(
            f"{place} of {_name(function)} has no annotation that names a type; give parameters and returns"
        )
    return _TYPES[name]


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
