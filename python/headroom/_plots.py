"""Plots of results by matplotlib. Private; used by the `plot` methods of headroom.results."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from headroom._html import COLORS, ms


def _axes(ax: Any, width: float, height: float) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plot() requires matplotlib (apt install python3-matplotlib, or pip install matplotlib)"
        ) from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def stacked(parts: Mapping[str, float], ax: Any) -> Any:
    """Draws one stacked bar of times in ms."""
    ax = _axes(ax, 9, 1.8)
    left = 0.0
    for place, (name, value) in enumerate((name, value) for name, value in parts.items() if value > 0):
        ax.barh(
            [0], [value], left=left, color=COLORS[place % len(COLORS)], label=f"{name.replace('_', ' ')}, {ms(value)}"
        )
        left += value
    ax.set_yticks([])
    ax.set_xlabel("ms per step")
    if left:
        ax.set_xlim(0, left)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.35), ncol=4, frameon=False)
    return ax


def intervals(
    rows: Sequence[tuple[str, Mapping[str, float | None]]], baseline: float | None, label: str, ax: Any
) -> Any:
    """Draws times with their intervals, one row each, and a line at the baseline. Omits rows without a forecast."""
    known = [(name, times) for name, times in rows if times and times["mid"] is not None]
    ax = _axes(ax, 8, 1.2 + 0.35 * len(known))
    for place, (_, times) in enumerate(known):
        low, mid, high = (times[key] or 0.0 for key in ("low", "mid", "high"))
        ax.barh([place], [mid], color=COLORS[0])
        ax.errorbar([mid], [place], xerr=[[max(mid - low, 0)], [max(high - mid, 0)]], color="black", capsize=3)
    ax.set_yticks(range(len(known)), [name for name, _ in known])
    ax.invert_yaxis()
    ax.set_xlabel("step time (ms)")
    if baseline is not None:
        ax.axvline(baseline, color=COLORS[5], linestyle="--", label=f"{label}: {ms(baseline)}")
        ax.legend(loc="best", frameon=False)
    return ax


def scaling(points: Sequence[Mapping[str, Any]], ax: Any) -> Any:
    """Draws throughput over GPUs, one line per network, and perfect scaling."""
    ax = _axes(ax, 6, 4)
    networks: dict[str, list[Mapping[str, Any]]] = {}
    for point in points:
        if point["throughput_per_s"] is not None:
            bandwidth = point["bandwidth_gbps"]
            name = point["cluster"] or (f"{bandwidth:g} Gbit/s" if bandwidth else "network")
            networks.setdefault(name, []).append(point)
    for place, (name, row) in enumerate(networks.items()):
        color = COLORS[place % len(COLORS)]
        row = sorted(row, key=lambda point: (point["gpus"], point["nodes"]))
        gpus = [point["gpus"] for point in row]
        ax.plot(gpus, [point["throughput_per_s"] for point in row], marker="o", color=color, label=name)
        if row[0]["efficiency_pct"]:
            one = row[0]["throughput_per_s"] / row[0]["gpus"] / (row[0]["efficiency_pct"] / 100)
            ax.plot(gpus, [one * n for n in gpus], linestyle=":", color=color, label="perfect" if place == 0 else None)
    ax.set_xlabel("GPUs")
    ax.set_ylabel("samples/s")
    if networks:
        ax.legend(frameon=False)
    return ax


def waterfall(a: float, changes: Sequence[tuple[str, float]], b: float, ax: Any, most: int = 8) -> Any:
    """Draws A, the largest changes one behind the other, the rest of the changes, and B."""
    ranked = sorted(changes, key=lambda row: -abs(row[1]))
    shown = ranked[:most]
    rest = b - a - sum(change for _, change in shown)
    if abs(rest) > 1e-9 * max(abs(a), abs(b)):
        shown.append(("other", rest))
    ax = _axes(ax, 9, 4)
    at = a
    ax.bar([0], [a], color=COLORS[7])
    for place, (_, change) in enumerate(shown, start=1):
        ax.bar([place], [abs(change)], bottom=min(at, at + change), color=COLORS[5] if change > 0 else COLORS[2])
        at += change
    ax.bar([len(shown) + 1], [b], color=COLORS[7])
    names = ["A", *(name for name, _ in shown), "B"]
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set_ylabel("step time (ms)")
    return ax
