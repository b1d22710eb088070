"""The page: one HTML file with everything in it, which opens from a file and asks no network.

First what a reader wants to know in ten seconds, then a section for each suite, then the tables
of the reports that the project grew from. What cannot be seen at once is in `details`, which the
filter opens.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from html import escape
from itertools import groupby
from pathlib import Path

import charts
from catalogue import Suite
from charts import inline
from judged import Line, duration, rate, times
from markdown import clock, facts, headlines
from results import Run

HERE = Path(__file__).parent

# Curves of a group that are seen at once.
CURVES_MAX = 3

# A suite with its run, its lines, and the ratios of earlier runs.
Section = tuple[Suite, Run, list[Line], dict[str, list[float]]]


def page(sections: list[Section], published: list[dict]) -> str:
    """The whole file."""
    lines = [line for _, _, found, _ in sections for line in found]
    links = "".join(f'<a href="#{suite.name}">{escape(suite.short or suite.title)}</a>' for suite, *_ in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>FolioDB benchmarks</title>
<link rel="icon" href="data:,">
<style>
{(HERE / "page.css").read_text()}</style>
</head>
<body>
<a class="skip" href="#summary">To the figures</a>
<header>
<h1>FolioDB benchmarks</h1>
<p class="lead">FolioDB beside SQLite, LMDB, DuckDB and others: the same work, in one run, on one machine. What it loses is here too.</p>
</header>
<div class="tools" role="search" aria-label="Tools"><div>
<input id="filter" type="search" placeholder="Filter ( / )" aria-label="Filter rows, for instance: sqlite warm" autocomplete="off">
<nav aria-label="Suites"><a href="#summary">Summary</a>{links}<a href="#seeds">Reports</a></nav>
<button id="theme" type="button" aria-label="Change between light and dark">Dark</button>
</div></div>
<p id="count" role="status" class="facts" style="max-width:1120px;margin:0 auto;padding:0 1.25rem"></p>
<main>
{summary(sections, lines)}
{"".join(section(*found) for found in sections)}
{seeds(published, lines)}
</main>
<footer>Made by <code>python3 bench/page</code> from <a href="../../bench/results">the committed results</a>; nothing here is typed by hand. <a href="methodology.md">How it is measured, and when to use something else</a>.</footer>
<script>
{(HERE / "page.js").read_text()}</script>
</body>
</html>
"""


# Said of a run that shows only that everything runs.
QUICK = "A quick run: small sizes, few repetitions, hardly optimised programs. It shows that everything runs; its figures are not for quotation, and no bar is judged by them."


def summary(sections: list[Section], lines: list[Line]) -> str:
    """Counts, and a row for each workload that stands for others."""
    ratios = [line.ratio for line in lines if line.ratio is not None]
    counts = Counter(charts.verdict(ratio)[0] for ratio in ratios)
    bars = [judged.is_met for line in lines for judged in line.judged]
    tiles = [
        ("win", f"▲ {counts['win']}", "faster or smaller than the best peer"),
        ("level", f"● {counts['level']}", "level, within 5 %"),
        ("loss", f"▼ {counts['loss']}", "slower or larger than the best peer"),
    ]
    if bars:
        tiles.append(("", f"{sum(bars)} of {len(bars)}", "bars met that the project set itself"))
    is_quick = any(run.quick for _, run, _, _ in sections)
    warning = f'<p><strong>{QUICK}</strong></p>' if is_quick else ""
    shown = "".join(f'<li class="{kind}"><b>{number}</b>{text}</li>' for kind, number, text in tiles)
    spent = [run.machine.get("seconds") for _, run, _, _ in sections]
    lasted = f" Measuring these suites took {clock(sum(spent))} in hours, minutes and seconds; compiling them comes before." if all(spent) else ""
    rows = []
    for suite, _, found, _ in sections:
        picked = headlines(found)
        if picked:
            rows.append(f'<tr class="kind"><th scope="rowgroup" colspan="5"><a href="#{suite.name}">{escape(suite.title)}</a></th></tr>')
            rows += [summary_row(suite, line) for line in picked]
    return f"""<section id="summary" class="first" aria-label="Summary"><h2>At a glance</h2>
{warning}<ul class="tiles">{shown}</ul>
<p>A ratio is against the <em>best</em> peer of the same run: above 1 FolioDB is faster. Bars to the right <span class="win">▲</span> are wins, hatched bars to the left <span class="loss">▼</span> losses; the scale is logarithmic.{lasted}</p>
<table class="summary"><caption hidden>FolioDB beside the best peer, a row for each workload</caption><thead><tr><th scope="col">Workload</th><th scope="col" class="num">FolioDB</th><th scope="col" class="num">best peer</th><th scope="col" class="bar"><span>← slower · faster →</span></th><th scope="col">ratio</th></tr></thead><tbody>{"".join(rows)}</tbody></table>
{missed(sections)}
</section>"""


