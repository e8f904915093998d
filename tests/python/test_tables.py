"""Tests the tables of a trace: SQL's values, one by one, without a copy."""
import doctest
import gc
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import unittest
from typing import TYPE_CHECKING

import numpy as np

import headroom
import support
import table_stub

if TYPE_CHECKING:
    from headroom._table_columns import GpuTasks

try:
    import pandas
except ImportError:
    pandas = None

SAMPLES = [support.RESNET, support.BERT, support.ROOT / "data/samples/loader_one_worker.pftrace.gz"]


def sql(trace, statement):
    """Returns the program's (columns, rows)."""
    done = subprocess.run([support.BINARY, "query", trace, statement, "--json", "-q"], capture_output=True, check=True)
    answer = json.loads(done.stdout)
    return answer["columns"], answer["rows"]


class AsSql(unittest.TestCase):
    """Every column of every table equals the output of `headroom query`."""

    def check(self, path):
        trace = headroom.load(path)
        for name, table in trace.tables.items():
            columns, rows = sql(path, f"select * from {name} order by id")
            # SQL hides `id` from SELECT * in some tables. In Python it is first.
            self.assertEqual(list(table), columns if "id" in columns else ["id", *columns], name)
            self.assertEqual(len(table), len(rows), name)
            for at, column in enumerate(columns):
                with self.subTest(f"{path.name}: {name}.{column}"):
                    values = table[column]
                    got = list(values) if isinstance(values, headroom.TextColumn) else values.tolist()
                    self.assertEqual(got, [row[at] for row in rows])
                    self.assertEqual(table.columns[column].nullable or None not in got, True)
            ids = sql(path, f"select id from {name} order by id")[1]
            self.assertEqual(table["id"].tolist(), [row[0] for row in ids])

    def test_of_a_gpu_bound_job(self):
        self.check(support.RESNET)

    def test_of_a_host_bound_job(self):
        self.check(support.BERT)

    def test_of_a_recording(self):
        self.check(SAMPLES[2])

    def test_a_trace_of_nothing(self):
        with support.written({"schemaVersion": 1, "traceEvents": []}) as path:
            try:
                trace = headroom.load(path)
            except headroom.TraceError:
                self.skipTest("such a file is no trace")
            for name, table in trace.tables.items():
                self.assertEqual([len(table[column]) for column in table], [len(table)] * len(list(table)), name)
                self.assertIn(name, repr(table))


class NoCopies(unittest.TestCase):
    trace: "headroom.Trace"

    @classmethod
    def setUpClass(cls):
        cls.trace = headroom.load(support.RESNET)

    def raw(self, column):
        return column.codes if isinstance(column, headroom.TextColumn) else np.ma.getdata(column)

    def all_columns(self, trace):
        return {
            f"{name}.{column}": self.raw(table[column])
            for name, table in trace.tables.items()
            for column in table
            if column != "id"
        }

    def test_all_lie_in_the_traces_memory(self):
        """Two views that share only the trace have the same addresses, so neither made a copy."""
        again = headroom.Tables(self.trace._engine)
        for name, column in self.all_columns(self.trace).items():
            table, field = name.split(".")
            other = self.raw(again[table][field])
            self.assertIsNot(column, other)
            self.assertFalse(column.flags.owndata and len(column), name)
            self.assertEqual(
                column.__array_interface__["data"][0] if len(column) else 0,
                other.__array_interface__["data"][0] if len(other) else 0,
                name,
            )

    def test_nobody_can_write_into_them(self):
        for name, column in self.all_columns(self.trace).items():
            with self.subTest(name):
                self.assertFalse(column.flags.writeable)
                if len(column):
                    with self.assertRaises(ValueError):
                        column[0] = column[0]
                    with self.assertRaises(ValueError):
                        column.setflags(write=True)
        masked = self.trace.tables.gpu_tasks.bytes
        for change in (
            lambda: masked.__setitem__(0, 1),
            lambda: masked.__setitem__(0, np.ma.masked),
            lambda: masked.mask.__setitem__(0, False),
        ):
            with self.assertRaises(ValueError):
                change()

    def test_a_column_outlives_its_trace(self):
        trace = headroom.load(support.BERT)
        columns = self.all_columns(trace)
        copies = {name: column.copy() for name, column in columns.items()}
        name, unique = trace.tables.gpu_tasks.name, trace.tables.gpu_tasks.name.unique()
        del trace
        gc.collect()
        np.zeros(1_000_000)  # Freed memory would be overwritten.
        for column, values in columns.items():
            np.testing.assert_array_equal(values, copies[column], column)
        self.assertEqual(name.unique(), unique)

    def test_a_trace_is_freed_with_its_last_column(self):
        trace = headroom.load(support.RESNET)
        column = trace.tables.gpu_tasks.start_ns
        engine = trace._engine
        before = sys.getrefcount(engine)
        del trace
        gc.collect()
        self.assertLess(sys.getrefcount(engine), before)
        del engine
        self.assertGreater(column[0], 0)


