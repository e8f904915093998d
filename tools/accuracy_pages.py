"""The pages of docs/accuracy/ and their index, docs/accuracy.md; shared by tools/accuracy and the tools that it loads.

Each page answers one question. It opens with what to believe: sentences about its first Figure, and a table of all its
figures. The index has the first row of each page. It is made from the pages, so each tool can update it.
"""

import csv
import dataclasses
import functools
import gzip
import importlib.machinery
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import textwrap
from typing import Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("HEADROOM_BINARY") or ROOT / "build" / "release" / "headroom")
DATA = pathlib.Path(os.environ.get("HEADROOM_DATA") or ROOT.parent / "shared")
FOLDER = ROOT / "docs" / "accuracy"
INDEX = ROOT / "docs" / "accuracy.md"
ORDER = ("changes", "other-gpus", "modern-gpus", "compile", "more-gpus", "memory", "energy", "input-pipelines")
WIDTH = 156  # Columns of prose.
GAIN_PCT = 5  # Smaller gains count as none.

LEFT_OUT, NOTHING_FITTED, IN_SAMPLE = "left out", "nothing fitted", "in-sample"
EVIDENCE = {
    LEFT_OUT: "No constant was fitted to the model or the GPU of the forecast.",
    NOTHING_FITTED: "No constant was fitted to these measurements.",
    IN_SAMPLE: "Constants were fitted to these measurements, so expect larger errors elsewhere.",
}
COLUMNS = (
    "forecasts",
    "number",
    "mean error",
    "median",
    "worst",
    "inside the 80 % interval",
    "gain stated correctly",
    "evidence",
)


