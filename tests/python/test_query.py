"""Tests SQL from Python: the answers of `headroom query`, its errors as exceptions, limits, and interruption."""
import concurrent.futures
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

import numpy as np

import headroom
import support

EXAMPLE = re.compile(r"^### ([^\n]+)\n\n`([^`\n]+)`\n\n```sql\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


def of_the_program(trace, statement):
    done = subprocess.run([support.BINARY, "query", trace, statement, "--json", "-q"], capture_output=True, check=True)
    return json.loads(done.stdout)


class Answers(unittest.TestCase):
    def test_the_questions_of_the_manual(self):
        traces = {}
        examples = EXAMPLE.findall((support.ROOT / "docs/query.md").read_text())
        self.assertGreater(len(examples), 15)
        for title, path, statement in examples:
            with self.subTest(title):
                trace = traces.setdefault(path, headroom.load(support.ROOT / path))
                answer, result = of_the_program(support.ROOT / path, statement), trace.query(statement)
                self.assertEqual(list(result.columns), answer["columns"])
                self.assertEqual([list(row) for row in result], answer["rows"])
                self.assertEqual(len(result), len(answer["rows"]))


class Results(unittest.TestCase):
    trace: "headroom.Trace"

    @classmethod
    def setUpClass(cls):
        cls.trace = headroom.load(support.RESNET)

    def column(self, *values):
        return self.trace.query(f"select column1 as c from (values {', '.join(f'({v})' for v in values)})")["c"]

    def test_columns_by_what_is_in_them(self):
        for values, dtype, expected in (
            ((1, -9223372036854775808, 9223372036854775807), "int64", [1, -(2**63), 2**63 - 1]),
            ((1, "null", 3), "int64", [1, None, 3]),
            ((1.5, 2, -0.25), "float64", [1.5, 2.0, -0.25]),
            ((1.5, "null"), "float64", [1.5, None]),
            ((1.5, 2**53 + 1), "O", [1.5, 2**53 + 1]),
            (("'a'", "null", "'a'"), "O", ["a", None, "a"]),
            (("'a'", 1, 2.5), "O", ["a", 1, 2.5]),
            (("x'00ff'", "''"), "O", [b"\x00\xff", ""]),
            (("null", "null"), "O", [None, None]),
        ):
            with self.subTest(values):
                column = self.column(*values)
                self.assertEqual((column.dtype, column.tolist()), (np.dtype(dtype), expected))
                self.assertFalse(column.flags.writeable)
        same = self.column("'ab'", "'ab'")
        self.assertIs(same[0], same[1])
        self.assertEqual((self.column(1, "null", 3) > 0).tolist(), [True, False, True])

    def test_rows(self):
        result = self.trace.query(
            "select id, duration_ns / 2.0 as half, copy from gpu_tasks where copy is not null order by id"
        )
        rows = list(result)
        self.assertEqual((result[0], result[-1], result[1:3]), (rows[0], rows[-1], rows[1:3]))
        self.assertEqual([type(value) for value in rows[0]], [int, float, str])
        self.assertEqual(result["id"].tolist(), [row[0] for row in rows])
        for outside in (len(result), -len(result) - 1):
            with self.assertRaises(IndexError):
                result[outside]
        with self.assertRaisesRegex(KeyError, "half"):
            result["nosuch"]
        twice = self.trace.query("select 1 as a, 2 as a")
        self.assertEqual((twice[0], twice.columns), ((1, 2), ("a", "a")))
        with self.assertRaisesRegex(KeyError, "2 columns"):
            twice["a"]
        self.assertEqual(repr(twice), "<headroom.QueryResult: 1 row of 'a', 'a'>")
        nothing = self.trace.query("select id, name from gpu_tasks where id < 0")
        self.assertEqual((len(nothing), list(nothing), nothing["id"].tolist()), (0, [], []))

    def test_more_rows_than_are_made_objects_at_a_time(self):
        result = self.trace.query(
            "select a.id, b.id as other from host_events a, (select id from gpu_tasks limit 10) b where a.id < 10000"
        )
        self.assertEqual(sum(1 for _ in result), len(result))
        self.assertEqual(len(result), 100_000)
        self.assertEqual(list(result)[70_000], result[70_000])

    def test_a_comment_behind_is_no_statement(self):
        self.assertEqual(list(self.trace.query(" /* first */ select 1; -- done")), [(1,)])
        self.assertEqual(
            list(self.trace.query("explain query plan select 1").columns), ["id", "parent", "notused", "detail"]
        )

    def test_hostile_text(self):
        self.assertEqual(
            self.trace.query("select 'a' || char(10, 27, 8238) || 'b' as \"x\ny\"")[0], ("a\n\x1b\u202eb",)
        )
        self.assertTrue(repr(self.trace.query('select 1 as "x\ny\x1b"')).isprintable())

    def test_what_is_no_utf8(self):
        self.assertEqual(self.trace.query("select cast(x'61ff62' as text)")[0], ("a\ufffdb",))


class Frames(unittest.TestCase):
    def test_to_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        trace = headroom.load(support.RESNET)
        frame = trace.query(
            "select id, bytes, bytes / 2.0 as half, name, 1 as id from gpu_tasks where id < 3000"
        ).to_pandas()
        self.assertEqual([str(t) for t in frame.dtypes], ["int64", "Int64", "float64", "object", "int64"])
        self.assertEqual(list(frame), ["id", "bytes", "half", "name", "id"])
        self.assertEqual(frame["bytes"].notna().sum(), frame["half"].notna().sum())
        self.assertEqual(len(trace.query("select 1 as a where 0").to_pandas()), 0)
        frame.iloc[0, 1] = 5  # The DataFrame owns its data.
        self.assertIsInstance(frame, pandas.DataFrame)


class Refusals(unittest.TestCase):
    trace: "headroom.Trace"

    @classmethod
    def setUpClass(cls):
        cls.trace = headroom.load(support.RESNET)

    def test_wrong_statements(self):
        for statement, *said in (
            ("select dur from kernels", "no such column", "duration_ns", "line 1, column 8"),
            ("select 1,\n  selct", "line 2, column 3"),
            ("delete from steps", "read-only"),
            ("attach 'x' as y", "read-only"),
            ("pragma user_version", "read-only"),
            ("", "no statement"),
            ("-- nothing", "no statement"),
            ("select 1; select 2", "one statement"),
            ("select ?", "parameter"),
            (".tables", "syntax error"),
            ("select 'a\0b'", "zero byte"),
            ("select load_extension('x')", "not authorized"),
        ):
            with self.subTest(statement):
                with self.assertRaises(ValueError) as caught:
                    self.trace.query(statement)
                for words in said:
                    self.assertIn(words, str(caught.exception))

    def test_limits(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, r"0\.2 s.*timeout_s=N"):
            self.trace.query(ENDLESS, timeout_s=0.2)
        self.assertLess(time.monotonic() - begin, 5)
        with self.assertRaisesRegex(RuntimeError, "8 MB of memory.*memory_mb=N"):
            self.trace.query("select a.id, b.args from host_events a, host_events b order by b.args, a.id", memory_mb=8)
        with self.assertRaisesRegex(RuntimeError, "larger than 8 MB.*memory_mb=N"):
            self.trace.query("select a.name, b.name from host_events a, host_events b", memory_mb=8)
        self.assertEqual(self.trace.query("select 1", timeout_s=0, memory_mb=0)[0], (1,))
        of_wrong_size: tuple[dict, ...] = ({"timeout_s": -1}, {"timeout_s": float("nan")}, {"memory_mb": -1})
        for wrong in of_wrong_size:
            with self.assertRaises(ValueError):
                self.trace.query("select 1", **wrong)
        of_wrong_type: tuple[dict, ...] = ({"timeout_s": "1"}, {"memory_mb": 1.5})
        for wrong in of_wrong_type:
            with self.assertRaises(TypeError):
                self.trace.query("select 1", **wrong)


class Interrupts(unittest.TestCase):
    trace: "headroom.Trace"

    @classmethod
    def setUpClass(cls):
        cls.trace = headroom.load(support.RESNET)

    def test_ctrl_c_ends_it(self):
        for _ in range(3):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                self.trace.query(ENDLESS, timeout_s=60)
            self.assertLess(time.monotonic() - begin, 10)
            timer.join()
            self.assertEqual(self.trace.query("select 1")[0], (1,))  # Only the first query was interrupted.

    def test_a_handler_that_raises_nothing_ends_nothing(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        try:
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            with self.assertRaises(RuntimeError):
                self.trace.query(ENDLESS, timeout_s=0.6)
            timer.join()
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(seen, [1])

    def test_the_interpreter_is_left_to_others(self):
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(1)

        thread = threading.Thread(target=tick)
        thread.start()
        with self.assertRaises(RuntimeError):
            self.trace.query(ENDLESS, timeout_s=0.5)
        stop.set()
        thread.join()
        self.assertGreater(len(ticks), 10)


class Threads(unittest.TestCase):
    def test_many_ask_one_trace(self):
        """The first query computes the attribution, and joins make the indexes: once, for any order of threads."""
        statements = [
            "select phase, count(*) from gpu_attribution group by phase order by 1",
            "select count(*) from gpu_tasks t join host_events e on e.id = t.launch_id where e.name like 'cuda%'",
            "select operator, sum(duration_ns) from kernels group by operator order by 1",
            "select number, wall_ns from step_times",
            "select count(*) from gpu_gaps",
        ] * 4
        alone = [list(headroom.load(support.RESNET).query(statement)) for statement in statements[:5]] * 4
        trace = headroom.load(support.RESNET)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = pool.map(trace.query, statements)
            lengths = pool.map(
                lambda _: (len(trace.tables.step_times), len(trace.tables.gpu_attribution.phase)), range(8)
            )
            self.assertEqual([list(result) for result in results], alone)
            self.assertEqual(len(set(lengths)), 1)

    def test_the_first_to_end_does_not_lift_the_bound_of_others(self):
        trace = headroom.load(support.RESNET)
        sort = (
            "select count(*) from (select a.id, b.args from host_events a, host_events b "
            "order by b.args, a.id limit 100000000)"
        )
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            large = pool.submit(trace.query, sort, memory_mb=200)
            for _ in range(20):
                trace.query("select 1", memory_mb=16)
            with self.assertRaisesRegex(RuntimeError, "200 MB of memory"):
                large.result()

    def test_other_users_of_sqlite_are_free_again(self):
        with self.assertRaises(RuntimeError):
            headroom.load(support.RESNET).query(
                "select a.args from host_events a, host_events b order by 1, b.id", memory_mb=8
            )
        other = sqlite3.connect(":memory:")
        other.execute("create table t as select randomblob(64000000) as b")
        self.assertEqual(other.execute("select length(b) from t").fetchone(), (64000000,))


if __name__ == "__main__":
    unittest.main()
