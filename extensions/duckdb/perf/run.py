"""read_ion against read_json: the same rows, the same queries, in one run.

Each measurement is an execution in this process; a query that answers sooner than a fifth of a second is
asked again until as long has passed, and its mean counts. CPU is user plus system time of the process, all
threads; latency is wall time. In each turn every system answers, with each number of threads, one
right behind the other; the order of systems rotates. What counts is the median of the ratios of a
turn: a machine that is slower for a while is so for everybody in it.
"""

import json
import os
import pathlib
import platform
import resource
import statistics
import sys
import time

import duckdb

from connection import connect

DATA_DIR = pathlib.Path(os.environ.get("DATA_DIR", "perf/data"))
OUT_DIR = pathlib.Path(os.environ.get("OUT_DIR", "perf/results"))
REPEAT = int(os.environ.get("REPEAT", 19))
THREADS = [int(count) for count in os.environ.get("THREADS", f"1,{os.cpu_count()}").split(",")]
# Keep what an interrupted run has measured.
CONTINUE = os.environ.get("CONTINUE") == "1"
PROFILE = os.environ.get("ION_PROFILE") == "1"
# A measurement takes at least as many seconds.
SHORTEST = 0.2
ONLY = sys.argv[1] if len(sys.argv) > 1 else ""

SYSTEMS = ("json", "text", "binary")
NARROW = ["id", "category", "amount", "flag", "ts", "nested", "tags"]
WIDE = ["id"] + [f"{kind}_{i}" for kind in ("int", "str", "dbl") for i in range(16)]


def counted(columns):
    """A query that needs every value of `columns` and costs little beyond reading them."""
    return "SELECT " + ", ".join(f"count({column})" for column in columns) + " FROM {source}"


QUERIES = {
    "count": ("data", "SELECT count(*) FROM {source}"),
    "project_3": ("data", counted(["id", "category", "amount"])),
    "filter_group": (
        "data",
        "SELECT category, count(*) FROM {source} WHERE amount > 5000 GROUP BY category",
    ),
    "all_7": ("data", counted(NARROW)),
    "wide_count": ("data_wide", "SELECT count(*) FROM {source}"),
    "wide_4": ("data_wide", counted(["id", "int_3", "str_7", "dbl_11"])),
    "wide_all_49": ("data_wide", counted(WIDE)),
}


def bars(name):
    """What text and binary may cost relative to read_json: CPU, latency."""
    if name == "copy":
        return {"text": (1.0, 1.0), "binary": (1.0, 1.0)}
    return {"text": (0.5, 0.6), "binary": (0.35 if "all" in name else 0.15, None)}


def sources(table):
    profile = ", profile := true" if PROFILE else ""
    return {
        "json": f"read_json('{DATA_DIR}/{table}.jsonl')",
        "text": f"read_ion('{DATA_DIR}/{table}.ion'{profile})",
        "binary": f"read_ion('{DATA_DIR}/{table}_binary.ion'{profile})",
    }


