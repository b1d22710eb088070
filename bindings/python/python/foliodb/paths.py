"""Schemas of engines as paths: a struct with some of its members wants just those.

    did string, commit struct<collection string>, cart list<struct<sku string>>
    did, commit.collection, cart[].sku
"""

from __future__ import annotations

from typing import Any

import pyarrow

from .arrow import interval_texts
from .conditions import column

types = pyarrow.types


def path_name(name: str) -> str:
    """The name as paths have it."""
    is_plain = name.isascii() and name.replace("_", "a").isalnum()
    return name if is_plain else column(name)


def paths_of(field: pyarrow.Field, known: pyarrow.DataType | None) -> list[str]:
    """The paths that a field wants of a column, whose type is `known` unless there is none."""
    return _paths(path_name(field.name), field.type, known)


def _paths(at: str, kind: pyarrow.DataType, known: pyarrow.DataType | None) -> list[str]:
    if types.is_struct(kind):
        members = [(field, _member(known, field.name)) for field in kind]
        if known is None or not types.is_nested(known) or kind.num_fields == 0:
            # Of text, only JSON has members.
            members = [(field, None) for field in kind]
        paths = [_paths(f"{at}.{path_name(field.name)}", field.type, own) for field, own in members]
        return [path for own in paths for path in own] or [at]
    if known is None:
        return [at]
    if _is_list(kind) and _is_list(known):
        return _paths(f"{at}[]", kind.value_type, known.value_type)
    if types.is_map(kind) and types.is_map(known):
        return _paths(f"{at}.*", kind.item_type, known.item_type)
    return [at]


def without_unknown(kind: pyarrow.DataType, known: pyarrow.DataType) -> pyarrow.DataType | None:
    """A type without the members that a column does not have; `None` if nothing is left of it."""
    if types.is_struct(kind) and types.is_struct(known):
        fields = []
        for field in kind:
            own = _member(known, field.name)
            left = None if own is None else without_unknown(field.type, own)
            if left is not None:
                fields.append(field.with_type(left))
        return pyarrow.struct(fields) if fields else None
    if _is_list(kind) and _is_list(known):
        item = without_unknown(kind.value_type, known.value_type)
        return None if item is None else pyarrow.list_(kind.value_field.with_type(item))
    return kind


def comparable(schema: pyarrow.Schema) -> set[tuple[str, ...]]:
    """The columns, and the members of structs, whose values every engine compares as SQL does."""
    found: set[tuple[str, ...]] = set()

    def look(path: tuple[str, ...], kind: pyarrow.DataType) -> None:
        if types.is_struct(kind):
            for field in kind:
                look((*path, field.name), field.type)
        elif _orders_alike(kind):
            found.add(path)

    for field in schema:
        look((field.name,), field.type)
    return found


def in_schema(batch: pyarrow.RecordBatch, schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    """The columns of a batch in the types that a schema has for their names."""
    fields = [schema.field(name) for name in batch.schema.names]
    columns = [fitted(array, field.type) for array, field in zip(batch.columns, fields, strict=True)]
    return pyarrow.RecordBatch.from_arrays(columns, schema=pyarrow.schema(fields))


def fitted(array: Any, kind: pyarrow.DataType) -> Any:
    """The values as a type. Members of structs are found by name; those that are missing are null."""
    own = array.type
    if own == kind:
        return array
    if types.is_struct(kind) and types.is_struct(own):
        places = {own.field(at).name: at for at in range(own.num_fields)}
        columns = [
            fitted(array.field(places[field.name]), field.type)
            if field.name in places
            else pyarrow.nulls(len(array), field.type)
            for field in kind
        ]
        return pyarrow.StructArray.from_arrays(columns, fields=list(kind), mask=array.is_null())
    if _is_list(kind) and _is_list(own):
        sizes = array.value_lengths().fill_null(0).to_numpy()
        offsets = pyarrow.array([0, *sizes.cumsum()], pyarrow.int32())
        items = fitted(array.flatten(), kind.value_type)
        return pyarrow.ListArray.from_arrays(offsets, items, type=kind, mask=array.is_null())
    if types.is_map(kind) and types.is_map(own):
        # A copy: the offsets of a slice cannot be given with a mask.
        offsets = pyarrow.array(array.offsets.to_numpy().copy())
        keys, items = array.keys, fitted(array.items, kind.item_type)
        return pyarrow.MapArray.from_arrays(offsets, keys, items, type=kind, mask=array.is_null())
    if types.is_interval(own) and types.is_string(kind):
        return interval_texts(array)
    return array.cast(kind)


def _member(kind: pyarrow.DataType | None, name: str) -> pyarrow.DataType | None:
    """The type of a member of a struct, or of a value of a map."""
    if kind is None:
        return None
    if types.is_map(kind):
        return kind.item_type
    if not types.is_struct(kind):
        return None
    at = kind.get_field_index(name)
    return None if at < 0 else kind.field(at).type


def _is_list(kind: pyarrow.DataType) -> bool:
    return bool(types.is_list(kind))


def _orders_alike(kind: pyarrow.DataType) -> bool:
    """Whether every engine has SQL's order and equality of a type's values."""
    return bool(
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_string(kind)
    )
