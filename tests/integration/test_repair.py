"""Tests `headroom repair`: the copy is valid for any strict reader, has all rows that were read, and still reports the
losses.
"""
import gzip
import json

import damage
from integration import stores, support

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
GOLDEN = support.GOLDEN / "communication-exposed-and-hidden/trace.json"
MENDED = {
    "unclosed",
    "trailing-garbage",
    "repaired-event",
    "duplicate-event",
    "unmatched-end",
    "out-of-order",
    "nanosecond-stamps",
    "zero-time-events",
}


def event(name, ts, dur, **more):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, **more}


def members(issues):
    return {row["code"]: (row["count"], tuple(row["voids"])) for row in issues}


class Repair(support.ProgramTest):
    def repair(self, trace, name="clean.json.gz"):
        """Returns (path of the copy, output of the command)."""
        copy = self.scratch / name
        outcome = support.headroom("repair", trace, "-o", copy, "--json")
        self.assertEqual(outcome.code, 0, outcome)
        said = outcome.json()
        self.assertEqual(support.answer_violations(said), [], outcome)
        return copy, said

    def health(self, trace):
        return self.report(trace, "--no-local-state")["health"]

    def check(self, trace, name):
        """Tests damaged traces. The copy has the same rows, and the same health without the repaired damage. Repairing
        the copy changes nothing.
        """
        copy, said = self.repair(trace, name)
        want, got = self.health(trace), self.health(copy)
        left = {code: row for code, row in members(want["issues"]).items() if code not in MENDED}
        self.assertEqual(members(got["issues"]), left)
        self.assertEqual(set(members(said["mended"])), set(members(want["issues"])) & MENDED)
        self.assertLessEqual(set(members(said["remaining"])), set(left))
        self.assertEqual(stores.compare(trace, copy, self.scratch), [])
        again = self.repair(copy, "again-" + name)[1]
        self.assertEqual(again["mended"], [])
        self.assertEqual(members(again["remaining"]), members(said["remaining"]))
        return copy, said

    def test_each_kind_of_damage(self):
        good = [event("aten::mm", 10, 5), event("aten::relu", 20, 5)]
        text = [json.dumps(row) for row in good]

        def array(*rows):
            return ('{"traceEvents": [' + ",\n".join(rows) + "]}").encode()

        cases = {  # Damage: (bytes, repaired, remaining).
            "nothing": (array(*text), {}, {}),
            "unclosed": (array(*text)[:-1], {"unclosed"}, {}),
            "garbage behind": (array(*text) + b"\nlog line", {"trailing-garbage"}, {}),
            "quotes": (array(text[0], text[1].replace("relu", 're"l"u')), {"repaired-event"}, {}),
            "order": (array(*text[::-1]), {"out-of-order"}, {}),
            "twice": (
                array(*2 * [json.dumps(event("a", 1, 1, args={"External id": 7}))], *text),
                {"duplicate-event"},
                {},
            ),
            "end alone": (array(*text, json.dumps({"ph": "E", "pid": 1, "tid": 1, "ts": 40})), {"unmatched-end"}, {}),
            "cut": (array(*text)[:-30], {}, {"truncated"}),
            "no time": (array(*text, json.dumps(event("a", None, 1))), {}, {"bad-time"}),
            "negative": (array(*text, json.dumps(event("a", 50, -1))), {}, {"negative-duration"}),
            "no duration": (
                array(*text, '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 50}'),
                {},
                {"missing-duration"},
            ),
            "never ends": (
                array(*text, json.dumps({"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 40})),
                {},
                {"unfinished-span"},
            ),
            "lost": (array(*text, '{"ph": "X", "ts": }', json.dumps(event("a", 90, 1))), {}, {"lost-event"}),
            "no event": (array(*text, "5"), {}, {"not-an-event"}),
            "no name": (
                array(*text, '{"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 50, "dur": 1}'),
                {},
                {"missing-name"},
            ),
            "arguments": (
                array(*text, json.dumps(event("a", 50, 1, args={"Input Dims": [[8, 4]], "x": 1})).replace("8,", "8`")),
                {},
                {"bad-argument"},
            ),
            "NaN": (array(*text, json.dumps(event("a", 50, 1, args={"loss": float("nan")}))), {}, {"bad-argument"}),
        }
        for what, (data, mended, remaining) in cases.items():
            for ending in ("json", "json.gz", "pftrace"):
                with self.subTest(f"{what}, {ending}"):
                    copy, said = self.check(self.write("broken.json", data), "clean." + ending)
                    self.assertEqual(set(members(said["mended"])), set(mended))
                    self.assertEqual(set(members(said["remaining"])), set(remaining))
                    if ending == "json":
                        json.loads(copy.read_bytes())  # The strictest available reader.
                    if ending == "json.gz":
                        json.loads(gzip.decompress(copy.read_bytes()))

    def test_at_random(self):
        whole = GOLDEN.read_bytes()
        broken = 0
        for maker in ("cuts", "flips", "gzip_cuts"):
            for number, (_, data, _) in enumerate(
                damage.sample(damage.MAKERS[maker](whole), 200 if support.FULL else 12)
            ):
                trace = self.write("broken.json", data)
                if support.headroom("report", "--json", trace).code != 0:
                    continue
                broken += 1
                with self.subTest(f"{maker} {number}"):
                    self.check(trace, "clean." + ("json", "pftrace")[number % 2])
        self.assertGreater(broken, 15)

    def test_a_real_trace(self):
        data = gzip.decompress(SAMPLE.read_bytes())
        trace = self.write("broken.json", data[: len(data) * 3 // 4])
        copy, _ = self.check(trace, "clean.pftrace")
        want, got = (self.report(path, "--no-local-state") for path in (trace, copy))
        for key in ("steps", "gpu_time", "kernels", "operators", "layers", "bottleneck", "idle", "efficiency"):
            self.assertEqual(want.get(key), got.get(key), key)

    def test_other_copies_say_it_too(self):
        data = gzip.decompress(SAMPLE.read_bytes())
        trace = self.write("broken.json", data[: len(data) * 3 // 4])
        for name, arguments in {
            "part.json": ["slice", "--time", "0:50"],
            "copy.json": ["export", "--to", "chrome"],
            "copy.pftrace": ["export", "--to", "perfetto"],
        }.items():
            copy = self.scratch / name
            outcome = support.headroom(*arguments, trace, "-o", copy)
            self.assertEqual(outcome.code, 0, outcome)
            self.assertIn("truncated", members(self.health(copy)["issues"]), name)

    def test_a_copy_claims_no_nonsense(self):
        trace = self.write(
            "hostile.json",
            json.dumps(
                {
                    "headroom_damage": {
                        "truncated": -5,
                        "lost-event": "many",
                        "no-gpu": 1e300,
                        "x": 1,
                        "bad-time": 2**63,
                        "oversized-event": 2,
                    },
                    "traceEvents": [event("a", 1, 1)],
                }
            ),
        )
        codes = members(self.health(trace)["issues"])
        self.assertEqual(codes["oversized-event"][0], 2)
        self.assertEqual({"truncated", "lost-event", "bad-time", "x"} & set(codes), set())

    def test_the_list(self):
        data = GOLDEN.read_bytes()
        outcome = support.headroom(
            "repair", self.write("broken.json", data[:-60] + b"\x01"), "-o", self.scratch / "c.json"
        )
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("Not repairable; the copy has this damage, too", outcome.text)
        self.assertRegex(
            outcome.text,
            r"1 x truncated: the file ends in the middle.*\n +at byte [0-9,]+: the event list is not closed\n +"
            r"unreliable: steps after the cut, totals",
        )
        self.assertIn("Nothing to repair.", support.headroom("repair", GOLDEN, "-o", self.scratch / "c.json").text)
        self.assertEqual(support.headroom("repair", GOLDEN, "-q", "-o", self.scratch / "c.json").text, "")

    def test_what_is_refused(self):
        out = self.scratch / "x.json"
        trace = self.write("own.json", GOLDEN.read_bytes())
        self.assert_refused(support.headroom("repair", trace, "-o", trace), 2, "name another")
        self.assertEqual(trace.read_bytes(), GOLDEN.read_bytes())
        self.assert_refused(support.headroom("repair", trace, "-o", "-"), 2, "-o -")
        self.assert_refused(support.headroom("repair", trace), 2, "--output")
        self.assert_refused(support.headroom("repair", trace, "-q", "--json", "-o", out), 2, "--quiet")
        self.assert_refused(support.headroom("repair", self.write("text.json", b"hello"), "-o", out), 3, "text.json")
        self.assertFalse(out.exists())

    @support.NEEDS_FULL_DEVICE
    def test_a_full_disk(self):
        trace = self.write("own.json", GOLDEN.read_bytes())
        self.assert_refused(support.headroom("repair", trace, "-o", support.FULL_DEVICE), 4, support.FULL_DEVICE)
