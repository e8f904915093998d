"""Small inputs whose names, categories and counters were taken for something else. Each has its right value, known from the
raw events (case.md beside the input says how)."""

from integration import support


def query(path, sql):
    return support.headroom("query", path, sql, "--csv").text.splitlines()[1:]


class CollectivesByName(support.ProgramTest):
    FOLDER = "cases/25-collectives-not-known-by-name/"

    def test_collectives_of_three_libraries(self):
        report = self.report(support.data_file(self.FOLDER + "comm_spellings.json"))
        self.assertEqual(report["bottleneck"]["verdict"], "communication")
        (gpu,) = report["gpu_time"]
        self.assertAlmostEqual(gpu["communication_ms"], 1.8, places=6)
        self.assertAlmostEqual(gpu["busy_ms"], 1.92, places=6)
        self.assertAlmostEqual(gpu["exposed_communication_ms"], 1.02, places=6)

    def test_names(self):
        self.assertEqual(
            query(
                support.data_file(self.FOLDER + "comm_names.json.gz"),
                "select distinct name from gpu_tasks join gpu_attribution using (id) "
                "where class <> 'communication' order by name",
            ),
            ["ampere_sgemm_128x64_tn", "void apex_nccl_allocator_zero", "void at::native::nccl_like_elementwise"],
        )