class Values(unittest.TestCase):
    trace: "headroom.Trace"
    tasks: "GpuTasks"

    @classmethod
    def setUpClass(cls):
        cls.trace = headroom.load(support.RESNET)
        cls.tasks = cls.trace.tables.gpu_tasks

    def count(self, where):
        return sql(support.RESNET, f"select count(*) from gpu_tasks where {where}")[1][0][0]

    def test_masks_say_what_where_says(self):
        tasks = self.tasks
        for mask, where in (
            (tasks.bytes < 1000, "bytes < 1000"),
            (tasks.bytes > 1000, "bytes > 1000"),
            (tasks.bytes >= 4, "bytes >= 4"),
            (tasks.bytes <= 4, "bytes <= 4"),
            (tasks.bytes == 4, "bytes = 4"),
            (tasks.bytes != 4, "bytes <> 4"),
            (tasks.bytes + 4 < 1000, "bytes + 4 < 1000"),
            (tasks.launch_id > 5, "launch_id > 5"),
            (tasks.kind == "memset", "kind = 'memset'"),
            (tasks.kind != "memset", "kind <> 'memset'"),
            (tasks.copy == "host_to_device", "copy = 'host_to_device'"),
            (tasks.copy != "peer", "copy <> 'peer'"),
            (tasks.name.contains("gemm"), "name like '%gemm%'"),
            (tasks.kind.isin(["memset", "memcpy"]), "kind <> 'kernel'"),
            (tasks.copy.contains(""), "copy is not null"),
            (tasks.name == "no such kernel", "name = 'no such kernel'"),
            (tasks.copy == "", "copy = ''"),
            (tasks.copy.isin([""]), "copy in ('')"),
        ):
            with self.subTest(where):
                self.assertIs(type(mask), np.ndarray)
                self.assertEqual(mask.dtype, bool)
                self.assertEqual(mask.sum(), self.count(where))
        self.assertEqual(tasks.bytes.sum(), sql(support.RESNET, "select sum(bytes) from gpu_tasks")[1][0][0])

    def test_text(self):
        name, copy = self.tasks.name, self.tasks.copy
        strings = name.to_numpy()
        self.assertEqual([name[0], name[-1], name[np.int64(7)]], [strings[0], strings[-1], strings[7]])
        self.assertEqual([name.categories[code] for code in name.codes[:100]], strings[:100].tolist())
        self.assertEqual(name[name.contains("gemm")].unique(), [text for text in name.unique() if "gemm" in text])
        self.assertEqual(list(name[5:9]), strings[5:9].tolist())
        self.assertEqual(set(name), set(name.unique()))
        np.testing.assert_array_equal(np.asarray(name), strings)
        self.assertIsNone(copy[0])
        self.assertEqual(copy.valid.sum(), self.count("copy is not null"))
        self.assertTrue(name.valid.all())
        with self.assertRaises(IndexError):
            name[len(name)]
        with self.assertRaises(IndexError):
            name.categories[len(name.categories)]
        self.assertEqual(name.categories.code_of("\ud800"), None)

    def test_texts_of_two_columns(self):
        attribution = self.trace.tables.host_attribution
        events = self.trace.tables.host_events
        same = sql(
            support.RESNET,
            "select count(*) from host_events e join host_attribution a on a.id = e.id where a.operator = e.name",
        )[1][0][0]
        other = sql(
            support.RESNET,
            "select count(*) from host_events e join host_attribution a on a.id = e.id where a.operator <> e.name",
        )[1][0][0]
        self.assertGreater(same, 0)
        self.assertEqual(
            ((attribution.operator == events.name).sum(), (attribution.operator != events.name).sum()), (same, other)
        )
        self.assertEqual((self.tasks.kind == self.tasks.copy).sum(), 0)

    def test_rows_of_other_tables_are_places(self):
        launched = self.tasks.launch_id.compressed()
        calls = self.trace.tables.host_events.name[launched]
        self.assertIn("cudaLaunchKernel", calls.unique())
        with self.assertRaises(IndexError):  # Must not silently return a row.
            self.trace.tables.host_events.start_ns[self.tasks.launch_id]

    def test_names_that_are_not_there(self):
        with self.assertRaisesRegex(AttributeError, "duration_ns"):
            self.tasks.dur  # type: ignore[attr-defined]
        with self.assertRaisesRegex(KeyError, "gpu_tasks"):
            self.trace.tables["kernel"]
        with self.assertRaisesRegex(AttributeError, "gpu_tasks"):
            self.trace.tables.kernel  # type: ignore[attr-defined]

    def test_completion_and_what_is_shown(self):
        self.assertLessEqual({"gpu_tasks", "host_events", "step_times"}, set(dir(self.trace.tables)))
        self.assertLessEqual({"start_ns", "name", "to_pandas"}, set(dir(self.tasks)))
        fresh = repr(headroom.load(support.RESNET).tables)
        self.assertIn("computed at first use", fresh)  # repr() computes nothing.
        self.assertIn(f"gpu_tasks: {len(self.tasks):,} rows", fresh)
        for column in self.tasks:
            self.assertIn(f"\n  {column} ", repr(self.tasks))

    def test_no_column_hides_a_method(self):
        for name, table in self.trace.tables.items():
            own = {member for member in dir(headroom.Table) if not member.startswith("_")}
            self.assertEqual(own & set(table), set(), name)
        self.assertEqual(
            {member for member in dir(headroom.Tables) if not member.startswith("_")} & set(self.trace.tables), set()
        )

    def test_nullable_numbers_can_be_kept(self):
        again = pickle.loads(pickle.dumps(self.tasks.bytes))
        self.assertEqual(again.tolist(), self.tasks.bytes.tolist())
        self.assertEqual((again < 1000).sum(), self.count("bytes < 1000"))

    def test_hostile_names(self):
        trace = support.two_kernels_a_step()
        for event in trace["traceEvents"]:
            if event["name"] == "gemm":
                event["name"] = "gemm\x1b[2J\u202e<b>"
        with support.written(trace) as path:
            names = headroom.load(path).tables.gpu_tasks.name
        self.assertEqual(set(names), {"gemm\x1b[2J\u202e<b>", "pointwise"})
        self.assertTrue(repr(names).isprintable())


