"""Answers as frames of Polars, which has no type for intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

    from ._foliodb import Answer


def polars_frame(answer: Answer) -> polars.DataFrame:
    """The rows of an answer. Intervals, also within lists, structs and maps, become text."""
    import polars

    if not any("interval" in kind for kind in answer.types):
        return polars.DataFrame(answer)
    import pyarrow

    from .arrow import plain_schema
    from .paths import in_schema

    reader = pyarrow.RecordBatchReader.from_stream(answer)
    schema = plain_schema(reader.schema, pyarrow.types.is_interval)
    batches = (in_schema(batch, schema) for batch in reader)
    return polars.DataFrame(pyarrow.RecordBatchReader.from_batches(schema, batches))
