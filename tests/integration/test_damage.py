"""Tests that damaged traces are read or refused. Crashes, hangs, invalid output and lost intact events are failures."""
import concurrent.futures
import gzip
import os
import unittest

import damage
from integration import support

GATE = {"cuts": 200, "gzip_cuts": 125, "flips": 200, "gzip_flips": 100}  # Cases per trace; --full runs all.


def small_traces():
    """Returns a golden trace, which is always available, and a real trace of 4 KB (with backward on a separate
    thread)."""
    yield "golden", (support.GOLDEN / "communication-exposed-and-hidden/trace.json").read_bytes()
    real = support.DATA / "public-traces/hta__call_stack__backward_thread.json.gz"
    if real.exists():
        yield "real", gzip.decompress(real.read_bytes())


class Makers(unittest.TestCase):
    """Tests the generator, without the program."""

    DATA = b'{"a": [1], "traceEvents": [\n{"x": "]"}, {"y": [2]}\n], "b": []}'

    def test_spans_are_the_events(self):
        self.assertEqual([self.DATA[a:b] for a, b in damage.event_spans(self.DATA)], [b'{"x": "]"}', b'{"y": [2]}'])
        self.assertEqual(len(damage.event_spans(b'[{"x": 1}]')), 1)

    def test_cuts_promise_complete_events(self):
        promised = {len(data): least for _, data, least in damage.cuts(self.DATA)}
        end = self.DATA.index(b",", self.DATA.index(b'"x"'))
        self.assertEqual((promised[0], promised[end - 1], promised[end], promised[len(self.DATA) - 1]), (0, 0, 1, 2))

    def test_every_flip_changes_one_byte(self):
        for k, (_, data, _) in enumerate(damage.flips(self.DATA)):
            self.assertEqual([i for i, (a, b) in enumerate(zip(data, self.DATA)) if a != b], [k])

    def test_cuts_of_gzip_promise_no_more_than_the_whole(self):
        *_, (_, _, last) = damage.gzip_cuts(self.DATA)
        self.assertEqual(last, 2)


class Damage(support.ProgramTest):
    def check(self, maker):
        count = None if support.FULL else GATE[maker] // (8 if support.sanitized() else 1)
        for origin, data in small_traces():
            self.assertLessEqual(len(data), 6000, origin)
            total = len(damage.event_spans(data))
            self.assertEqual(self.report(self.write("whole.json", data))["inputs"][0]["events"], total)
            cases = damage.sample(damage.MAKERS[maker](data), count)
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                outcomes = pool.map(lambda case: self.run_on(*case[:2]), cases)
            for (name, damaged, least), outcome in zip(cases, outcomes):
                with self.subTest(f"{origin} {name}"):
                    # Damaged compression can repeat text. An event needs at least a brace, or a phase if its beginning
                    # is overwritten.
                    most = (
                        sum(max(1, piece.count(b'"ph"')) for piece in damage.unfolded(damaged).split(b"{"))
                        if maker == "gzip_flips"
                        else total
                    )
                    self.check_one(name, outcome, least, most)

    def run_on(self, name, damaged):
        path = self.write(name, damaged)
        outcome = support.headroom("report", "--json", path, seconds=10)
        path.unlink()
        return outcome

    def check_one(self, name, outcome, least, most):
        self.assertIn(outcome.code, (0, 3), outcome)
        if outcome.code == 3:
            self.assertEqual(outcome.out, b"", outcome)
            self.assertIn(name, outcome.message)
            self.assertFalse(least, f"{least} whole events, and refused: {outcome}")
            return
        report = outcome.json()
        self.assertEqual(support.violations(report), [], outcome)
        kept = report["inputs"][0]["events"]
        self.assertLessEqual(kept, most + 1)  # One half event may be reported as damaged.
        if least is not None:
            self.assertGreaterEqual(kept, least, f"events lost: {report['health']}")
        if least is not None and kept < most:
            self.assertTrue(report["health"]["issues"], "events are missing and health does not say so")

    def test_cuts(self):
        self.check("cuts")

    def test_gzip_cuts(self):
        self.check("gzip_cuts")

    def test_flips(self):
        self.check("flips")

    def test_gzip_flips(self):
        self.check("gzip_flips")

    def test_a_cut_trace_has_no_false_step(self):
        """Every step that is complete in a cut trace equals the step in the whole trace."""
        data = gzip.decompress((support.ROOT / "data/samples/resnet50_fp32_h200.json.gz").read_bytes())
        complete = self.report(self.write("whole.json", data))
        steps = {row["index"]: row for row in complete["steps"]["list"]}
        flops = complete["efficiency"]["flops_per_step"]
        whole = 0
        for pct in (40, 50, 55, 60, 70, 80, 85, 90, 95, 98, 99):
            with self.subTest(f"{pct} %"):
                cut = self.report(self.write("cut.json", data[: len(data) * pct // 100]))
                for row in cut["steps"]["list"]:
                    if not row["whole"]:
                        continue
                    whole += 1
                    for key in ("wall_ms", "gpu_busy_ms"):
                        self.assertAlmostEqual(row[key] / steps[row["index"]][key], 1, delta=0.01, msg=key)
                if cut["steps"]["p50_ms"] is None:
                    self.assertIsNone(cut["ceiling"])
                    self.assertIsNone(cut["efficiency"]["flops_per_step"])
                    self.assertIsNone(cut["efficiency"]["mfu_pct"])
                    self.assertEqual(cut["bottleneck"]["verdict"], "unknown")
                else:
                    self.assertAlmostEqual(cut["efficiency"]["flops_per_step"] / flops, 1, delta=0.01)
        self.assertGreater(whole, 4, "steps before the cut stand")

    def test_a_bare_array_whose_stream_is_cut_is_cut(self):
        """The file may lack its closing bracket, so only the compression shows the cut."""
        events = ",\n".join(
            '{"ph": "X", "cat": "cpu_op", "name": "op%d", "pid": 1, "tid": 1, "ts": %d, "dur": 5}' % (i, i * 10)
            for i in range(2000)
        )
        packed = gzip.compress(f"[{events}]".encode(), mtime=0)
        codes = [
            i["code"] for i in self.report(self.write("bare.json.gz", packed[: len(packed) // 2]))["health"]["issues"]
        ]
        self.assertIn("truncated", codes)
        self.assertIn("cut-compression", codes)