class Documents(unittest.TestCase):
    def test_the_page_shows_what_is_printed(self):
        page = (support.ROOT / "docs/python.md").read_text()
        examples = doctest.DocTestParser().get_doctest(
            re.search(r"```python\n(>>> import headroom.*?)```", page, re.DOTALL).group(1), {}, "page", "", 0
        )
        self.assertGreater(len(examples.examples), 10)
        if not pandas:
            examples.examples = [example for example in examples.examples if "frame" not in example.source]
        said = io.StringIO()
        before = os.getcwd()
        os.chdir(support.ROOT)
        try:
            failed, _ = doctest.DocTestRunner().run(examples, out=said.write)
        finally:
            os.chdir(before)
        self.assertEqual(failed, 0, said.getvalue())


class Typed(unittest.TestCase):
    def test_the_stub_has_every_column(self):
        stub = pathlib.Path(headroom.__file__).parent / "_table_columns.pyi"
        self.assertEqual(stub.read_text(), table_stub.stub(headroom.load(support.RESNET).tables), table_stub.__doc__)

    def test_columns_are_of_the_type_that_they_say(self):
        for name, table in headroom.load(support.RESNET).tables.items():
            for column in table.columns.values():
                with self.subTest(f"{name}.{column.name}"):
                    values = table[column.name]
                    self.assertEqual(isinstance(values, headroom.TextColumn), column.type == "text")
                    if column.type != "text":
                        self.assertEqual(values.dtype, np.dtype(column.type))
                        self.assertEqual(isinstance(values, headroom.NullableArray), column.nullable)


