"""Tests facts that hold for any trace, on every available trace. A later recording gives the same report, a window of
the steps gives their figures, and `diff` has the phases of the report. `support.violations` has other invariants, which
every test of a report checks."""

import decimal
import gzip
import pathlib
import re

from integration import support

LATER_US = 1_234_567  # Whole microseconds, because older traces are recognized by stamps without fractions.


def traces():
    folders = ("h200/traces", "h200-recurrent/traces", "public-traces", "wild")
    found = [p for folder in folders for p in sorted((support.DATA / folder).glob("*")) if p.is_file()]
    return [p for p in found if p.suffix != ".md"]


def moved(path):
    """Returns the same trace, recorded later, as text. None if the file is not in Chrome's JSON form."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            text = file.read().decode()
    except (UnicodeDecodeError, OSError):
        return None
    if '"traceEvents"' not in text:
        return None
    # Edited as text, because a double does not hold every stamp to the nanosecond.
    return re.sub(r'("ts": *)(\d+(?:\.\d+)?)', lambda m: m[1] + str(decimal.Decimal(m[2]) + LATER_US), text)


def figures(report):
    """Returns a report without the path of the file and the start time of the trace."""
    return {
        key: report[key]
        for key in ("steps", "step_breakdown", "bottleneck", "gpu_time", "idle", "kernels", "operators", "run")
    } | {"findings": [(f["id"], f["share_pct"], f["saves_ms"]) for f in report["findings"]]}


class AnyTrace(support.ProgramTest):
    reports: list[tuple[pathlib.Path, dict]]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        support.data_file("public-traces")
        outcomes = [(path, support.headroom("report", "--json", "--quiet", path)) for path in traces()]
        cls.reports = [(path, outcome.json()) for path, outcome in outcomes if outcome.code == 0]

    def test_a_window_of_the_steps_has_their_figures(self):
        compared = 0
        for path, whole in self.reports:
            rows = whole["steps"]["list"]
            if len(rows) < 3:
                continue
            window = rows[1 : 1 + max(2, len(rows) // 2)]
            with self.subTest(path.name):
                report = self.report(path, "--steps", f"{window[0]['index']}:{window[-1]['index']}")
                for key in ("index", "wall_ms", "gpu_busy_ms", "host_ms", "kind"):
                    got = [row[key] for row in report["steps"]["list"]]
                    self.assertEqual(got, [row[key] for row in window], key)
                compared += 1
        self.assertGreater(compared, 10)

    def test_a_trace_recorded_later_gives_the_same_report(self):
        largest = 1 << 40 if support.FULL else 200_000
        compared = 0
        for path, report in self.reports:
            trace = moved(path) if path.stat().st_size <= largest else None
            if trace is None:
                continue
            with self.subTest(path.name):
                later = self.report(self.write("later.json", trace))
                self.assertEqual(support.mismatches(figures(report), figures(later))[:3], [])
                compared += 1
        self.assertGreater(compared, 10)

    def test_whatif_saves_what_the_report_says(self):
        compared = 0
        for path, report in self.reports:
            named = {f["whatif"].split()[-1]: f["saves_ms"] for f in report["findings"] if f.get("whatif")}
            if not named:
                continue
            with self.subTest(path.name):
                forecast = support.headroom("whatif", "--json", "--quiet", path, *named).json()
                for row in forecast["scenarios"]:
                    # A finding saves at most its idle time.
                    saves = named[row["name"]]["mid"]
                    self.assertLessEqual(saves, row["saves_ms"] + 1e-3, row["name"])
                    self.assertGreaterEqual(saves, 0.95 * row["saves_ms"] - 1e-3, row["name"])
                    compared += 1
        self.assertGreater(compared, 10)

    def test_diff_has_the_phases_of_the_report(self):
        compared = 0
        for path, report in support.some(self.reports, every=3):
            diff = support.headroom("diff", path, path, "--json", "--quiet")
            if diff.code != 0 or not report["step_breakdown"] or report["stretch"]:
                continue
            with self.subTest(path.name):
                for phase, ms in diff.json()["a"]["phases"].items():
                    self.assertAlmostEqual(ms, report["step_breakdown"][phase], places=5, msg=phase)
                compared += 1
        self.assertGreater(compared, 10 if support.FULL else 5)
