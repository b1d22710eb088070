"""A progress line on standard error, for those who ask with `progress=True`."""

from __future__ import annotations

import sys
import time


class Line:
    """Rewrites one line: amount done, total and speed."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.width = 0

    def __call__(self, done: int, total: int) -> None:
        elapsed = max(time.monotonic() - self.started, 1e-9)
        text = f"{done:,}" if not total else f"{done:,} of {total:,} ({done / total:.0%})"
        text += f", {done / elapsed:,.0f}/s"
        end = "\n" if total and done >= total else ""
        print("\r" + text.ljust(self.width), end=end, file=sys.stderr, flush=True)
        self.width = len(text)
