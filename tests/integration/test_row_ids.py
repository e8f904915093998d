"""Tests ids of rows, `report --show`, and `report --md --max-bytes`."""
import json
import re
import shlex
import unittest

import jsonschema

from integration import support
from integration.test_mcp import a_trace

HOSTILE = "a|b`<i>\u202e\x1b[31m\n@someone #1 "


class RowIds(support.ProgramTest):
    def ids(self, trace):
        return {row["name"]: row["id"] for row in self.report(trace)["kernels"]}

    def test_an_id_is_of_kind_and_name_alone(self):
        few, many = self.ids(self.write("few.json", a_trace(3))), self.ids(self.write("many.json", a_trace(50)))
        self.assertEqual(few, {name: many[name] for name in few})
        self.assertEqual(len(set(many.values())), 50)
        # Computes the hash from its definition in the docs: FNV-1a over kind, zero and name.
        value = 0xCBF29CE484222325
        for byte in b"kernel\0k0":
            value = (value ^ byte) * 0x100000001B3 % 2**64
        self.assertEqual(few["k0"], f"k-{value % 2**40:010x}")

    def test_every_row_is_shown_as_it_is_in_the_report(self):
        trace = support.GOLDEN / "layers-with-backward/trace.json"
        report = self.report(trace)
        schema = json.loads((support.ROOT / "docs/schema/row-1.json").read_text())
        rows = [
            (kind, row["id"], row)
            for kind, key in (
                ("kernel", "kernels"),
                ("operator", "operators"),
                ("layer", "layers"),
                ("finding", "findings"),
            )
            for row in report[key]
        ]
        rows += [("step", f"step-{row['index']}", row) for row in report["steps"]["list"]]
        self.assertGreaterEqual({kind for kind, *_ in rows}, {"kernel", "operator", "layer", "step", "finding"})
        for kind, number, row in rows:
            with self.subTest(kind=kind, id=number):
                shown = support.headroom("report", trace, "--show", number, "--json").json()
                jsonschema.validate(shown, schema)
                self.assertEqual((shown["kind"], shown["id"], shown["rows"]), (kind, number, [row]))
                for flags in ((), ("--md",)):
                    self.assertIn(
                        number, support.headroom("report", trace, "--show", number, *flags).text.replace("\\", "")
                    )

    def test_single_calls(self):
        trace = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
        report = self.report(trace)
        schema = json.loads((support.ROOT / "docs/schema/row-1.json").read_text())
        for kind, table in (("kernels", "gpu_tasks"), ("operators", "host_events")):
            row = report[kind][0]
            shown = support.headroom("report", trace, "--show", row["id"], "--json").json()
            jsonschema.validate(shown, schema)
            (calls,) = shown["calls"]
            self.assertEqual(
                {key: calls[key] for key in ("count", "min_us", "p50_us", "max_us")},
                {key: row[key] for key in ("count", "min_us", "p50_us", "max_us")},
            )
            times = [call["us"] for call in calls["slowest"]]
            self.assertEqual(times, sorted(times, reverse=True))
            self.assertEqual(len(times), min(10, row["count"]))
            # SQL's result for the same rows.
            ids = ", ".join(str(call["id"]) for call in calls["slowest"])
            rows = support.headroom(
                "query", trace, f"SELECT id, name, duration_ns, start_ns FROM {table} WHERE id IN ({ids})", "--json"
            ).json()["rows"]
            found = {id: (name, duration, start) for id, name, duration, start in rows}
            first = calls["slowest"][0]
            for call in calls["slowest"]:
                name, duration, start = found[call["id"]]
                self.assertEqual(name, row["name"])
                self.assertEqual(duration, round(1e3 * (call["us"] if kind == "kernels" else call["host_us"])))
                self.assertEqual(start - found[first["id"]][2], round(1e6 * (call["start_ms"] - first["start_ms"])))
            steps = {step["index"] for step in report["steps"]["list"]} | {None}
            self.assertLessEqual({call["step"] for call in calls["slowest"]}, steps)
        # The command in the text works unchanged.
        text = support.headroom("report", trace, "--show", report["kernels"][0]["id"]).text
        command = re.search(r"^ +look them up +headroom (.*)$", text, re.MULTILINE)[1]
        found = support.headroom(*shlex.split(command), "--json").json()
        self.assertEqual(len(found["rows"]), min(10, report["kernels"][0]["count"]))
        step = support.headroom(
            "report", trace, "--show", f"step-{report['steps']['list'][0]['index']}", "--json"
        ).json()
        self.assertEqual(step["calls"], [])

    def test_hostile_names_do_not_act(self):
        trace = self.write("t.json", a_trace(2, HOSTILE))
        for number in self.ids(trace).values():
            self.assert_printable(support.headroom("report", trace, "--show", number).text, "text")
            self.assert_whole_tables(support.headroom("report", trace, "--show", number, "--md").text, "Markdown")

    def test_what_is_wrong_is_said(self):
        trace = self.write("t.json", a_trace())
        self.assert_refused(support.headroom("report", trace, "--show", "k-0000000000"), 2, "k-0000000000", "--json")
        self.assert_refused(support.headroom("report", trace, "--show", "x", "--only", "steps"), 2, "--only")
        self.assert_refused(support.headroom("report", trace, "--max-bytes", "5000"), 2, "--md")
        self.assert_refused(support.headroom("report", trace, "--md", "--max-bytes", "5"), 2, "1000")


class MarkdownFits(support.ProgramTest):
    def test_it_is_never_longer(self):
        trace = self.write("t.json", a_trace(300, "kernel_of_a_long_name_" * 40 + HOSTILE))
        for most in (1000, 1500, 2000, 3000, 5000, 20000):
            with self.subTest(most):
                outcome = support.headroom("report", trace, "--md", "--top", 300, "--max-bytes", most)
                self.assertEqual(outcome.code, 0, outcome)
                self.assertLessEqual(len(outcome.out), most)
                self.assert_whole_tables(outcome.text, most)
        self.assertLessEqual(len(support.headroom("report", trace, "--md", "--top", 300).out), 20000)

    def test_what_is_left_out_has_its_command(self):
        trace = self.write("t.json", a_trace(30))
        text = support.headroom("report", trace, "--md").text
        more, command = re.search(r"^(\d+) more: `headroom (.*)`$", text, re.MULTILINE).groups()
        self.assertEqual(more, "25")
        rest = support.headroom(*command.split()).text
        self.assertTrue(all(f"k{i}" in rest for i in range(30)))


if __name__ == "__main__":
    unittest.main()
