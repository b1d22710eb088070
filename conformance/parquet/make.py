"""Writes the Parquet files of this folder with pyarrow: rows of every type, in small pages."""

import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
UTC = datetime.timezone.utc


def every(row, value):
    """Every fifth row is null."""
    return None if row % 5 == 4 else value


def table(count):
    rows = range(count)
    day = datetime.date(2000, 1, 1)
    moment = datetime.datetime(2000, 1, 1, 12, 30, 15, 250000)
    second = datetime.timedelta(seconds=86399)
    columns = {
        "id": pa.array(rows, pa.int32()),
        "tiny": pa.array([every(r, r % 100 - 50) for r in rows], pa.int8()),
        "wide": pa.array([every(r, 2**64 - 1 - r) for r in rows], pa.uint64()),
        "truth": pa.array([every(r, r % 3 == 0) for r in rows], pa.bool_()),
        "half": pa.array([every(r, r / 2) for r in rows], pa.float32()),
        "real": pa.array([every(r, r / 8) for r in rows], pa.float64()),
        "price": pa.array([every(r, decimal.Decimal(r) / 100) for r in rows], pa.decimal128(12, 2)),
        "name": pa.array([every(r, f"name {r % 7} ü") for r in rows], pa.large_string()),
        "bytes": pa.array([every(r, bytes([r % 256, 0])) for r in rows], pa.binary()),
        "day": pa.array([every(r, day + datetime.timedelta(days=r)) for r in rows], pa.date32()),
        "clock": pa.array([every(r, datetime.time(r % 24, 5, 6)) for r in rows], pa.time32("ms")),
        "local": pa.array([every(r, moment + r * second) for r in rows], pa.timestamp("ns")),
        "world": pa.array(
            [every(r, (moment + r * second).replace(tzinfo=UTC)) for r in rows],
            pa.timestamp("ms", "UTC"),
        ),
        "shade": pa.array([every(r, ["red", "green"][r % 2]) for r in rows], pa.string()).dictionary_encode(),
        "tags": pa.array([every(r, [f"t{n}" for n in range(r % 4)]) for r in rows], pa.list_(pa.string())),
        "place": pa.array(
            [every(r, {"x": r, "at": {"y": every(r + 1, r * 2)}}) for r in rows],
            pa.struct([("x", pa.uint16()), ("at", pa.struct([("y", pa.int64())]))]),
        ),
        "counts": pa.array([every(r, [("a", r), ("b", None)]) for r in rows], pa.map_(pa.string(), pa.int32())),
    }
    return pa.table(columns)


whole = table(200)
pq.write_table(whole, HERE / "snappy.parquet", compression="snappy", row_group_size=60, data_page_size=512)
for name in ("gzip", "none", "zstd"):
    pq.write_table(whole.select(["id", "name", "price"]).slice(0, 100), HERE / f"{name}.parquet", compression=name)