def measure(connection, query, shortest=0.0):
    """CPU and latency of a query, the mean of as many executions as take `shortest` seconds; its rows."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    count, wall = 0, 0.0
    while count == 0 or wall < shortest:
        rows = connection.execute(query).fetchall()
        wall = time.perf_counter() - start
        count += 1
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu / count, wall / count, sorted(rows)


def taken_in_turns(connection, runs):
    """CPU and latency of each system, for each number of threads, turn by turn.

    `runs` has a function per system that measures it once.
    """
    taken = {threads: {system: {"cpu_s": [], "wall_s": []} for system in runs} for threads in THREADS}
    for turn in range(REPEAT + 1):
        order = list(runs.items())
        for system, measured in order[turn % 3 :] + order[: turn % 3]:
            for threads in THREADS:
                connection.execute(f"SET threads = {threads}")
                cpu, wall = measured()
                # The first turn warms the page cache.
                if turn > 0:
                    taken[threads][system]["cpu_s"].append(cpu)
                    taken[threads][system]["wall_s"].append(wall)
    return taken


def run_query(connection, name):
    table, query = QUERIES[name]
    answers = {}

    def run(system, source):
        cpu, wall, answers[system] = measure(
            connection, query.format(source=source), SHORTEST
        )
        return cpu, wall

    runs = {
        system: lambda system=system, source=source: run(system, source)
        for system, source in sources(table).items()
    }
    taken = taken_in_turns(connection, runs)
    assert answers["json"] == answers["text"] == answers["binary"], f"{name}: answers differ"
    return taken


def copies(connection):
    """COPY TO ION against COPY TO JSON, of the same table."""
    connection.execute(f"CREATE OR REPLACE TABLE source AS FROM read_json('{DATA_DIR}/data.jsonl')")
    listed = ", ".join(f"'{column}'" for column in NARROW)
    options = {
        "json": "FORMAT json",
        "text": f"FORMAT ion, COLUMNS [{listed}]",
        "binary": f"FORMAT ion, BINARY, COLUMNS [{listed}]",
    }

    def copy(chosen):
        target = OUT_DIR / "copy.tmp"
        cpu, wall, _ = measure(connection, f"COPY source TO '{target}' ({chosen})")
        target.unlink()
        return cpu, wall

    return taken_in_turns(
        connection, {system: lambda chosen=chosen: copy(chosen) for system, chosen in options.items()}
    )


def ratio(above, below):
    """The median of the ratios of a turn."""
    return statistics.median(a / b for a, b in zip(above, below))


HEAD = """\
| query | threads | json cpu | text cpu | binary cpu | text/json cpu | text/json wall | binary/json cpu | binary/json wall | bars |
|---|---|---|---|---|---|---|---|---|---|
"""


def row_of(key, taken):
    name, threads = key.split("@")
    json_cpu, json_wall = taken["json"]["cpu_s"], taken["json"]["wall_s"]
    cells = [f"{statistics.median(taken[system]['cpu_s']):.3f} s" for system in SYSTEMS]
    missed = []
    for system, (cpu_bar, wall_bar) in bars(name).items():
        cpu, wall = ratio(taken[system]["cpu_s"], json_cpu), ratio(taken[system]["wall_s"], json_wall)
        cells += [f"{cpu:.3f}", f"{wall:.3f}"]
        if cpu > cpu_bar or (wall_bar and wall > wall_bar):
            missed.append(system)
    verdict = f"missed: {', '.join(missed)}" if missed else "met"
    return f"| {name} | {threads} | " + " | ".join(cells) + f" | {verdict} |\n"


def speedups_of(results):
    """Latency at one thread over latency at several, of every system."""
    lines = []
    for key, taken in results.items():
        name, threads = key.split("@")
        alone = results.get(f"{name}@1")
        if threads != "1" and alone:
            ratios = [ratio(alone[system]["wall_s"], taken[system]["wall_s"]) for system in SYSTEMS]
            lines.append(f"| {name} | {threads} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |\n")
    if not lines:
        return ""
    head = "\nLatency at one thread over latency at several:\n\n| query | threads | json | text | binary |\n|---|---|---|---|---|\n"
    return head + "".join(lines)


def rows_of(table):
    """How many rows a table has."""
    with (DATA_DIR / f"{table}.jsonl").open("rb") as lines:
        return sum(1 for _ in lines)


def save(results, load_before):
    machine = {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "duckdb": duckdb.__version__,
        "load_before": load_before,
        "load_after": os.getloadavg()[0],
        "repeat": REPEAT,
        "commit": os.environ.get("FOLIO_BENCH_COMMIT", ""),
        "taken": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "rows": {table: rows_of(table) for table in ("data", "data_wide")},
    }
    (OUT_DIR / "results.json").write_text(json.dumps({"machine": machine, "results": results}, indent=1))


def main():
    OUT_DIR.mkdir(parents=True, exist_ok=True)
    results = {}
    if CONTINUE and (OUT_DIR / "results.json").exists():
        results = json.loads((OUT_DIR / "results.json").read_text())["results"]
    load_before = os.getloadavg()[0]
    print(HEAD, end="")
    connection = connect(max(THREADS))
    measurements = {name: lambda name=name: run_query(connection, name) for name in QUERIES}
    measurements["copy"] = lambda: copies(connection)
    for name, measured in measurements.items():
        keys = [f"{name}@{threads}" for threads in THREADS]
        if ONLY in name and keys[0] not in results:
            results |= dict(zip(keys, measured().values()))
            save(results, load_before)
        for key in keys:
            if key in results:
                print(row_of(key, results[key]), end="", flush=True)
    print(speedups_of(results))


if __name__ == "__main__":
    main()