@functools.lru_cache(maxsize=None)
def load(tool):
    """Returns a script of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(tool, str(ROOT / "tools" / tool))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(tool, loader))
    loader.exec_module(module)
    return module


def read_table(path):
    """Returns the rows of a CSV file, which may be compressed."""
    opened = gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="", encoding="utf-8")
    with opened as file:
        return list(csv.DictReader(file))


def run(*arguments):
    """Returns the output of the program."""
    return subprocess.run([BINARY, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def cells(*values):
    """Returns a line of a table."""
    return "| " + " | ".join(map(str, values)) + " |"


def is_gain(before, after):
    """Returns whether the second time is shorter by GAIN_PCT or more."""
    return 100 * (1 - after / before) >= GAIN_PCT


def summary(errors):
    """Describes errors in percent by their size."""
    sizes = [abs(error) for error in errors]
    return f"mean {statistics.mean(sizes):.1f} %, median {statistics.median(sizes):.1f} %, worst {max(sizes):.1f} %"


def share(flags):
    """Returns "92 %" of the flags, "" without flags."""
    return f"{100 * statistics.mean(flags):.0f} %" if flags else ""


@dataclasses.dataclass
class Figure:
    """The errors of one kind of forecasts, a row at the head of a page."""

    forecasts: str
    evidence: str  # LEFT_OUT, NOTHING_FITTED or IN_SAMPLE
    errors: Sequence[float]  # In `unit`.
    inside: Sequence[bool] = ()  # Whether the 80 % interval contains the truth; empty: no interval.
    right: Sequence[bool] = ()  # Whether the forecast states correctly if the gain is GAIN_PCT or more; empty: no gain.
    names: Sequence[str] = ()  # Names of the forecasts; empty: the tables show the worst ones.
    unit: str = "%"

    def sizes(self):
        """Returns mean, median and worst error as texts."""
        sizes = [abs(error) for error in self.errors]
        return [self.text(size) for size in (statistics.mean(sizes), statistics.median(sizes), max(sizes))]

    def text(self, error, sign=""):
        return f"{error:{sign},.{1 if abs(error) < 100 else 0}f} {self.unit}"

    def columns(self):
        inside, right = share(self.inside) or "no interval", share(self.right) or "-"
        return [self.forecasts, f"{len(self.errors):,}", *self.sizes(), inside, right, self.evidence]

    def sentences(self):
        mean, median, worst = self.sizes()
        inside = (
            f"The 80 % interval contains {share(self.inside)} of the truths."
            if self.inside
            else "There is no 80 % interval."
        )
        right = f"{share(self.right)} state correctly whether the gain is {GAIN_PCT} % or more." if self.right else ""
        return (
            f"Expect an error of {mean} (median {median}, worst {worst}), from {len(self.errors):,} forecasts of "
            f"{self.forecasts}. {inside} {right} {EVIDENCE[self.evidence]}"
        ).replace("  ", " ")

    def worst(self, most=3):
        """Returns a line with the worst cases; none without names."""
        if not self.names:
            return []
        cases = sorted(zip(self.errors, self.names), key=lambda case: -abs(case[0]))[:most]
        return ["Worst cases: " + "; ".join(f"{name} ({self.text(error, '+')})" for error, name in cases) + ".", ""]


def page(title, figures, *body):
    """Returns the text of a page."""
    return wrapped(
        "\n".join(
            [
                f"# {title}",
                "",
                figures[0].sentences(),
                "",
                *figures[0].worst(),
                cells(*COLUMNS),
                "|---|" + "---:|" * 6 + "---|",
                *(cells(*figure.columns()) for figure in figures),
                "",
                *body,
            ]
        )
    )


def wrapped(text):
    """Wraps the lines of prose. Tables and headings stay unchanged."""
    lines = []
    for line in text.rstrip("\n").splitlines():
        if line.startswith(("|", "#")) or len(line) <= WIDTH:
            lines.append(line)
        else:
            indent = "  " if line.startswith("* ") else ""
            lines += textwrap.wrap(
                line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
    return "\n".join(lines) + "\n"


def first_row(name):
    """Returns the title of a page, and the cells of its first figure."""
    lines = (FOLDER / f"{name}.md").read_text().splitlines()
    return lines[0].removeprefix("# "), lines[lines.index(cells(*COLUMNS)) + 2].strip("| ").split(" | ")


def index():
    """Returns the text of docs/accuracy.md."""
    rows = []
    for name in ORDER:
        title, first = first_row(name)
        rows.append(cells(f"[{title}](accuracy/{name}.md)", *first))
    return wrapped(
        "\n".join(
            [
                "# Accuracy of the forecasts",
                "",
                "Each row has the figure to believe for one question. Its page has the other figures, the worst cases "
                "and all forecasts.",
                "",
                cells("question", *COLUMNS),
                "|---|---|" + "---:|" * 6 + "---|",
                *rows,
                "",
                "* **Error**: the distance of the forecast from the truth, in percent of the truth. Each page states "
                "its truth, and other definitions.",
                "* **Inside the 80 % interval**: the share of truths between the low and the high end of the forecast. "
                "80 % is the aim. More means that the interval is wider than needed.",
                f"* **Gain stated correctly**: the share of forecasts that state correctly whether the gain is "
                f"{GAIN_PCT} % or more.",
                *(
                    f"* **{evidence.capitalize()}**: {meaning[0].lower()}{meaning[1:]}"
                    for evidence, meaning in EVIDENCE.items()
                ),
                "",
                "`tools/accuracy` writes these pages from measurements. `tools/accuracy --check` fails if a page is "
                "out of date.",
            ]
        )
    )


def publish(pages, check):
    """Writes {name: text} and the index. With `check`, writes nothing, and returns 1 if one of them is out of date."""
    if check:
        current = {FOLDER / f"{name}.md": text for name, text in pages.items()} | {INDEX: index()}
        stale = [path for path, text in current.items() if not path.is_file() or path.read_text() != text]
        for path in stale:
            print(f"{path} is out of date; run tools/accuracy", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages.items():
        (FOLDER / f"{name}.md").write_text(text)
        print(f"{name}: {' '.join(text.split(chr(10) * 2)[1].split())}")
    INDEX.write_text(index())
    return 0
