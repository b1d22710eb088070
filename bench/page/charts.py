"""Charts of the page: bars and ratios as HTML, which wraps and prints like text; curves as SVG.

Ours differs from peers by colour, weight and hatching; a win differs from a loss by side, colour,
arrow and word. So nothing is told by colour alone.
"""

from __future__ import annotations

from html import escape
from math import log2, log10

from judged import Line, counted, duration, megabytes, rate, times

# Within five percent neither side has won: runs differ by as much.
LEVEL = 1.05
# The ends of the scale of ratios, as powers of two.
LEAST, MOST = -4.0, 5.0


def verdict(ratio: float) -> tuple[str, str, str]:
    """Class, sign and word of a ratio."""
    if ratio >= LEVEL:
        return "win", "▲", "faster"
    return ("loss", "▼", "slower") if ratio < 1 / LEVEL else ("level", "●", "level")


def word(line: Line, ratio: float) -> str:
    """The word for a ratio; of space, its own."""
    name = verdict(ratio)[2]
    return {"faster": "smaller", "slower": "larger"}.get(name, name) if line.record.unit == "B" else name


def place(ratio: float) -> float:
    """Where a ratio stands on the scale, in percent."""
    return (min(max(log2(ratio), LEAST), MOST) - LEAST) / (MOST - LEAST) * 100


def ratio_bar(ratio: float) -> str:
    """A bar from 1 to the ratio, on a logarithmic scale; to the right is better."""
    one, end = place(1), place(ratio)
    left, width = min(one, end), max(abs(end - one), 0.8)
    kind = verdict(ratio)[0]
    return f'<span class="scale" aria-hidden="true"><i class="{kind}" style="left:{left:.1f}%;width:{width:.1f}%"></i><b style="left:{one:.1f}%"></b></span>'


def ratio_rows(lines: list[Line]) -> str:
    """A line for each workload, in it one for each peer."""
    rows = [
        f'<li data-find><span class="what">{inline(line.row.text)} <small>{escape(line.where())}</small></span><div>{"".join(side(line, name, value) for name, value in (line.peers or line.published)[:3])}</div></li>'
        for line in lines
        if line.peers or line.published
    ]
    return f'<ul class="ratios">{"".join(rows)}</ul>'


def side(line: Line, name: str, value: float) -> str:
    """A line beside one peer."""
    # The line's own ratio is the best peer's, by its own measure.
    found = line.ratio if line.best and name == line.best[0] and line.ratio else value / line.ours
    return f'<p><span class="against">{escape(name)}</span>{ratio_bar(found)}{ratio_words(line, found)}</p>'


def ratio_words(line: Line, found: float) -> str:
    """A ratio with its sign and its word."""
    kind, sign, _ = verdict(found)
    told = word(line, found) if line.peers else "other machine"
    return f'<span class="ratio {kind}"><span aria-hidden="true">{sign}</span> {times(found)} <small>{told}</small></span>'


def panel(line: Line) -> str:
    """Every system at one workload, the best first."""
    rows = [("FolioDB" if line.row.ours == "FolioDB" else line.row.ours, line.ours, "ours")]
    rows += [(name, value, "peer") for name, value in line.peers]
    rows += [(name, value, "published") for name, value in line.published]
    best = min(value for _, value, _ in rows)
    items = "".join(
        f'<li class="{kind}"><span>{escape(name)}</span><span class="track" aria-hidden="true"><i style="width:{max(best / value * 100, 0.6):.1f}%"></i></span><span>{line.shown(value)}</span></li>'
        for name, value, kind in sorted(rows, key=lambda row: row[1])
    )
    return f'<figure class="panel" data-find><figcaption>{inline(line.row.text)} <small>{escape(line.where())}</small></figcaption><ul class="bars">{items}</ul></figure>'