def missed(sections: list[Section]) -> str:
    """Every bar that is missed, and where it is said why."""
    rows = [
        f'<li data-find="missed"><a href="#{suite.name}-notes">{escape(suite.title)}</a>: {inline(line.row.text)}, {escape(line.where())}: <span class="loss">✗ {times(judged.ratio)}</span>, wanted {escape(judged.text)}</li>'
        for suite, _, found, _ in sections
        for line in found
        for judged in line.judged
        if not judged.is_met
    ]
    return f'<div class="part"><h3>Bars that are missed</h3><p>Each links to what its figure needs said: why, and what would help.</p><ul class="missed">{"".join(rows)}</ul></div>' if rows else ""


def summary_row(suite: Suite, line: Line) -> str:
    """One workload."""
    name, value = line.best or line.published[0]
    ratio = line.ratio if line.ratio is not None else value / line.ours
    return (
        f'<tr data-find="{escape(suite.title)}"><th scope="row">{escape(line.row.headline)}</th><td class="num" data-name="FolioDB">{line.shown(line.ours)}</td>'
        f'<td class="num" data-name="against">{escape(name)} {line.shown(value)}</td><td class="bar">{charts.ratio_bar(ratio)}</td>'
        f'<td class="verdict">{charts.ratio_words(line, ratio)}</td></tr>'
    )


def section(suite: Suite, run: Run, lines: list[Line], earlier: dict[str, list[float]]) -> str:
    """One suite."""
    judged = [verdict.is_met for line in lines for verdict in line.judged]
    badges = []
    if judged:
        kind = "win" if all(judged) else "loss"
        badges.append(f'<span class="badge {kind}">{"✓" if all(judged) else "✗"} {sum(judged)} of {len(judged)} bars met</span>')
    if run.quick:
        badges.append('<span class="badge level">a quick run</span>')
    if run.is_loaded():
        badges.append(f'<span class="badge level">others took up to {run.foreign():.2f} cores: read ratios</span>')
    told = " · ".join(escape(fact.replace("**", "")) for fact in facts(run)[:1])
    parts = [part(suite, title, list(members), earlier) for title, members in groupby(lines, key=lambda line: line.group.title)]
    notes = f'<div class="note part" id="{suite.name}-notes" data-find><h3>What the figures need said</h3>{prose(run.notes)}</div>' if run.notes else ""
    return f"""<section id="{suite.name}" aria-label="{escape(suite.title)}"><h2>{escape(suite.title)}</h2>
<p>{inline(suite.about)}</p>
<p class="facts">{"".join(badges)}{told}. <code>{suite.command}</code></p>
{"".join(parts)}
{notes}
<details><summary>Machine, systems and their settings</summary><p class="facts">{escape("; ".join(facts(run)).replace("**", ""))}. {escape(versions(run))}</p><ul class="facts">{"".join(f"<li>{escape(system['name'])} {escape(system['version'])}: {escape(system['settings'])}</li>" for system in run.systems_used())}</ul></details>
</section>"""


