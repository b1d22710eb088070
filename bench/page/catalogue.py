"""What the suites measure, in words, and the bars that the project sets itself.

A ratio says everywhere how many times as fast (or as small) FolioDB is as the other: above 1 it
wins. So a bar "at most half of SQLite's time" stands here as 2. Workloads that nobody names here
are shown all the same, under their own name.
"""

from __future__ import annotations

from dataclasses import dataclass

OURS = "FolioDB"

# Any peer: the quickest of the run.
BEST = "the best peer"


@dataclass(frozen=True)
class Bar:
    """At least `ratio` times as good as `peer`, or as another row of ours, or as a constant."""

    peer: str
    ratio: float
    # Another workload of ours, or the same at another size, that takes the place of a peer.
    workload: str = ""
    size: int = 0
    # A limit in nanoseconds, or what was published elsewhere.
    value: float = 0.0


@dataclass(frozen=True)
class Row:
    """One workload in words."""

    workload: str
    mode: str
    text: str
    bars: tuple[Bar, ...] = ()
    # The size at which the bars hold; 0 for all.
    size: int = 0
    # Which of our systems.
    ours: str = OURS
    # What peers did in its place.
    against: tuple[str, ...] = ()
    # `wall`, `cpu`, or `both`: the worse of the two.
    measure: str = "wall"
    # Shown as the time of all operations together.
    is_whole: bool = False
    # Its name in the summary.
    headline: str = ""
    # The size of the summary's row.
    headline_size: int = 0


@dataclass(frozen=True)
class Group:
    """Rows that belong together."""

    title: str
    rows: tuple[Row, ...]
    about: str = ""


@dataclass(frozen=True)
class Suite:
    """One section of the page, and one Markdown file."""

    name: str
    title: str
    about: str
    groups: tuple[Group, ...]
    # How the results name us.
    ours: str = OURS
    has_rates: bool = False
    # What a size counts, with `{}` for the number, which is divided by `scale`; empty where a group says it.
    size: str = "{}"
    scale: int = 1
    command: str = ""
    measure: str = "wall"
    # `bars`: a panel for each row with every system. `ratios`: a line for each row and peer.
    chart: str = "ratios"
    is_paired: bool = False
    others: str = "Others"
    # Its name where room is short; empty for the title.
    short: str = ""


def slower(peer: str, times: float) -> Bar:
    """A bar that says how much of the time, or space, of a peer may be taken."""
    return Bar(peer, 1 / times)


SQLITE, LMDB = "SQLite", "LMDB"
K100, M1 = 100_000, 1_000_000

