"""Tests `headroom report --html`, the page as one file. ui/e2e/offline.test.ts tests it in a browser."""
import html.parser
import json
import os

from integration import support

TRACE = support.GOLDEN / "host-bound-two-steps/trace.json"
HOSTILE = support.GOLDEN / "hostile-names-text/trace.json"
LOCAL = "--no-local-state"


class Elements(html.parser.HTMLParser):
    """Returns names, attributes and texts of all elements, in order."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        if self.found:
            self.found[-1][2] += data


class Html(support.ProgramTest):
    def page(self, trace, *args):
        path = self.scratch / "page.html"
        outcome = support.headroom("report", trace, "--html", path, LOCAL, *args)
        self.assertEqual((outcome.code, outcome.out), (0, b""), outcome)
        return path.read_text()

    def answers(self, text):
        return json.loads(
            next(body for tag, attributes, body in Elements(text).found if attributes.get("id") == "answers")
        )

    def test_it_holds_the_answers_of_the_command_line(self):
        answers = self.answers(self.page(TRACE))
        self.assertEqual(answers["report"], support.headroom("report", TRACE, "--json", LOCAL).json())
        self.assertEqual(answers["whatif"], support.headroom("whatif", TRACE, "--json", LOCAL).json())
        self.assertEqual(support.answer_violations(answers["scenarios"]), [])

    def test_flags_of_the_report_count(self):
        for flags in (("--steps", "1:1"), ("--top", 1), ("--rank", 3), ("--measured-step-ms", 2.5)):
            with self.subTest(flags):
                self.assertEqual(
                    self.answers(self.page(TRACE, *flags))["report"],
                    support.headroom("report", TRACE, "--json", LOCAL, *flags).json(),
                )

    def test_it_needs_nothing_beside_it(self):
        text = self.page(TRACE)
        for tag, attributes, _ in Elements(text).found:
            for name in ("src", "href"):
                self.assertRegex(attributes.get(name, "data:"), "^data:", f"{tag} {name}")
        self.assertLess(len(text), 3_000_000)

    def test_hostile_names_add_no_element(self):
        calm, hostile = (Elements(self.page(trace)).found for trace in (TRACE, HOSTILE))
        self.assertEqual(
            [(tag, sorted(attributes)) for tag, attributes, _ in hostile],
            [(tag, sorted(attributes)) for tag, attributes, _ in calm],
        )

    def test_what_cannot_be(self):
        path = self.scratch / "page.html"
        for other in (("--json",), ("--md",), ("--csv", self.scratch), ("-o", "x"), ("--only", "kernels")):
            with self.subTest(other):
                self.assert_refused(support.headroom("report", TRACE, "--html", path, *other), 2, "--html")
        self.assert_refused(support.headroom("report", self.write("no.json", "{}"), "--html", path), 3, "no.json")
        self.assertFalse(path.exists())
        self.assert_refused(support.headroom("report", TRACE, "--html", self.scratch / "no/page.html"), 4, "page.html")
        trace = self.write("trace.json", TRACE.read_bytes())
        os.link(trace, self.scratch / "same.json")
        self.assert_refused(support.headroom("report", trace, "--html", self.scratch / "same.json"), 2, "trace")
        self.assertEqual(trace.read_bytes(), TRACE.read_bytes())
        self.assertEqual(sorted(one.name for one in self.scratch.iterdir()), ["no.json", "same.json", "trace.json"])

    def test_several_ranks(self):
        traces = [support.ROOT / f"tests/golden/two-ranks-with-steps/rank{rank}.json" for rank in (0, 1)]
        path = self.scratch / "page.html"
        support.headroom("report", *traces, "--html", path, LOCAL)
        answers = self.answers(path.read_text())
        joined = support.headroom("report", *traces, "--json", "--top", "200", LOCAL).json()
        self.assertEqual(answers["report"], joined)
        ranks = [row["rank"] for row in joined["inputs"]]
        for rank in ranks:
            one = support.headroom("report", *traces, "--rank", str(rank), "--json", LOCAL).json()
            self.assertEqual(answers[f"report?rank={rank}"], one | {"job_ranks": None})
        # `--rank` chooses the rank with all answers.
        for chosen, other in (ranks, ranks[::-1]):
            support.headroom("report", *traces, "--html", path, "--rank", str(chosen), LOCAL)
            answers = self.answers(path.read_text())
            self.assertIn(f"timeline?rank={other}", answers)
            self.assertNotIn(f"timeline?rank={chosen}", answers)
        self.assert_refused(support.headroom("report", *traces, "--html", path, "--rank", "7"), 2, "rank 7")

    def test_to_stdout(self):
        outcome = support.headroom("report", TRACE, "--html", "-", LOCAL)
        self.assertTrue(outcome.text.startswith("<!doctype html>"), outcome)