@unittest.skipUnless(pandas, "no pandas")
class Pandas(unittest.TestCase):
    def test_every_value_of_every_table(self):
        for path in SAMPLES:
            trace = headroom.load(path)
            for name, table in trace.tables.items():
                frame = table.to_pandas()
                self.assertEqual(
                    (list(frame), frame.index.name, len(frame)), ([c for c in table if c != "id"], "id", len(table))
                )
                for column in frame:
                    with self.subTest(f"{path.name}: {name}.{column}"):
                        values = table[column]
                        expected = list(values) if isinstance(values, headroom.TextColumn) else values.tolist()
                        got = frame[column].astype(object)
                        self.assertEqual(got.where(got.notna(), None).tolist(), expected)
                        if isinstance(values, headroom.TextColumn):
                            self.assertEqual(frame[column].dtype, "category")
                            self.assertEqual(len(frame[column].cat.categories), len(values.unique()))

    def test_a_frame_is_the_users_own(self):
        tasks = headroom.load(support.RESNET).tables.gpu_tasks
        first, size = int(tasks.start_ns[0]), tasks.bytes[0]
        frame = tasks.to_pandas(["start_ns", "bytes"])
        self.assertEqual(list(frame), ["start_ns", "bytes"])
        frame.loc[0, "start_ns"] = 1
        frame.loc[0, "bytes"] = 1
        self.assertEqual((tasks.start_ns[0], tasks.bytes[0] is size), (first, True))
        self.assertEqual(str(frame["bytes"].dtype), "Int64")
        self.assertEqual(list(tasks.to_pandas("name")), ["name"])
        with self.assertRaises(KeyError):
            tasks.to_pandas(["dur"])

    def test_frames_join_by_id(self):
        tables = headroom.load(support.RESNET).tables
        joined = tables.gpu_tasks.to_pandas(["duration_ns", "launch_id"]).join(
            tables.gpu_attribution.to_pandas(["phase"])
        )
        expected = dict(
            sql(
                support.RESNET,
                "select phase, sum(duration_ns) from gpu_tasks t join gpu_attribution a on a.id = t.id group by phase",
            )[1]
        )
        self.assertEqual({k: v for k, v in joined.groupby("phase").duration_ns.sum().to_dict().items() if v}, expected)


class WithoutPandas(unittest.TestCase):
    def test_it_says_what_to_install(self):
        code = (
            "import sys; sys.modules['pandas'] = None\nimport headroom\ntrace = headroom.load(sys.argv[1])\n"
            "for make in (trace.tables.steps.to_pandas, trace.query('select 1').to_pandas):\n"
            "    try: make()\n    except ImportError as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", code, support.RESNET], capture_output=True, text=True)
        self.assertEqual((done.stdout.count("python3-pandas"), done.stderr), (2, ""))


if __name__ == "__main__":
    unittest.main()