DOCUMENTS = Suite(
    "documents",
    "Documents",
    "The Rust interface beside SQLite, LMDB, redb, fjall and sled: 100,000 documents of 200 bytes unless another size is said. The same objects in and the same objects out for everybody.",
    (
        Group(
            "Writing",
            (
                Row("ingestion/write_values", "", "bulk write from parsed values", (Bar(SQLITE, 3), Bar(LMDB, 1)), K100, against=("ingestion/write_values", "ingestion/write_values_plain"), headline="Bulk write of values"),
                Row("ingestion/write_lines", "", "bulk write of ready lines, each validated", (Bar(SQLITE, 4),), K100, headline="Bulk write of ready lines"),
                Row("ingestion/write_lines", "", "bulk write of ready lines, trusted", (Bar(SQLITE, 8),), K100, ours="FolioDB (trusted)"),
                Row("comparison/write", "", "write, objects in"),
            ),
        ),
        Group(
            "Reading all",
            (
                Row("scan/scan_raw", "warm", "scan to raw lines", (Bar(SQLITE, 3), Bar(LMDB, 1)), K100, headline="Scan of raw lines, warm"),
                Row("scan/scan_raw", "cold", "scan to raw lines"),
                Row("scan/scan_sonic_rs_parts", "warm", "scan to sonic-rs values, ours in parts on every core", (Bar(BEST, 2),), K100, against=("scan/scan_sonic_rs",), headline="Scan to parsed values, warm"),
                Row("scan/scan_sonic_rs", "warm", "scan to sonic-rs values, on one core"),
                Row("scan/scan_native", "warm", "scan to our own documents, peers to serde_json values", against=("scan/scan_serde_json", "scan/scan_serde_json_plain")),
                Row("scan/scan_serde_json", "warm", "scan to serde_json values", against=("scan/scan_serde_json", "scan/scan_serde_json_plain")),
                Row("comparison/read_all", "cold", "read all, objects out"),
                Row("comparison/read_all", "warm", "read all, objects out"),
            ),
        ),
        Group(
            "Lookups",
            (
                Row("random_access/get_all_together", "warm", "100k random lookups in one call, raw", (Bar(SQLITE, 10), Bar(LMDB, 2)), K100, against=("random_access/get_all",), headline="Random lookups, in one call"),
                Row("random_access/get_all", "warm", "100k random lookups one by one, raw", (Bar(SQLITE, 10), Bar(LMDB, 2)), K100, headline="Random lookups, one by one"),
                Row("random_access/get", "warm", "1,000 random lookups, raw"),
                Row("random_access/open_get", "cold", "new open and 1,000 lookups", (slower(SQLITE, 0.2), slower(LMDB, 1)), K100, is_whole=True, headline="New open and 1,000 lookups"),
                Row("random_access/open_get_together", "cold", "new open and 1,000 lookups in one call", against=("random_access/open_get",), is_whole=True),
                Row("comparison/random_access", "cold", "1,000 lookups, objects out"),
                Row("comparison/random_access", "warm", "1,000 lookups, objects out"),
            ),
        ),
        Group(
            "Opening",
            (
                Row("open/open_get_1", "cold", "new open and 1 lookup", (Bar("the limit of 100 µs", 1, value=100_000),), headline="New open and 1 lookup", headline_size=M1),
                Row("open/process_get_1", "cold", "a whole process that opens and looks 1 up", (Bar(SQLITE, 1),), headline="Process with 1 lookup", headline_size=M1),
                Row("open/open_get_1", "cold", "new open and 1 lookup, against a small store", (Bar("10k documents", 1 / 1.5, workload="open/open_get_1", size=10_000),), 10 * M1, against=("nothing",)),
            ),
        ),
        Group(
            "Durable puts",
            (
                Row("durable/put_1", "", "put, one by one, each durable", (slower("write + fdatasync", 1.2),), headline="Durable put"),
                Row("durable/put_8", "", "put by eight writers, each durable", (Bar("one writer", 3, workload="durable/put_1"),)),
            ),
        ),
        Group(
            "Space",
            (
                Row("size/on disk", "", "size of data and index", (slower("the lines themselves", 1.25),), K100, headline="Size on disk", headline_size=K100),
                Row("memory/allocated by import", "", "memory allocated by an import", (Bar("1M documents", 1 / 1.25, workload="memory/allocated by import", size=M1),), 10 * M1),
                Row("memory/allocated by scan", "", "memory allocated by a scan", (Bar("1M documents", 1 / 1.25, workload="memory/allocated by scan", size=M1),), 10 * M1),
                Row("memory/resident in import", "", "the same with what is mapped of the index"),
                Row("memory/resident in scan", "", "the same with what is mapped of the index"),
            ),
        ),
        Group(
            "The command",
            (
                Row("command/import", "cold", "import of lines"),
                Row("command/scan", "cold", "print every document"),
                Row("command/get", "cold", "print one document"),
                Row("command/stats", "cold", "count documents"),
            ),
            "Whole processes beside jq and the shell of SQLite; `cat`, `wc` and `grep` show what reading the bytes alone takes.",
        ),
    ),
    has_rates=True,
    size="{} documents",
    command="make bench ONLY=documents",
    chart="bars",
)

