"""HTML of results for notebooks: tables and bars with inline styles, all text escaped. Private."""

from __future__ import annotations

import html
from typing import Any, Iterable, Sequence

# Eight colours that differ also for colour-blind eyes, on white and on black: after Okabe and Ito (2008).
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a600", "#8c8c8c")


def escape(text: Any) -> str:
    """Returns text for HTML, an empty string for None."""
    return "" if text is None else html.escape(str(text))


def ms(value: float | None) -> str:
    """Returns a time with three significant digits: "51.3 ms", "1.23 s"; "unknown" for None."""
    if value is None:
        return "unknown"
    if abs(value) >= 1000:
        return f"{value / 1000:.3g} s"
    return f"{value:.3g} ms" if abs(value) < 100 else f"{value:.0f} ms"


def interval(times: dict[str, float] | None, is_bound: bool = False) -> str:
    """Returns "51.3 ms (45.0-57.6)", or "up to 51.3 ms" if is_bound is true, or "no forecast" for None."""
    if not times or times.get("mid") is None:
        return "no forecast"
    if is_bound:
        return f"up to {ms(times['mid'])}"
    low, high = times["low"], times["high"]
    if low is None or high is None or low == high:
        return ms(times["mid"])
    unit = 1000 if abs(times["mid"]) >= 1000 else 1  # The unit of mid.
    return f"{ms(times['mid'])} ({low / unit:.3g}&ndash;{high / unit:.3g})"


def gib(value: float | None) -> str:
    """Returns bytes as "5.44 GiB"."""
    return "unknown" if value is None else f"{value / 2**30:.3g} GiB"


def head(title: str, sentence: str = "") -> str:
    """Returns the first lines of a result."""
    below = f'<div style="opacity:.75">{sentence}</div>' if sentence else ""
    return f'<div style="font-weight:600;font-size:110%">{title}</div>{below}'


def figures(pairs: Iterable[tuple[str, str]]) -> str:
    """Returns a row of figures, each with its name below."""
    cells = "".join(
        f'<div style="margin-right:2em"><div style="font-size:140%">{value}</div>'
        f'<div style="opacity:.7;font-size:85%">{escape(name)}</div></div>'
        for name, value in pairs
        if value and value != "unknown"
    )
    return f'<div style="display:flex;flex-wrap:wrap;margin:.5em 0">{cells}</div>' if cells else ""


def bar(parts: Sequence[tuple[str, float]]) -> str:
    """Returns one stacked bar of times in ms, with its legend. Omits parts without time."""
    shown = [(name, value) for name, value in parts if value > 0]
    whole = sum(value for _, value in shown)
    if not whole:
        return ""
    blocks, legend = [], []
    for place, (name, value) in enumerate(shown):
        color = COLORS[place % len(COLORS)]
        label = escape(f"{name}: {ms(value)}, {100 * value / whole:.0f} %")
        blocks.append(f'<div title="{label}" style="width:{100 * value / whole:.3f}%;background:{color}"></div>')
        legend.append(
            f'<span style="margin-right:1.2em;white-space:nowrap"><span style="display:inline-block;width:.8em;'
            f'height:.8em;background:{color};margin-right:.35em"></span>{label}</span>'
        )
    return (
        '<div style="display:flex;height:1.4em;max-width:60em;border-radius:3px;overflow:hidden" role="img" '
        f'aria-label="{escape("; ".join(f"{name} {ms(value)}" for name, value in shown))}">{"".join(blocks)}</div>'
        f'<div style="font-size:85%;margin:.3em 0 .6em">{"".join(legend)}</div>'
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Returns a table. Cells are HTML.

    numbers: indexes of the right-aligned columns
    """

    def cell(tag: str, place: int, text: str) -> str:
        align = "right;white-space:nowrap" if place in numbers else "left"
        return f'<{tag} style="text-align:{align};padding:.15em .8em .15em 0;vertical-align:top">{text}</{tag}>'

    header = "".join(cell("th", place, escape(name)) for place, name in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(cell("td", place, text) for place, text in enumerate(row)) + "</tr>" for row in rows
    )
    return f'<table style="border-collapse:collapse"><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>'


def block(*parts: str) -> str:
    """Returns the whole of a result."""
    return f'<div class="headroom" style="line-height:1.45">{"".join(parts)}</div>'
