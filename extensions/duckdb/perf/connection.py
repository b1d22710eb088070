"""A DuckDB connection with the built extension loaded."""

import os
import pathlib

import duckdb

EXTENSION = pathlib.Path(
    os.environ.get("ION_EXTENSION", pathlib.Path(__file__).parent.parent / "build/ion.duckdb_extension")
).resolve()


def connect(threads=None):
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{EXTENSION}'")
    if threads:
        connection.execute(f"SET threads = {threads}")
    return connection