PY_LMDB, PY_LINES, PY_SQLITE = "lmdb + orjson", "JSONL + orjson by hand", "sqlite3 + orjson"
PYTHON = Suite(
    "python",
    "Python",
    "Dicts in, dicts out, serialization inside the timer for everybody; what is read is kept in a list, as a notebook does, with the collector on.",
    (
        Group(
            "Records",
            (
                Row("python/write", "", "bulk write, sync included", (Bar(PY_LMDB, 2), Bar(PY_LINES, 1)), headline="Bulk write"),
                Row("python/read_all", "cold", "read all", (Bar(PY_LMDB, 3),)),
                Row("python/read_all", "warm", "read all", (Bar(PY_LMDB, 3),), headline="Read all, warm"),
                Row("python/random", "cold", "lookups one by one", (Bar(PY_LMDB, 2),)),
                Row("python/random", "warm", "lookups one by one", (Bar(PY_LMDB, 2), Bar(PY_LINES, 1.5)), headline="Lookups one by one, warm"),
                Row("python/new process", "cold", "a new process that opens the store and prints one record", (Bar(PY_SQLITE, 1),)),
            ),
        ),
        Group(
            "Ways that only FolioDB has",
            (
                Row("python/get_many", "warm", "lookups in one call", against=("python/random",)),
                Row("python/lazy", "warm", "read all as lazy documents", (Bar("its own dicts", 10, workload="python/read_all"),), against=("python/read_all",)),
                Row("python/raw", "warm", "read all as text", against=("python/read_all",)),
                Row("python/arrow", "warm", "read all into an Arrow table", (Bar("its own dicts", 3, workload="python/read_all"),), against=("python/read_all",)),
            ),
            "The peers' figures are those of the plain way: dicts, one by one.",
        ),
    ),
    has_rates=True,
    size="{} records",
    command="make bench ONLY=python",
    chart="bars",
)

BETTER, LMDB_JS = "better-sqlite3", "lmdb (JSON)"
NODE = Suite(
    "node",
    "Node",
    "Objects in and objects out for everybody, serialization inside the timer; systems take turns, each round in another order.",
    (
        Group(
            "Records",
            (
                Row("node/write", "", "bulk write", (Bar(LMDB_JS, 1.5), Bar(BETTER, 2.5)), headline="Bulk write"),
                Row("node/read_all", "cold", "read all", (Bar(BETTER, 1),)),
                Row("node/read_all", "warm", "read all", (Bar(BETTER, 1),), headline="Read all, warm"),
                Row("node/read_lazy", "cold", "read all, parsed when looked into", (Bar(BETTER, 10),), against=("node/read_all",)),
                Row("node/read_lazy", "warm", "read all, parsed when looked into", (Bar(BETTER, 10),), against=("node/read_all",)),
                Row("node/random", "cold", "lookups one by one in random order", (Bar(LMDB_JS, 1.5), Bar(BETTER, 3))),
                Row("node/random", "warm", "lookups one by one in random order", (Bar(LMDB_JS, 1.5), Bar(BETTER, 3)), headline="Lookups one by one, warm"),
                Row("node/on disk", "", "size on disk"),
            ),
        ),
    ),
    has_rates=True,
    size="{} records",
    command="make bench ONLY=node",
    chart="bars",
)


def sqlite_rows(suite: str, rows: str, mode: str = "", headlines: dict[str, str] | None = None) -> tuple[Row, ...]:
    """Rows beside SQLite, from lines `workload | how many times as fast | text`."""
    made = []
    for line in rows.strip().splitlines():
        workload, ratio, text = (part.strip() for part in line.split("|"))
        headline = (headlines or {}).get(workload, "")
        made.append(Row(f"{suite}/{workload}", mode, text, (Bar(SQLITE, float(ratio)),), headline=headline))
    return tuple(made)


TABLES = Suite(
    "tables",
    "Tables",
    "The tables below SQL, through the Rust interface, beside SQLite: statements prepared, page caches of 512 MiB; nine columns, about 100 bytes a row.",
    (
        Group(
            "Whole tables and single rows",
            sqlite_rows("tables", "load | 1.5 | load of 1M rows in key order, one transaction", "", {"load": "Load of 1M rows"})
            + sqlite_rows("tables", "read | 1 | point read by key, a snapshot each\nfilter | 3 | count of rows with a text, no match\nscan | 2 | every column of every row", "warm", {"read": "Point read by key", "scan": "Scan of every column"}),
        ),
        Group(
            "Changes, power cuts survived up to the last checkpoint (`normal`)",
            sqlite_rows(
                "tables",
                """insert_normal | 1 | insert, one transaction
                update_normal | 1 | update by key, one transaction
                delete_normal | 1 | delete by key, one transaction
                insert_autocommit_normal | 1 | insert, a transaction each
                update_autocommit_normal | 1 | update, a transaction each
                delete_autocommit_normal | 1 | delete, a transaction each""",
            ),
        ),
        Group(
            "Changes, each commit durable (`full`)",
            sqlite_rows(
                "tables",
                """insert_full | 1 | insert, one transaction
                update_full | 1 | update by key, one transaction
                delete_full | 1 | delete by key, one transaction
                insert_autocommit_full | 1 | insert, a transaction each
                update_autocommit_full | 1 | update, a transaction each
                delete_autocommit_full | 1 | delete, a transaction each
                commit_1 | 1 | one client, a commit each
                commit_8 | 3 | eight clients, a commit each""",
                "",
                {"commit_8": "Eight clients, durable commits"},
            ),
        ),
    ),
    ours="FolioDB tables",
    has_rates=True,
    size="{} rows",
    command="make bench ONLY=tables",
)

