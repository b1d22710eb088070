"""Conditions of Polars as conditions of SQL.

A condition is translated only if SQL evaluates it to the same for every row, nulls included. What
cannot be translated is `None`: Polars evaluates it itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any


def column(name: str) -> str:
    """The name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def member(path: Sequence[str]) -> str:
    """The column, or the member of a struct, as SQL has it. In brackets a name is no table's."""
    first, *others = map(column, path)
    return ".".join([f"({first})" if others else first, *others])


def literal(value: Any) -> str | None:
    """A value as SQL has it; `None` for one whose type or order Polars sees differently."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value) if -(2**63) < value < 2**63 else None
    if isinstance(value, float):
        return f"{value!r}::double precision" if math.isfinite(value) else None
    if isinstance(value, str):
        return None if "\0" in value else "'" + value.replace("'", "''") + "'"
    return None


def compared(name: str, operator: str, value: Any) -> str | None:
    """`name operator value`, of a name as SQL has it."""
    text = literal(value)
    return None if text is None else f"{name} {operator} {text}"


def starts_with(name: str, prefix: str) -> str | None:
    text = literal(prefix)
    return None if text is None else f"starts_with({name}, {text})"


_COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_CONNECTIVES = {"And": "AND", "LogicalAnd": "AND", "Or": "OR", "LogicalOr": "OR"}


def of_polars(expression: Any, names: set[tuple[str, ...]]) -> str | None:
    """The rows that an expression of Polars may accept: a condition that each of them fulfils.

    Polars evaluates the expression again, so parts of an AND may be missing.
    """
    try:
        tree = json.loads(expression.meta.serialize(format="json"))
    except Exception:  # a form that this release of Polars has no text for
        return None
    parts = [_polars(part, names) for part in _conjuncts(tree)]
    return " AND ".join(f"({part})" for part in parts if part is not None) or None


def _conjuncts(tree: Any) -> list[Any]:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return [*_conjuncts(left), *_conjuncts(right)]
    return [tree]


def _polars(tree: Any, names: set[tuple[str, ...]]) -> str | None:
    match tree:
        case {"BinaryExpr": {"left": left, "op": str(operator), "right": right}}:
            if operator in _CONNECTIVES:
                sides = [_polars(left, names), _polars(right, names)]
                if None in sides:
                    return None
                return f"({sides[0]}) {_CONNECTIVES[operator]} ({sides[1]})"
            if operator in _COMPARISONS:
                name, value = _polars_column(left, names), _polars_literal(right)
                if name is None or value is None:
                    return None
                return compared(name, _COMPARISONS[operator], value)
        case {"Function": {"input": [inner], "function": {"Boolean": "IsNull"}}}:
            name = _polars_column(inner, names)
            return None if name is None else f"{name} IS NULL"
        case {"Function": {"input": [inner], "function": {"Boolean": "IsNotNull"}}}:
            name = _polars_column(inner, names)
            return None if name is None else f"{name} IS NOT NULL"
        case {"Function": {"input": [inner], "function": {"Boolean": "Not"}}}:
            text = _polars(inner, names)
            return None if text is None else f"NOT ({text})"
        case {"Function": {"input": [inner, prefix], "function": {"StringExpr": "StartsWith"}}}:
            name, value = _polars_column(inner, names), _polars_literal(prefix)
            return starts_with(name, value) if name is not None and isinstance(value, str) else None
    return None


def _polars_column(tree: Any, names: set[tuple[str, ...]]) -> str | None:
    path = _polars_path(tree)
    return member(path) if path in names else None


def _polars_path(tree: Any) -> tuple[str, ...]:
    """The names of a column, or of a member of structs; none of another expression."""
    match tree:
        case {"Column": str(name)}:
            return (name,)
        case {"Function": {"input": [inner], "function": {"StructExpr": {"FieldByName": str(name)}}}}:
            path = _polars_path(inner)
            return (*path, name) if path else ()
    return ()


def _polars_literal(tree: Any) -> Any:
    match tree:
        case {"Literal": {"Dyn": {"Int": int(value)}}}:
            return value
        case {"Literal": {"Dyn": {"Float": int(value) | float(value)}}}:
            return float(value)
        case {"Literal": {"Scalar": {"String": str(value)}}}:
            return value
        case {"Literal": {"Scalar": {"Boolean": bool(value)}}}:
            return value
        case {"Literal": {"Scalar": {"Int32": int(value)} | {"Int64": int(value)}}}:
            return value
        case {"Literal": {"Scalar": {"Float64": int(value) | float(value)}}}:
            return float(value)
    return None