def versions(run: Run) -> str:
    """Packages, by name."""
    return ", ".join(f"{name} {version}" for name, version in sorted(run.machine.get("packages", {}).items()))


def part(suite: Suite, title: str, lines: list[Line], earlier: dict[str, list[float]]) -> str:
    """A group of lines: charts, then every figure."""
    about = f"<p>{inline(lines[0].group.about)}</p>" if lines[0].group.about else ""
    drawn = ""
    if lines[0].group.rows:
        drawn = chart(suite, lines)
    drawn += curves(suite, lines)
    return f'<div class="part"><h3>{inline(title)}</h3>{about}{drawn}<details class="all"><summary>All figures: {inline(title)}</summary>{table(suite, title, lines, earlier)}</details></div>'


def chart(suite: Suite, lines: list[Line]) -> str:
    """Bars of every system where there are several, else ratios."""
    if suite.chart == "bars":
        shown = [line for line in lines if line.peers and (line.judged or line.row.headline or not any(other.judged for other in lines))]
        return f'<div class="panels">{"".join(map(charts.panel, shown))}</div>'
    sizes = Counter(line.record.size for line in lines)
    is_grown = len(sizes) > 2 and suite.name != "sql"
    middle = sorted(sizes)[len(sizes) // 2]
    if suite.name == "tpch":
        return charts.ratio_rows([line for line in lines if line.record.size == max(sizes)])
    return charts.ratio_rows([line for line in lines if not is_grown or line.record.size == (1_000_000 if 1_000_000 in sizes else middle)])


def curves(suite: Suite, lines: list[Line]) -> str:
    """Lines over sizes, for rows that have three; over threads, for the buffer pool."""
    found = []
    for row, members in groupby(lines, key=lambda line: (id(line.row), line.record.mode)):
        grown = list(members)
        if len({line.record.size for line in grown}) >= 3 and grown[0].group.rows:
            found.append(by_size(suite, grown))
    if suite.name == "buffer_pool":
        found += by_threads(lines)
    shown = f'<div class="panels">{"".join(found[:CURVES_MAX])}</div>' if found else ""
    rest = "".join(found[CURVES_MAX:])
    return shown + (f'<details class="all"><summary>The others by {"threads" if suite.name == "buffer_pool" else "size"}</summary><div class="panels">{rest}</div></details>' if rest else "")


def by_size(suite: Suite, lines: list[Line]) -> str:
    """One row at every size."""
    first = lines[0]
    is_rate = suite.has_rates and first.record.per > 1 and not first.row.is_whole and first.record.unit == "ns"
    unit = "rate" if is_rate else first.record.unit
    as_shown = (lambda value: 1e9 / value) if is_rate else (lambda value: value)
    series = [("FolioDB", "ours", [(line.record.size, as_shown(line.ours)) for line in lines])]
    for name in list(dict.fromkeys(name for line in lines for name, _ in line.peers))[:6]:
        points = [(line.record.size, as_shown(value)) for line in lines for peer, value in line.peers if peer == name]
        if len(points) > 1 and "cache" not in name:
            series.append((name.split(",")[0], "peer", points))
    mode = f", {first.record.mode}" if suite.has_rates and first.record.mode else ""
    return charts.curves(f"{first.row.text}{mode}", suite.size.format("").strip() or "size", series, unit)


def by_threads(lines: list[Line]) -> list[str]:
    """The pool's cases that differ in threads only, a line for each policy."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for line in lines:
        case = re.fullmatch(r"(pin|hotset):t(\d+)(?:_k4)?", line.record.workload)
        if case:
            for name, value in [(line.record.system, line.ours), *line.others, *line.published]:
                found.setdefault(case[1], {}).setdefault(name.removesuffix(" (published)"), []).append((int(case[2]), value))
    titles = {"pin": "pins of blocks of each thread's own", "hotset": "pins of four blocks that all share"}
    kinds = {"s3_fifo": "ours", "SimpleDB": "published"}
    return [charts.curves(titles[case], "threads", [(name, kinds.get(name, "peer"), sorted(points)) for name, points in series.items() if len(points) > 2], "ns") for case, series in found.items() if len(series["s3_fifo"]) > 2]


def table(suite: Suite, title: str, lines: list[Line], earlier: dict[str, list[float]]) -> str:
    """Every figure, sortable."""
    heads = ["workload", "of", "FolioDB", "spread", "best peer", "ratio", "bar", "others", "runs"]
    head = "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in heads[:-2]) + "".join(f'<th scope="col">{name}</th>' for name in heads[-2:])
    rows = "".join(table_row(suite, title, line, earlier.get(line.key(), [])) for line in lines)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(suite.title)}: {escape(title)}"><table class="figures"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def table_row(suite: Suite, title: str, line: Line, runs: list[float]) -> str:
    """One line."""
    best, record = line.best, line.record
    spread = f"±{record.spread() * 100:.0f} %" if len(record.samples) > 1 else ""
    ratio = ""
    if line.ratio is not None:
        ratio = charts.ratio_words(line, line.ratio)
    bars = "<br>".join(f'<span class="{"win" if judged.is_met else "loss"}">{"✓ met" if judged.is_met else "✗ missed"}</span> {escape(judged.text)}: {times(judged.ratio)}' for judged in line.judged)
    others = ", ".join(f"{escape(name)} {line.shown(value)}" for name, value in [*line.peers[1:], *line.others, *line.published])
    worst = min((judged.ratio for judged in line.judged), default=None)
    loaded = ' <span class="loss">loaded</span>' if line.is_loaded else ""
    cells = [
        f'<td data-value="{record.size}">{escape(line.where())}{loaded}</td>',
        f'<td class="num" data-value="{line.ours:.6g}"><b>{line.shown(line.ours)}</b></td>',
        f'<td class="num" data-value="{record.spread():.4f}">{spread}</td>',
        f'<td class="num" data-value="{f"{best[1]:.6g}" if best else ""}">{f"{escape(best[0])} {line.shown(best[1])}" if best else ""}</td>',
        f'<td class="num" data-value="{f"{line.ratio:.6g}" if line.ratio is not None else ""}">{ratio}</td>',
        f'<td class="num" data-value="{f"{worst:.6g}" if worst is not None else ""}">{bars}</td>',
        f'<td class="others">{others}</td>',
        f"<td>{charts.spark(runs)}</td>",
    ]
    return f'<tr data-find="{escape(title)}"><th scope="row">{inline(line.row.text)}</th>{"".join(cells)}</tr>'


def seeds(published: list[dict], lines: list[Line]) -> str:
    """The tables of earlier reports, row by row."""
    parts = []
    for report in published:
        tables = "".join(seed_table(report, found, lines) for found in report["tables"])
        parts.append(f'<div class="part"><h3>{escape(report["name"])}</h3><p class="facts">Published: {escape(report["machine"])}.</p>{tables}</div>')
    return f"""<section id="seeds" aria-label="Earlier reports"><h2>Earlier reports, row by row</h2>
<p>The project grew from four benchmark reports. Each row of their tables has our figure, the peers' from the same run, the ratio to the best of these peers, and what the report published on its own machine.</p>
{"".join(parts)}</section>"""


def seed_table(report: dict, found: dict, lines: list[Line]) -> str:
    """One table of a report."""
    heads = ["row", "FolioDB", "peers, same run", "ratio", *(f"{name}, published" for name in found["columns"])]
    head = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in heads)
    rows = "".join(seed_row(report, found, row, lines) for row in found["rows"])
    note = f'<p class="facts">{escape(found["note"])}</p>' if found.get("note") else ""
    name = f"{report['name']}: {found['title']}"
    return f'<details class="all" {"open" if len(found["rows"]) < 8 else ""}><summary>{escape(found["title"])}</summary>{note}<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}"><table class="figures"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'


def seed_row(report: dict, found: dict, row: dict, lines: list[Line]) -> str:
    """One row of a report beside ours."""
    line = next((line for line in lines if row["key"] and is_meant(line, row["key"])), None)
    ours = peers = ratio = ""
    if line:
        show = row["key"].get("show", found.get("show"))
        ours = shown_as(line, line.ours, show)
        peers = ", ".join(f"{escape(name)} {shown_as(line, value, show)}" for name, value in line.peers if "cache" not in name) or ", ".join(f"{name} {shown_as(line, value, show)}" for name, value in line.others)
        number = line.ratio if line.ratio is not None else best_published(row, line)
        if number is not None:
            kind, sign, _ = charts.verdict(number)
            ratio = f'<span class="ratio {kind}"><span aria-hidden="true">{sign}</span> {times(number)}</span>'
    else:
        ours = '<span class="level">not measured</span>'
    cells = "".join(f'<td class="num">{escape(value)}</td>' for value in row["published"])
    value = f"{line.ours:.6g}" if line else ""
    return f'<tr data-find="{escape(report["name"])} {escape(found["title"])}"><th scope="row">{inline(row["text"])}</th><td class="num" data-value="{value}"><b>{ours}</b></td><td>{peers}</td><td class="num">{ratio}</td>{cells}</tr>'


def is_meant(line: Line, key: dict) -> bool:
    """Whether a line is what a row of a report measured."""
    record, row = line.record, line.row
    facts = {"suite": line.suite.name, "workload": f"{record.suite}/{record.workload}", "mode": record.mode, "size": record.size, "threads": record.threads, "measure": row.measure, "ours": row.ours}
    return all(facts[name] == value for name, value in key.items() if name in facts)


def shown_as(line: Line, value: float, show: str | None) -> str:
    """A value as the report shows it."""
    if line.record.unit != "ns":
        return line.shown(value)
    if show == "rate":
        if line.row.is_whole:
            return f"{rate(line.record.per / value * 1e9)}/s"
        return f"{rate((line.record.size if line.suite.name == 'ziql' else 1) / value * 1e9)}/s"
    if show == "total":
        return duration(value * line.record.per)
    if show == "pool" and ":" in line.record.workload or show == "pool" and "(" in line.record.workload and "hit" not in line.record.workload and "miss" not in line.record.workload:
        return f"{1000 / value:.3g} M/s"
    return duration(value)


def best_published(row: dict, line: Line) -> float | None:
    """Against the best of what was published, where no peer took part in our run."""
    scale = {"µs": 1e3, "M": 0}
    found = []
    for text in row["published"]:
        number, unit, *_ = text.split()
        found.append(1e3 / float(number) if unit == "M" else float(number) * scale[unit])
    return min(found) / line.ours if found else None


def prose(text: str) -> str:
    """Notes as HTML: paragraphs, bold and slanted words, code and links; headings are left out."""
    paragraphs = [paragraph for paragraph in text.split("\n\n") if not paragraph.startswith("#")]
    return "".join(f"<p>{marked(paragraph)}</p>" for paragraph in paragraphs)


def marked(text: str) -> str:
    """One paragraph."""
    found = inline(text)
    found = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", found)
    found = re.sub(r"\*(.+?)\*", r"<em>\1</em>", found)
    return re.sub(r"\[(.+?)\]\((?:\.\./\.\./docs/)?(.+?)\)", lambda link: f'<a href="../{link[2]}">{link[1]}</a>', found)


def read_published() -> list[dict]:
    """What earlier reports say."""
    return json.loads((HERE / "published.json").read_text())