SQL = Suite(
    "sql",
    "SQL",
    "Statements through the Rust interface beside SQLite, at `synchronous = normal` unless a commit is said to be durable, page caches of 512 MiB, one thread but where FolioDB reads the large table; every row answered is read. Times are of a statement or of a row; changes have their commit in them.",
    (
        Group(
            "Changes of a table of a million rows",
            sqlite_rows(
                "sql",
                """insert | 1 | INSERT of every row, prepared, one transaction; per row
                insert_some | 1 | INSERT of 20,000 rows more, one transaction; per row
                update | 1 | UPDATE by key, 20,000 in one transaction; per row
                delete | 1 | DELETE by key, 20,000 in one transaction; per row
                autocommit | 1 | INSERT, a durable commit each
                clients_8 | 3 | the same from eight clients""",
                "",
                {"insert": "INSERT of 1M rows", "update": "UPDATE by key"},
            ),
        ),
        Group(
            "One row by its key",
            sqlite_rows("sql", "select_prepared | 1 | SELECT by key, prepared\nselect_same_text | 1 | SELECT by key, the same text again\nselect_new_text | 0.5 | SELECT by key, a new text", "warm", {"select_prepared": "SELECT by key"}),
        ),
        Group(
            "Queries over the whole table",
            sqlite_rows(
                "sql",
                """filter_text | 3 | filter on text, no match
                filter_numbers | 1 | filter on numbers, 1 %
                like | 2 | LIKE '%99@%'
                group_by | 5 | AVG … GROUP BY
                full_scan | 2 | full scan, every row delivered
                two_columns | 1 | two columns of every row
                sum_filter | 1 | SUM with a filter
                top_ten | 1 | ORDER BY … LIMIT 10
                count_distinct | 1 | COUNT(DISTINCT)""",
                "warm",
                {"group_by": "AVG … GROUP BY over 1M rows", "full_scan": "Full scan, rows delivered"},
            ),
        ),
        Group(
            "Small statements, 100 rows, a transaction each",
            sqlite_rows(
                "sql",
                """small_insert_prepared | 1 | INSERT, prepared
                small_insert_same_text | 1 | INSERT, the same text again
                small_insert_new_text | 1 | INSERT, a new text
                small_select_prepared | 1 | SELECT by key, prepared
                small_select_same_text | 1 | SELECT by key, the same text again
                small_select_new_text | 1 | SELECT by key, a new text
                small_count_prepared | 1 | SELECT COUNT(*), prepared
                small_count_same_text | 1 | SELECT COUNT(*), the same text again
                small_count_where_prepared | 1 | SELECT COUNT(*) … WHERE, prepared
                small_count_where_same_text | 1 | SELECT COUNT(*) … WHERE, the same text again
                small_count_where_new_text | 1 | SELECT COUNT(*) … WHERE, a new text
                small_update_prepared | 1 | UPDATE by key, prepared
                small_update_same_text | 1 | UPDATE by key, the same text again
                small_update_new_text | 1 | UPDATE by key, a new text
                small_delete_prepared | 1 | DELETE by key, prepared
                small_delete_same_text | 1 | DELETE by key, the same text again
                small_delete_new_text | 1 | DELETE by key, a new text
                small_join_prepared | 1 | join of two tables, 1,000 rows, prepared
                small_join_same_text | 1 | join of two tables, the same text again
                small_join_new_text | 0.5 | join of two tables, a new text""",
                "*",
                {"small_insert_same_text": "Small INSERT, same text"},
            ),
        ),
    ),
    ours="FolioDB SQL",
    size="{} rows",
    command="make bench ONLY=sql",
)

# FolioDB with a columns index of each table.
WITH_COLUMNS = "FolioDB SQL, columns"

