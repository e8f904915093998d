"""Tests `headroom query`: answers, forms, limits, and the documents that show them."""
import csv
import io
import json
import re
import subprocess
import time

from integration import support

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
PAGE = support.ROOT / "docs/query.md"
EXAMPLE = re.compile(r"^### ([^\n]+)\n\n`([^`\n]+)`\n\n```sql\n(.*?)\n```\n\n```\n(.*?)```$", re.MULTILINE | re.DOTALL)
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


class Query(support.ProgramTest):
    def ask(self, *arguments, **kwargs):
        outcome = support.headroom("query", SAMPLE, *arguments, **kwargs)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome

    def test_agrees_with_the_report(self):
        steps = self.report(SAMPLE)["steps"]["list"]
        rows = self.ask("select number, wall_ns, gpu_busy_ns from step_times order by number", "--json").json()["rows"]
        self.assertEqual([r[0] for r in rows], [s["index"] for s in steps])
        for (_, wall, busy), step in zip(rows, steps):
            self.assertAlmostEqual(wall / 1e6, step["wall_ms"], places=6)
            self.assertAlmostEqual(busy / 1e6, step["gpu_busy_ms"], places=6)

    def test_forms_hold_the_same(self):
        sql = "select name, duration_ns, duration_ns / 7.0 as part, copy from gpu_tasks order by id limit 40"
        answer = self.ask(sql, "--json").json()
        self.assertEqual(support.answer_violations(answer), [])
        self.assertEqual(
            (answer["schema"], answer["cut"], answer["columns"]),
            ("headroom.query/1", False, ["name", "duration_ns", "part", "copy"]),
        )
        self.assertEqual(answer["sql"], sql)
        rows = list(csv.reader(io.StringIO(self.ask(sql, "--csv").text, newline="")))
        self.assertEqual(rows[1:], [[name, str(ns), repr(part), copy or ""] for name, ns, part, copy in answer["rows"]])
        table = self.ask(sql).text
        self.assertEqual(len(table.splitlines()), 42)
        self.assert_printable(table, sql)

    def test_more_rows_than_are_shown(self):
        outcome = self.ask("select id from host_events")
        self.assertEqual(len(outcome.text.splitlines()), 1002)
        self.assertIn("the first 1000 rows", outcome.message)
        rows = support.headroom("query", SAMPLE, "select count(*) from host_events", "--csv").text.split()[1]
        for mode, lines in (("csv", int(rows) + 1), ("table", 1002)):
            self.assertEqual(len(self.ask(f".mode {mode}\nselect id from host_events").text.splitlines()), lines, mode)
        self.assertEqual(len(self.ask("select id from host_events limit 1000").text.splitlines()), 1002)
        self.assertNotIn("first", self.ask("select id from host_events limit 1000").message)
        self.assertGreater(len(self.ask("select id from host_events", "--csv").text.splitlines()), 1001)
        self.assertNotIn("--csv", self.ask("select id from host_events", "--csv", "--max-rows", 3).message)
        cut = self.ask("select id from host_events", "--json", "--max-rows", 3).json()
        self.assertEqual((cut["rows"], cut["cut"]), ([[0], [1], [2]], True))

    def test_hostile_text_is_escaped(self):
        text = self.ask("select 'a' || char(10, 27, 8238) || 'b' as \"x\ny\", '=1+1' as f").text
        self.assert_printable(text, "table")
        self.assertIn(r"\x1b", text)
        self.assertIn("'=1+1", self.ask("select '=1+1'", "--csv").text)

    def test_wrong_statements_are_refused(self):
        for sql, *said in (
            ("select dur from kernels", "no such column", "duration_ns", "column 8"),
            ("selct 1", "line 1"),
            ("delete from steps", "read-only"),
            ("attach 'x' as y", "read-only"),
            ("", "missing statement"),
            (".nosuch", ".help"),
            (".schema nosuch", ".tables"),
            (".tables steps", ".schema steps"),
            ("select 1;\nselect 2; select nosuch", "line 2, column 18"),
            ("-- a\n\nselect nosuch", "line 3, column 8"),
        ):
            self.assert_refused(support.headroom("query", SAMPLE, sql), 2, *said)
        for sql in ("delete from kernels", "insert into kernels (id) values (1)", "update gpu_tasks set name = ''"):
            self.assert_refused(support.headroom("query", SAMPLE, sql), 2, "queries are read-only")
        self.assert_refused(
            support.headroom("query", SAMPLE, "select 1; select 2", "--json"), 2, "one statement", ".mode json"
        )
        self.assert_refused(support.headroom("query", SAMPLE, "select 1; select nosuch"), 2, "nosuch")
        self.assert_refused(support.headroom("query", self.write("x.json", "no trace"), "select 1"), 3)
        self.assert_refused(support.headroom("query"), 2, "TRACE")

    def test_tables_and_columns_in_every_form(self):
        tables = self.ask(".tables", "--json").json()
        self.assertEqual(tables["columns"], ["name", "type", "rows", "about"])
        names = {row[0]: row[1:3] for row in tables["rows"]}
        self.assertEqual(
            (names["steps"], names["kernels"]),
            (["table", self.ask("select count(*) from steps", "--json").json()["rows"][0][0]], ["view", None]),
        )
        columns = self.ask(".schema HOST_EVENTS", "--json").json()["rows"]
        of_table = self.ask("select * from host_events limit 0", "--json").json()["columns"]
        self.assertEqual([row[:2] for row in columns], [["host_events", column] for column in of_table])
        self.assertEqual(
            self.ask(".schema kernels", "--csv").text.split("\r\n")[0], "table,column,type,unit,nullable,about,sql"
        )
        # A view has a separate row, then its columns, like a table.
        view, *columns = self.ask(".schema kernels", "--json").json()["rows"]
        self.assertEqual((view[:3], view[6][:6]), (["kernels", None, "view"], "SELECT"))
        self.assertEqual(
            [row[1] for row in columns], self.ask("select * from kernels limit 0", "--json").json()["columns"]
        )
        self.assertIn(["kernels", "launch_to_start_ns", "integer", "ns", 1], [row[:5] for row in columns])
        self.assertIn(["kernels", "device", "integer", None, 0], [row[:5] for row in columns])
        text = self.ask(".schema kernels").text
        self.assertRegex(text, r"(?m)^  duration_ns +integer  Length; ")
        self.assertIn("SELECT t.id", text)
        self.assertEqual(self.ask(".schema Host_Events").text, self.ask(".schema host_events").text)

    def test_a_script_that_sets_the_form_may_have_several_results(self):
        script = ".mode json\nselect 1 as a;\nselect 2 as b;\n"
        for arguments in ((), ("--json",), ("--csv",)):  # The script's own output comes last.
            text = self.ask(script, *arguments).text
            first, second = (json.loads(part) for part in text.split("\n\n"))
            self.assertEqual(
                [(one["schema"], one["sql"].rstrip(";"), one["rows"]) for one in (first, second)],
                [("headroom.query/1", "select 1 as a", [[1]]), ("headroom.query/1", "select 2 as b", [[2]])],
            )
        self.assertEqual(self.ask(".mode csv\nselect 1 as a; select 2 as b").text, "a\r\n1\r\n\nb\r\n2\r\n")

    def test_a_name_that_says_another_form_is_remarked_on(self):
        sql = "select 1"
        for name, flags, remark in (
            ("q.csv", (), "q.csv holds a plain-text table; --csv writes the format of that name"),
            ("q.json", ("--csv",), "--json writes"),
            ("q.csv", ("--csv",), ""),
            ("q.txt", (), ""),
            ("q.csv", ("-q",), ""),
        ):
            outcome = self.ask(sql, "-o", self.scratch / name, *flags)
            with self.subTest(name=name, flags=flags):
                self.assertIn(remark, outcome.message)
                self.assertEqual(bool(remark), bool(outcome.message))

    def test_limits(self):
        self.assert_refused(support.headroom("query", SAMPLE, ENDLESS, "--timeout-s", 1), 4, "--timeout-s")
        self.assert_refused(
            support.headroom(
                "query",
                SAMPLE,
                "select a.id, b.args from host_events a, host_events b order by b.args, a.id",
                "--memory-mb",
                8,
            ),
            4,
            "--memory-mb",
        )
        self.assert_refused(
            support.headroom(
                "query", SAMPLE, "select a.name, b.name from host_events a, host_events b", "--csv", "--memory-mb", 8
            ),
            4,
            "--memory-mb",
        )

    def test_the_limit_of_time_holds_within_a_function(self):
        """SQLite does not check the time within a call of instr, whose time grows with the square of the texts'
        lengths."""
        path = self.scratch / "out.csv"
        begin = time.monotonic()
        outcome = support.headroom(
            "query",
            SAMPLE,
            "select instr(printf('%.100000000c', 'a'), printf('%.50000000c', 'a') || 'b')",
            "--timeout-s",
            1,
            "--csv",
            "-o",
            path,
        )
        self.assert_refused(outcome, 4, "--timeout-s")
        self.assertLess(time.monotonic() - begin, 60)
        self.assertFalse(path.exists())

    def test_hostile_statements(self):
        for sql, code in (
            ("select zeroblob(1000000000)", 2),
            ("select printf('%.*c', 300000000, 'x')", 0),  # Beyond SQLite's limit for texts; 1 s per billion.
            ("select hex(zeroblob(200000000))", 2),
            ("select randomblob(-1)", 0),
            ("pragma journal_mode = wal", 2),
            ("pragma writable_schema = on", 2),
            ("pragma table_info(steps)", 2),
            ("select load_extension('x.so')", 2),
            ("attach ':memory:' as x", 2),
            ("vacuum into '/tmp/x'", 2),
            ("create table x (y)", 2),
            ("create temp view x as select 1", 2),
            ("insert into steps (id) values (1)", 2),
            ("update steps set number = 1", 2),
            ("begin", 2),
            ("savepoint x", 2),
            ("reindex", 2),
            ("analyze", 2),
            ("select readfile('/etc/passwd')", 2),
            ("select writefile('x', 'y')", 2),
            ("select fts3_tokenizer('simple')", 2),
            ("select * from pragma_table_info('steps')", 2),
            ("select * from dbstat", 2),
            ("select 'a' regexp 'b'", 2),
            ("select 'a' like '" + "%a" * 600 + "'", 2),
            ("select " + "(" * 2000 + "1" + ")" * 2000, 2),
            ("select 1" + " union all select 1" * 600, 2),
            ("select :x", 2),
            ("explain select * from steps", 0),
            ("select * from json_each('[1,')", 2),
            ("select * from sqlite_master limit 1", 0),
            ("select 1 where 1 = json_each('[')", 2),
            ("select count(*) from generate_series(1, 1e12)", 2),
        ):
            with self.subTest(sql[:60]):
                outcome = support.headroom("query", SAMPLE, sql, "--timeout-s", 20, cwd=self.scratch)
                self.assertEqual(outcome.code, code, f"{sql[:80]}: {outcome}")
                self.assertEqual(list(self.scratch.iterdir()), [])

    def test_json_is_taken_apart(self):
        self.assertEqual(self.ask("select value from json_each('[1, 2]')", "--json").json()["rows"], [[1], [2]])
        self.assertEqual(self.ask("select count(*) from json_tree('{\"a\": [1, 2]}')", "--json").json()["rows"], [[4]])

    def test_a_file_is_whole_or_not_there(self):
        path = self.scratch / "out.csv"
        self.assert_refused(support.headroom("query", SAMPLE, ENDLESS, "--timeout-s", 1, "-o", path), 4)
        self.assertFalse(path.exists())
        self.assertEqual(self.ask("select 1 as a", "--csv", "-o", path).out, b"")
        self.assertEqual(path.read_bytes(), b"a\r\n1\r\n")
        self.assert_refused(support.headroom("query", SAMPLE, "select 1", "-o", SAMPLE), 2, "an input trace")

    def test_statements_of_stdin(self):
        done = subprocess.run(
            [support.BINARY, "query", SAMPLE],
            input=b".mode table\nselect 1 as a,\n  2 as b;\n-- more\nselect 3 as c;\n",
            capture_output=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stdout), (0, b"a  b\n-  -\n1  2\n\nc\n-\n3\n"))


class Documents(support.ProgramTest):
    def test_the_questions_are_answered_as_shown(self):
        examples = EXAMPLE.findall(PAGE.read_text())
        self.assertEqual(len(examples), len(re.findall("^### ", PAGE.read_text(), re.MULTILINE)))
        self.assertGreaterEqual(len(examples), 20)
        for title, trace, sql, shown in examples:
            with self.subTest(title):
                outcome = support.headroom("query", trace, sql, cwd=support.ROOT, environment={"LC_ALL": "C.UTF-8"})
                self.assertEqual(outcome.code, 0, outcome)
                self.assertEqual(outcome.text, shown)

    def test_the_reference_is_the_programs(self):
        self.assertEqual(support.headroom("query", "--reference").text, (support.ROOT / "docs/tables.md").read_text())
