"""The table of metrics, made from the registry when the site is built."""

from typing import Any

MARKER = "<!-- the metrics -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return markdown.replace(MARKER, metrics_markdown()) if MARKER in markdown else markdown


def metrics_markdown() -> str:
    """A row for each metric: its name in ``cases.csv``, what it is, its range and what is best."""
    from sizewise.metrics.registry import METRICS, POOLED

    rows = ["| name in `cases.csv` | is | range, best |", "|---|---|---|"]
    for name, metric in METRICS.items():
        best = f", {metric.best:g}" if metric.better else ""
        rows.append(f"| `{name}` | {metric.formula.replace('|', chr(92) + '|')} | {metric.span}{best} |")
    pooled = ", ".join(f"`{name}{POOLED}`" for name, metric in METRICS.items() if metric.pooled)
    same = "the same formulas on counts summed over all cases; the case is called `all`"
    rows.append(f"| {pooled} | {same} | as above |")
    return "\n".join(rows)