TPCH = Suite(
    "tpch",
    "TPC-H",
    "The 22 queries with the values that the specification validates with; everything in memory, times until the last row is there. FolioDB's answers are compared with SQLite's and DuckDB's, row by row, before they count. FolioDB and SQLite have primary keys and four indexes on columns that point at other tables; DuckDB has neither, as its guide advises.",
    (
        Group(
            "All queries",
            (
                Row("tpch/all", "warm", "all 22 queries, rows", (slower(SQLITE, 0.2),), 100, headline="All 22 queries over rows, scale 1", headline_size=100),
                Row("tpch/all", "warm", "all 22 queries, columns", (slower("DuckDB", 1.5),), 100, ours=WITH_COLUMNS, headline="All 22 queries over columns, scale 1", headline_size=100),
            ),
            "Over rows, and over a columns index of each table, which holds a copy of it by column.",
        ),
        Group("Each query over columns", tuple(Row(f"tpch/q{number:02}", "warm", f"Q{number}", (slower("DuckDB", 3), Bar(SQLITE, 1)), 100, ours=WITH_COLUMNS) for number in range(1, 23))),
        Group("Each query over rows", tuple(Row(f"tpch/q{number:02}", "warm", f"Q{number}, rows") for number in range(1, 23))),
    ),
    ours="FolioDB SQL",
    size="scale {}",
    scale=100,
    command="make bench ONLY=tpch",
)


def question(workload: str, text: str, zippon: float = 0, ratio: float = 2, headline: str = "") -> Row:
    """A question in ZiQL; ZipponDB's figure is in milliseconds, for a million users on one core."""
    bars = [Bar(SQLITE, ratio)]
    if zippon:
        bars.append(Bar("ZipponDB (published)", ratio, size=M1, value=zippon * 1e6))
    mode = "" if workload.endswith("load") else "warm"
    is_whole = workload.endswith(("load", "delete"))
    return Row(f"ziql/{workload}", mode, text, tuple(bars), measure="cpu", is_whole=is_whole, headline=headline, headline_size=M1)


ZIQL = Suite(
    "ziql",
    "ZiQL",
    "Questions in, JSON out, one thread, everything in memory; figures are processor time. `few` has users with five names; in `many` every name and email is there once, and every tenth user has an order. SQLite's rows are written as JSON by the same program; DuckDB writes its own (`COPY … TO`). Users of SQLite have numbers for ids, ours UUIDs. ZipponDB's figures are those it publishes, for `few`.",
    (
        Group(
            "Users with five names",
            (
                question("few, load", "load, in one transaction", 5_729, headline="Load of 1M users"),
                question("few, all", "`GRAB User {}`", 1_108, headline="GRAB User {}, 1M users as JSON"),
                question("few, no match", "`GRAB User {name = 'asd'}`", 225, headline="GRAB without a match"),
                question("few, one", "`GRAB User [1] {}`", 0.10, 1),
                question("few, name", "`GRAB User [name] {}`", 475),
                question("few, fifth", "`GRAB User {name = 'Charlie'}`", 445),
                question("few, sixth", "`GRAB User {age = 32}`"),
                question("few, delete", "`DELETE User {}`, the ids answered"),
                Row("size/by length", "", "size on disk", (Bar("SQLite, few", 1), Bar("ZipponDB (published)", 1, value=60e6)), M1, ours="FolioDB, few"),
            ),
        ),
        Group(
            "Users of many names, and their orders",
            (
                question("many, load", "load with orders, in one transaction"),
                question("many, all", "`GRAB User {}`"),
                question("many, no match", "`GRAB User {name = 'asd'}`"),
                question("many, one", "`GRAB User [1] {}`", 0, 1),
                question("many, name", "`GRAB User [name] {}`"),
                question("many, sixth", "`GRAB User {age = 32}`"),
                question("many, orders", "`GRAB Order [from, items, quantity, at] {}`"),
                Row("size/by length", "", "size on disk", (Bar("SQLite, many", 1),), M1, ours="FolioDB, many"),
            ),
        ),
        Group(
            "Links followed",
            tuple(Row(f"ziql/{workload}", "warm", text, (Bar("the limit of 1 ms", 1, value=1e6),), measure="cpu") for workload, text in (("links, first", "`GRAB Person [10; friends [1; name]]`"), ("links, all", "`GRAB Person [10; friends [name]]`"))),
            "Every person has ten friends, spread over all persons. SQLite joins by the keys of its tables.",
        ),
    ),
    size="{} users",
    command="make bench ONLY=ziql",
)