def spark(values: list[float]) -> str:
    """Ratios of earlier runs, the last one marked; a dashed line stands at 1."""
    if len(values) < 2:
        return ""
    logs = [log2(max(value, 1e-3)) for value in values]
    low, high = min([*logs, 0.0]), max([*logs, 0.0])
    across, height = 64, 18
    points = [(2 + index * (across - 6) / (len(logs) - 1), 2 + (height - 4) * (1 - (found - low) / ((high - low) or 1))) for index, found in enumerate(logs)]
    one = 2 + (height - 4) * (1 - (0 - low) / ((high - low) or 1))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    is_worse = logs[-1] < max(logs[:-1]) - 0.32
    name = f"{len(values)} runs, from {times(values[0])} to {times(values[-1])}" + ("; worse than before" if is_worse else "")
    return (
        f'<svg class="spark{" worse" if is_worse else ""}" viewBox="0 0 {across} {height}" width="{across}" height="{height}" role="img" aria-label="{name}"><title>{name}</title>'
        f'<path class="one" d="M2 {one:.1f}H{across - 2}"/><polyline points="{path}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/></svg>'
    )


WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 50, 76, 12, 34


def curves(title: str, along: str, series: list[tuple[str, str, list[tuple[float, float]]]], unit: str) -> str:
    """Lines over sizes or threads, both axes logarithmic; each line is named at its end.

    A series is a name, a class and its points; `unit` is `ns`, `B` or `rate`.
    """
    points = [point for _, _, line in series for point in line]
    across = sorted({x for x, _ in points})
    low, high = log10(min(y for _, y in points)), log10(max(y for _, y in points))
    if high - low < 0.5:
        low, high = low - 0.25, high + 0.25
    first, last = log10(across[0]), log10(across[-1])

    def at(x: float, y: float) -> tuple[float, float]:
        along_x = (log10(x) - first) / ((last - first) or 1)
        along_y = (log10(y) - low) / (high - low)
        return LEFT + along_x * (WIDTH - LEFT - RIGHT), TOP + (1 - along_y) * (HEIGHT - TOP - BOTTOM)

    show = {"ns": duration, "B": megabytes, "rate": lambda found: f"{rate(found)}/s"}[unit]
    parts = []
    for step in range(4):
        value = 10 ** (low + (high - low) * step / 3)
        _, y = at(across[0], value)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/><text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{show(value)}</text>')
    shown = across if len(across) <= 5 else across[::2]
    for x in shown:
        place_x, _ = at(x, 10**low)
        parts.append(f'<text x="{place_x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{counted(x)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 3}" text-anchor="middle">{escape(along)}</text>')
    names = spread_out([(at(*line[-1])[1], name) for name, _, line in series])
    for name, kind, line in series:
        drawn = [at(x, y) for x, y in line]
        parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)}"/>')
        parts += [mark(kind, x, y) for x, y in drawn]
        parts.append(f'<text class="{kind}" x="{drawn[-1][0] + 7:.1f}" y="{names[name] + 4:.1f}">{escape(name)}</text>')
    told = "; ".join(f"{name} from {show(line[0][1])} to {show(line[-1][1])}" for name, _, line in series)
    return (
        f'<figure class="curve" data-find><figcaption>{inline(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(told)}">{"".join(parts)}</svg></figure>'
    )


def mark(kind: str, x: float, y: float) -> str:
    """A point: ours is a square, the others are dots."""
    if kind == "ours":
        return f'<rect class="ours" x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.4"/>'


def spread_out(names: list[tuple[float, str]]) -> dict[str, float]:
    """Heights for names, none upon another."""
    heights = [y for y, _ in sorted(names)]
    for index in range(1, len(heights)):
        heights[index] = max(heights[index], heights[index - 1] + 12)
    ceiling = HEIGHT - BOTTOM + 4.0
    for index in reversed(range(len(heights))):
        heights[index] = ceiling = min(heights[index], ceiling)
        ceiling -= 12
    return {name: height for (_, name), height in zip(sorted(names), heights, strict=True)}


def inline(text: str) -> str:
    """Words with `code` in them."""
    parts = escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
