"""Tests that the module and the program give the same results."""
import json
import subprocess
import unittest

import headroom
import support


def program(*args):
    return json.loads(subprocess.run([support.BINARY, *map(str, args)], check=True, capture_output=True).stdout)


class Agreement(unittest.TestCase):
    def test_report(self):
        self.assertEqual(headroom.report(support.RESNET), program("report", support.RESNET, "--json"))

    def test_report_with_options(self):
        first = headroom.report(support.RESNET)["steps"]["list"][0]["index"]
        mine = headroom.report(support.RESNET, steps=(first, first + 1), rank=3)
        theirs = program("report", support.RESNET, "--json", "--steps", f"{first}:{first + 1}", "--rank", 3)
        self.assertEqual(mine["steps"], theirs["steps"])
        self.assertEqual(mine["inputs"], theirs["inputs"])
        self.assertEqual(mine["steps"]["count"], 2)

    def test_whatif_ranked_and_by_name(self):
        self.assertEqual(headroom.whatif(support.BERT), program("whatif", support.BERT, "--json"))
        names = ["fused-optimizer+gpu-speed:factor=2", "amp", "p3"]
        self.assertEqual(headroom.whatif(support.RESNET, names), program("whatif", support.RESNET, "--json", *names))

    def test_whatif_with_a_measured_step(self):
        self.assertEqual(
            headroom.whatif(support.BERT, ["fused-optimizer"], measured_step_ms=45.2),
            program("whatif", support.BERT, "--json", "fused-optimizer", "--measured-step-ms", 45.2),
        )

    def test_one_trace_answers_all(self):
        trace = headroom.load(support.BERT)
        graph = trace.Graph()
        whole = trace.whatif("fused-optimizer")
        self.assertEqual(graph.whatif("fused-optimizer"), whole["scenarios"][0])
        self.assertAlmostEqual(graph.step_ms, whole["baseline"]["corrected_step_ms"])
        self.assertAlmostEqual(graph.recorded_step_ms, whole["baseline"]["traced_step_ms"])
        self.assertEqual(trace.report()["inputs"][0]["path"], str(support.BERT))

    def test_an_applied_scenario_replays_in_its_forecast(self):
        for trace, scenario in (
            (support.BERT, "fused-optimizer"),
            (support.RESNET, "amp:dtype=fp16"),
            (support.RESNET, "p3:gpus=4"),
            (support.RESNET, "data-parallel:gpus=8+network-speed:factor=2"),
        ):
            graph = headroom.Graph(trace)
            graph.apply(scenario)
            self.assertAlmostEqual(graph.replay().step_ms, graph.whatif(scenario)["step_ms"]["mid"], msg=scenario)
            self.assertTrue((graph.replay().starts_ns >= 0).any())

    def test_forecasts_are_of_the_recorded_job(self):
        graph = headroom.Graph(support.BERT)
        before = graph.whatif("host-speed:factor=2")
        graph.select().scale(3)
        self.assertEqual(graph.whatif("host-speed:factor=2"), before)


if __name__ == "__main__":
    unittest.main()