def fields(workload: str, text: str, *bars: Bar, is_whole: bool = False, headline: str = "") -> Row:
    """Documents asked by their fields; both latency and processor time have to keep a bar."""
    return Row(f"asking/{workload}", "*", text, bars, measure="both", is_whole=is_whole, headline=headline, headline_size=M1)


def lines(data: str, headline: str = "", column_stores: tuple[str, ...] = ("DuckDB, table",)) -> tuple[Row, ...]:
    """Queries that read every line, of a collection and of a file, and of columns."""
    kinds = (
        (OURS, "a collection", (slower("DuckDB", 0.4),)),
        ("FolioDB, file", "a file", (slower("DuckDB", 0.4),)),
        ("FolioDB, columns", "columns", tuple(slower(peer, 1.5) for peer in column_stores)),
    )
    alone = tuple(
        Row(f"asking/{data}, Q{number}, one thread", "*", f"{data}, Q{number}, of {kind}, one thread", bars, ours=ours, measure="both", is_whole=True, headline_size=M1)
        for number in range(1, 6)
        for ours, kind, bars in ((OURS, "a collection", (slower("DuckDB", 0.4),)), ("FolioDB, columns", "columns", ()))
    )
    return alone + tuple(
        Row(f"asking/{data}, Q{number}", "*", f"{data}, Q{number}, of {kind}", bars, ours=ours, measure="both", is_whole=True, headline=headline if (number, ours) == (2, OURS) else "", headline_size=M1)
        for number in range(1, 6)
        for ours, kind, bars in kinds
    )


ASKING = Suite(
    "asking",
    "Documents asked by what is in them",
    "Figures are the time until the last document or row is there; a ratio is the worse of latency and processor time of all threads, and a bar has to hold for both. Everything is in memory; answers are compared before they count.",
    (
        Group(
            "By their fields",
            (
                fields("get by id", "get by id"),
                fields("by email", "by a unique field", Bar("its own get by id", 0.5, workload="FolioDB by id"), slower(SQLITE, 0.5), headline="Documents by an indexed field"),
                fields("by email, where", "by a unique field, `where` of a scan"),
                fields("by email, text", "by a unique field, a new text each time"),
                fields("range", "1,000 by a range", slower(SQLITE, 0.5), headline="1,000 documents by a range"),
                fields("range, where", "1,000 by a range, `where` of a scan"),
                fields("put, then by email", "by a unique field, right after a put", Bar("the limit of 1 ms", 1, value=1e6)),
                fields("put, then by path", "by a path without index, right after a put", Bar("the limit of 1 ms", 1, value=1e6)),
                fields("open and get", "open and get by id", Bar("FolioDB without indexes", 1 / 1.1)),
                fields("first statement", "first statement of a new process, by a path without index", Bar("the limit of 5 ms", 1, value=5e6)),
                fields("put_many", "put 100,000 with two indexes", slower(SQLITE, 0.5), is_whole=True),
                fields("index", "create two indexes", is_whole=True),
                Row("size/by length", "", "size on disk with indexes"),
            ),
            "About 200 bytes each, a unique index on `email`, an index on the number `rank`, both in no order of the ids. SQLite has the documents in a table by id, with indexes on `json_extract` of the same two. Whole documents are answered.",
        ),
        Group(
            "Read from one end to the other",
            lines("events", "JSONBench Q2 over lines", ("DuckDB, table", "ClickHouse")) + lines("records"),
            "The questions of JSONBench over nested events of about 450 bytes, and five over the records. FolioDB reads the lines as a collection, and as a file; DuckDB the file by `read_json_auto`. FolioDB's columns are a copy in Parquet beside the lines, DuckDB's table one in memory. ClickHouse runs in the process, over a column of type JSON with its rows sorted as JSONBench has it.",
        ),
    ),
    size="{} documents",
    command="make bench ONLY=asking",
    short="Asking",
)


