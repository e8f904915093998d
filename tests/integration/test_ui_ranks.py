"""Tests the page's requests about a folder with a trace per rank: the answers equal those of the command line."""
import os
import time

from integration import ranks, support
from integration.page_server import LOCAL, Server

TRACE = "public-traces/hta__nccl_parser_config__nccl_data.json.gz"
LATE_US = 1500


class Ranks(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.trace = ranks.load(support.data_file(TRACE))
        self.folder = self.scratch / "traces"
        self.folder.mkdir()
        for rank in range(4):
            self.write_rank(rank)

    def write_rank(self, rank, late_rank=2):
        late_us = LATE_US if rank == late_rank else 0
        made = ranks.make_rank(self.trace, rank, 4, offset_us=3.6e9 * rank, drift=1e-6 * rank, late_us=late_us)
        # A running server must not see a file that is half written.
        ranks.write(made, self.scratch / "written").rename(self.folder / f"rank{rank}.json.gz")

    def serve(self, *traces):
        server = Server(*traces)
        self.addCleanup(server.stop)
        return server

    def test_answers_are_of_the_rank_asked_for(self):
        server = self.serve(self.folder)
        joined = support.headroom("report", self.folder, "--json", "--top", "100", LOCAL).json()
        self.assertEqual(server.ask("report"), (200, joined))
        for rank in range(4):
            one = support.headroom("report", self.folder, "--rank", str(rank), "--json", LOCAL).json()
            self.assertEqual(server.ask("report", rank=rank), (200, one | {"job_ranks": None}))
        path = self.folder / "rank2.json.gz"
        forecast = support.headroom("whatif", path, "cuda-graph", "--json", LOCAL).json()
        self.assertEqual(server.ask("whatif", scenario="cuda-graph", rank=2), (200, forecast))
        slowest = self.folder / f"rank{joined['summary']['rank']}.json.gz"
        forecast = support.headroom("whatif", slowest, "cuda-graph", "--json", LOCAL).json()
        self.assertEqual(server.ask("whatif", scenario="cuda-graph"), (200, forecast))
        status, answer = server.ask("timeline", rank=9)
        self.assertEqual((status, answer["error"]), (400, "rank 9: the job has ranks 0, 1, 2, 3"))

    def test_a_step_on_one_clock(self):
        """Compares with the trace's events: all ranks leave an all-reduce together, and the last arrival is that of the
        late rank."""
        server = self.serve(self.folder)
        status, answer = server.ask("ranks/step", step=5)
        self.assertEqual((status, support.answer_violations(answer)), (200, []))
        self.assertEqual([one["rank"] for one in answer["ranks"]], [0, 1, 2, 3])
        reductions = [
            [one for one in rank["collectives"] if one["last_arrival_ns"] is not None] for rank in answer["ranks"]
        ]
        self.assertEqual({len(rows) for rows in reductions}, {5})
        for together in zip(*reductions):
            late = together[2]
            for rank, one in enumerate(together):
                self.assertAlmostEqual(one["end_ns"], late["end_ns"], delta=3000)
                self.assertAlmostEqual(one["last_arrival_ns"], late["start_ns"], delta=3000)
                if rank != 2:
                    self.assertAlmostEqual(late["start_ns"] - one["start_ns"], LATE_US * 1e3, delta=3000)
        # The times of computing, from the events.
        step = next(
            row
            for row in support.headroom("report", self.folder, "--json", LOCAL).json()["job_ranks"]["steps"]
            if (row["rank"], row["step"]) == (0, 5)
        )
        bounds = answer["ranks"][0]["computing"]
        computing = sum(end - start for start, end in zip(bounds[::2], bounds[1::2]))
        self.assertAlmostEqual(computing / 1e6, step["computing_ms"], delta=0.001)
        status, answer = server.ask("ranks/step", step=77)
        self.assertEqual((status, answer["error"]), (400, "step 77: no rank has this step"))

    def test_a_rank_that_is_written_anew(self):
        server = self.serve(self.folder)
        self.assertEqual(server.ask("report")[1]["job_ranks"]["straggler"]["rank"], 2)
        for rank in range(4):
            self.write_rank(rank, late_rank=1)
        until = time.monotonic() + 30
        while server.ask("report")[1]["job_ranks"]["straggler"]["rank"] != 1:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)

    def test_only_traces_of_the_folder_are_watched(self):
        server = self.serve(self.folder)
        for number in range(4):
            with open(self.folder / "train.log", "a") as log:
                log.write("loss 0.1\n")
            (self.folder / f"checkpoint{number}.pt").write_bytes(b"weights")
            time.sleep(0.4)
        self.assertEqual(server.ask("state")[1]["generation"], 0)
        self.write_rank(4, late_rank=2)
        until = time.monotonic() + 30
        while len(server.ask("report")[1]["inputs"]) != 5:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        self.assertEqual(server.ask("state")[1]["generation"], 1)

    def test_two_jobs_compare_as_diff_does(self):
        other = self.scratch / "other"
        self.folder.rename(other)
        self.folder.mkdir()
        for rank in range(4):
            self.write_rank(rank, late_rank=None)
        server = self.serve(other, self.folder)
        _, answer = server.ask("diff", trace=2)
        self.assertEqual(answer, support.headroom("diff", other, self.folder, "--json", LOCAL).json())

    def test_an_unreadable_file_of_the_folder_is_named(self):
        (self.folder / "rank9.json.gz").write_bytes(b"no trace")
        server = self.serve(self.folder)
        _, report = server.ask("report")
        self.assertEqual(len(report["inputs"]), 4)
        self.assertIn("unreadable-file", [issue["code"] for issue in report["health"]["issues"]])

    def test_a_trace_of_one_rank_has_no_other(self):
        server = self.serve(self.folder / "rank1.json.gz")
        self.assertIsNone(server.ask("report")[1]["job_ranks"])
        for question, parameters in (("report", {"rank": 3}), ("timeline", {"rank": 3}), ("ranks/step", {"step": 5})):
            status, answer = server.ask(question, **parameters)
            self.assertEqual(status, 400)
            self.assertIn("the trace of one rank", answer["error"])

    def test_an_empty_folder(self):
        empty = self.scratch / "empty"
        os.mkdir(empty)
        self.assert_refused(support.headroom("ui", empty), 3, "empty")
