"""pandas and polars, there and back: no value changes, dates become ISO 8601 text.

Prints:

    pandas: 3 orders, total 60.0
    back from pandas: {'_id': 'o2', 'day': '2025-01-16T00:00:00', 'total': 20.0, 'items': ['c']}
    polars: {'day': ['2025-01-15T00:00:00', '2025-01-16T00:00:00'], 'total': [40.0, 20.0]}
    unchanged by the round trips
"""

from __future__ import annotations

import sys

import foliodb

try:
    import pandas
    import polars
    import pyarrow  # noqa: F401
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def main() -> None:
    """Frames in, frames out."""
    orders = pandas.DataFrame(
        {
            "order": ["o1", "o2", "o3"],
            "day": pandas.to_datetime(["2025-01-15", "2025-01-16", "2025-01-15"]),
            "total": [10.0, 20.0, 30.0],
            "items": [["a", "b"], ["c"], []],
        }
    )
    with foliodb.open("shop") as db:
        foliodb.to_folio(orders.rename(columns={"order": "_id"}), db, "orders")
        frame = db["orders"].scan().df()
        print(f"pandas: {len(frame)} orders, total {frame['total'].sum()}")
        print(f"back from pandas: {db['orders']['o2']}")

        by_day = db["orders"].scan(["day", "total"]).pl().group_by("day").agg(polars.col("total").sum())
        print(f"polars: {by_day.sort('day').to_dict(as_series=False)}")

        foliodb.to_folio(db["orders"].scan().pl(), db, "by_polars")
        foliodb.to_folio(db["orders"].scan().df(), db, "by_pandas")
        expected = list(db["orders"].scan())
        assert list(db["by_polars"].scan()) == list(db["by_pandas"].scan()) == expected
        print("unchanged by the round trips")


if __name__ == "__main__":
    main()