def ion_rows(workload: str, text: str, binary: float, headline: str = "") -> tuple[Row, ...]:
    """A query of the DuckDB extension: text by processor time and latency, binary by processor time."""
    is_copy = workload == "copy"
    key, peer = f"ion/{workload}", "read_json"
    cpu, wall = (1.0, 1.0) if is_copy else (0.5, 0.6)
    return (
        Row(key, "warm", f"{text}, text, processor time", (slower(peer, cpu),), measure="cpu", headline=headline),
        Row(key, "warm", f"{text}, text, latency", (slower(peer, wall),)),
        Row(key, "warm", f"{text}, binary, processor time", (slower(peer, binary),), ours="FolioDB, binary", measure="cpu"),
        Row(key, "warm", f"{text}, binary, latency", (slower(peer, 1.0),) if is_copy else (), ours="FolioDB, binary"),
    )


ION = Suite(
    "ion",
    "Ion in DuckDB",
    "`read_ion` of the DuckDB extension beside `read_json`: the same rows, the same queries, in one process. Systems answer one right behind the other; a ratio is the median of the ratios of a turn.",
    (
        Group(
            "2 million rows of 7 columns",
            ion_rows("count", "COUNT(*)", 0.15)
            + ion_rows("project_3", "three columns", 0.15)
            + ion_rows("filter_group", "filter and group", 0.15, "Filter and group, text Ion")
            + ion_rows("all_7", "all seven columns", 0.35)
            + ion_rows("copy", "COPY TO", 1.0),
        ),
        Group("500,000 rows of 49 columns", ion_rows("wide_count", "COUNT(*)", 0.15) + ion_rows("wide_4", "four columns", 0.15) + ion_rows("wide_all_49", "all 49 columns", 0.35)),
    ),
    size="",
    command="make bench ONLY=ion",
    is_paired=True,
    short="Ion",
)

# What the report that the suite continues says of its own engine on Linux, the best of
# three policies: nanoseconds per operation.
SIMPLEDB = {
    "Pin/Unpin (hit)": 798.0,
    "Cold Pin (miss)": 4045.0,
    "Sequential Scan (100 blocks)": 3731.0,
    "Repeated Access (1000 ops)": 876.0,
    "Random (K=10, 500 ops)": 811.0,
    "Random (K=50, 500 ops)": 3155.0,
    "Random (K=100, 500 ops)": 3521.0,
    "Zipfian (80/20, 500 ops)": 1595.0,
    "pin:t1": 860.0,
    "pin:t2": 548.0,
    "pin:t8": 1181.0,
    "pin:t64": 1266.0,
    "pin:t256": 1460.0,
    "hotset:t1_k4": 861.0,
    "hotset:t8_k4": 1013.0,
    "hotset:t64_k4": 895.0,
    "hotset:t256_k4": 1082.0,
}
SIMPLEDB_BARS = {"Pin/Unpin (hit)": 15.0, "Sequential Scan (100 blocks)": 5.0}
POOL_HEADLINES = {"Pin/Unpin (hit)": "Pin of a page that is there"}


def pool_row(case: str) -> Row:
    """A case of the buffer pool beside the published figure."""
    bars = []
    if case == "Pin/Unpin (hit)":
        bars.append(Bar("the limit of 30 ns", 1, value=30))
    if case in SIMPLEDB:
        bars.append(Bar("SimpleDB (published)", SIMPLEDB_BARS.get(case, 0), value=SIMPLEDB[case]))
    if case == "pin:t64":
        bars.append(Bar("1 thread", 1, workload="pool/pin:t1"))
    return Row(f"pool/{case}", "", case, tuple(bars), ours="s3_fifo", headline=POOL_HEADLINES.get(case, ""))


POOL = Suite(
    "buffer_pool",
    "Buffer pool",
    "Times are per operation, over the wall time of a whole phase and all its threads, with 12 buffers of 4 KiB. The column FolioDB is the default policy, S3-FIFO, beside the other three. SimpleDB's figures are those it publishes of its own machine (i7-8650U), the best of its three policies: another machine, so the ratio is a hint.",
    (Group("Beside SimpleDB", tuple(pool_row(case) for case in SIMPLEDB)),),
    ours="s3_fifo",
    size="{}",
    command="make bench ONLY=buffer_pool",
    others="Further cases",
    short="Pool",
)

SUITES = (DOCUMENTS, PYTHON, NODE, TABLES, SQL, TPCH, ZIQL, ASKING, ION, POOL)
