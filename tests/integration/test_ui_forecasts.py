"""Tests the page's requests for other GPUs and for more GPUs: the answers equal those of the command line."""
import json

import jsonschema

from integration import support
from integration.page_server import LOCAL, Server

TRACE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"


class Forecasts(support.ProgramTest):
    server: Server

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(TRACE)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        super().tearDownClass()

    def assert_as_command(self, question, parameters, *arguments):
        status, answer = self.server.ask(question, **parameters)
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer, support.headroom(question, TRACE, *arguments, "--json", LOCAL).json())
        self.assertEqual(self.server.ask(question, **parameters), (200, answer), "asked again")

    def test_the_flags_of_the_command_that_the_page_shows(self):
        server = Server(TRACE, "--measured-step-ms", "82")
        self.addCleanup(server.stop)
        flags = server.ask("traces")[1]["forecast_arguments"]
        self.assertEqual(flags, ["--measured-step-ms", "82", LOCAL])
        _, answer = server.ask("whatif", scenario="amp")
        self.assertEqual(answer, support.headroom("whatif", TRACE, "amp", *flags, "--json").json())
        self.assertNotEqual(answer, self.server.ask("whatif", scenario="amp")[1])

    def test_predict(self):
        self.assert_as_command("predict", {})
        self.assert_as_command("predict", {"gpu": ["A100-80", "L4"]}, "--gpu", "A100-80,L4")
        self.assert_as_command("predict", {"gpu": "H100,H200"}, "--gpu", "H100,H200")
        self.assert_as_command(
            "predict",
            {"gpu": "L4", "total_steps": 1000, "region": "DE", "pue": "1.2", "batch_curve": 1},
            "--gpu",
            "L4",
            "--total-steps",
            "1000",
            "--region",
            "DE",
            "--pue",
            "1.2",
            "--batch-curve",
        )
        self.assert_as_command(
            "predict",
            {"gpu": "H200", "total_steps": 1000000, "provider": "AWS", "max_hours": 30, "max_money": "200.5"},
            "--gpu",
            "H200",
            "--total-steps",
            "1000000",
            "--provider",
            "AWS",
            "--max-hours",
            "30",
            "--max-money",
            "200.5",
        )

    def test_scale(self):
        self.assert_as_command("scale", {})
        self.assert_as_command(
            "scale",
            {"gpus": "1,2,4x2", "bandwidth_gbps": "10,25", "latency_us": 5, "gpus_per_node": 2, "strong": 1},
            "--gpus",
            "1,2,4x2",
            "--bandwidth-gbps",
            "10,25",
            "--latency-us",
            "5",
            "--gpus-per-node",
            "2",
            "--strong",
        )
        self.assert_as_command(
            "scale",
            {"gpus": ["8", "64"], "cluster": "dgx-h100", "schedule": "zero-3", "with": "amp"},
            "--gpus",
            "8,64",
            "--cluster",
            "dgx-h100",
            "--schedule",
            "zero-3",
            "--with",
            "amp",
        )

    def test_what_one_can_ask_for(self):
        status, gpus = self.server.ask("gpus")
        self.assertEqual(status, 200)
        predicted = support.headroom("predict", TRACE, "--json", LOCAL).json()
        self.assertEqual([one["gpu"] for one in gpus["gpus"]], [one["gpu"] for one in predicted["targets"]])
        self.assertEqual([one["gpu"] for one in gpus["gpus"] if one["recorded"]], [predicted["source_gpu"]])
        status, clusters = self.server.ask("clusters")
        self.assertEqual(status, 200)
        listed = support.headroom("scale", "--list").text
        self.assertEqual(
            [one["cluster"] for one in clusters["clusters"]], [line.split()[0] for line in listed.splitlines()]
        )
        for answer in (gpus, clusters):
            name = answer["schema"].removeprefix("headroom.").replace("/", "-")
            schema = json.loads((support.ROOT / f"docs/schema/{name}.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.validate(answer, schema)

    def test_a_wrong_question_is_told_why(self):
        outside = self.write("cluster.toml", "secret")
        cases: list[tuple[str, dict, str]] = [
            ("predict", {"gpu": "A100-8"}, "similar names: A100-80"),
            ("predict", {"gpu": ""}, "gpu: a value is empty"),
            ("predict", {"region": "DE"}, "--total-steps"),
            ("predict", {"total_steps": "1.5"}, "not an integer"),
            ("predict", {"total_steps": 5, "provider": "nobody"}, "nobody"),
            ("predict", {"prices": outside}, "'prices' is not a parameter of this request"),
            ("scale", {"gpus": "0"}, "--gpus 0"),
            ("scale", {"cluster": outside}, "known clusters"),
            ("scale", {"cluster": "dgx-h100", "latency_us": 3}, "give only one of them"),
            ("scale", {"cluster": "workstation-4-pcie4", "gpus": "8"}, "workstation"),
            ("scale", {"bandwidth_gbps": "fast"}, "not a number"),
            ("scale", {"bandwidth_gbps": "nan"}, "not a number"),
            ("scale", {"strong": "yes"}, "0 or 1"),
            ("scale", {"strong": [1, 0]}, "more than once"),
            ("scale", {"schedule": "pigeon"}, "must be ddp"),
            ("scale", {"with": "p3"}, "--schedule"),
            ("scale", {"gpus": ",".join(map(str, range(1, 66)))}, "65 values in one request"),
            ("scale", {"gpus": ",".join(map(str, range(1, 34))), "bandwidth_gbps": "10,25"}, "66 values"),
            (
                "whatif",
                {"scenario": [f"gpu-speed:factor={factor}" for factor in range(1, 66)]},
                "65 values in one request",
            ),
            ("data", {"change": [f"workers={workers}" for workers in range(1, 66)]}, "run headroom data for more"),
            ("gpus", {"gpu": "L4"}, "has no parameters"),
            ("clusters", {"a\x1b[1m": ""}, "has no parameters"),
        ]
        for question, parameters, why in cases:
            with self.subTest(question=question, parameters=parameters):
                status, answer = self.server.ask(question, **parameters)
                self.assertEqual((status, answer["schema"]), (400, "headroom.error/1"))
                self.assertIn(why, answer["error"])
                self.assertNotIn("secret", answer["error"])
                self.assertNotIn("\x1b", answer["error"])


class OfALoader(support.ProgramTest):
    """Tests the input pipeline, with the sample that has a loader."""

    TRACE = support.ROOT / "data/samples/loader_one_worker.pftrace.gz"

    server: Server

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(cls.TRACE)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        super().tearDownClass()

    def test_the_same_bytes_as_the_command(self):
        for changes in ((), ("workers=4",), ("workers=8,prefetch=4", "cached=50%,stage=Decode:2"), ()):
            with self.subTest(changes=changes):
                status, body = self.server.get("data", change=changes)
                self.assertEqual(status, 200, body)
                self.assertEqual(body.decode(), support.headroom("data", self.TRACE, *changes, "--json").text)
        report = json.loads(body)
        self.assertEqual(support.data_violations(report), [])
        self.assertEqual(self.server.ask("data", loader=1), (200, report))

    def test_a_wrong_question_is_told_why(self):
        cases: list[tuple[dict, str]] = [
            ({"loader": "0"}, "not an integer"),
            ({"loader": 2}, "the recording has 1 loader"),
            ({"loader": [1, 2]}, "more than once"),
            ({"change": ""}, "empty change"),
            ({"change": "workers"}, "KEY=VALUE is required"),
            ({"change": "workers=-1"}, "whole number"),
            ({"change": "turbo=1"}, "the keys are workers=N"),
            ({"change": ["workers=2", "stage=Nope:2"]}, "recorded stages: Crop, Decode"),
            ({"changes": "workers=2"}, "'changes' is not a parameter of this request"),
        ]
        for parameters, why in cases:
            with self.subTest(parameters=parameters):
                status, answer = self.server.ask("data", **parameters)
                self.assertEqual((status, answer["schema"]), (400, "headroom.error/1"))
                self.assertIn(why, answer["error"])

    def test_a_trace_without_a_loader_says_what_would_record_one(self):
        server = Server(TRACE)
        self.addCleanup(server.stop)
        questions: tuple[dict, ...] = ({}, {"change": "workers=2"})
        for parameters in questions:
            status, answer = server.ask("data", **parameters)
            self.assertEqual(status, 400)
            self.assertIn("headroom record", answer["error"])
            self.assertIn(answer["error"], support.headroom("data", TRACE, *parameters.values()).message)

    def test_a_trace_that_knows_the_loop_alone(self):
        trace = support.ROOT / "tests/golden/recording/trace.pftrace"
        server = Server(trace)
        self.addCleanup(server.stop)
        self.assertEqual(server.get("data")[1].decode(), support.headroom("data", trace, "--json").text)


class Progress(support.ProgramTest):
    def test_of_a_ranking(self):
        server = Server(TRACE)
        self.addCleanup(server.stop)
        status, before = server.ask("whatif/progress")
        self.assertEqual((status, support.answer_violations(before), before["done"]), (200, [], 0))
        server.ask("whatif", scenario="tf32")
        self.assertEqual(server.ask("whatif/progress")[1]["done"], 0)
        server.ask("whatif")
        after = server.ask("whatif/progress")[1]
        self.assertEqual(after["done"], after["of"])


class Compared(support.ProgramTest):
    def test_each_trace_has_its_report(self):
        other = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"
        server = Server(TRACE, other)
        self.addCleanup(server.stop)
        status, answer = server.ask("traces")
        self.assertEqual((status, support.answer_violations(answer)), (200, []))
        self.assertEqual([(one["trace"], one["path"]) for one in answer["traces"]], [(1, str(TRACE)), (2, str(other))])
        for number, trace in ((1, TRACE), (2, other)):
            self.assertEqual(
                server.ask("report", trace=number), (200, support.headroom("report", trace, "--json", LOCAL).json())
            )
        self.assertEqual(server.ask("report"), server.ask("report", trace=1))
        for wrong in ("3", "0", "x"):
            status, answer = server.ask("report", trace=wrong)
            self.assertEqual(status, 400, answer)

    def test_one_that_cannot_be_read_is_named(self):
        self.assert_refused(support.headroom("ui", TRACE, self.write("no.json", "{}")), 3, "no.json")


class NothingToReplay(support.ProgramTest):
    def test_what_cannot_be_told_is_said(self):
        trace = self.write(
            "host.json",
            json.dumps(
                {
                    "traceEvents": [
                        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
                    ]
                }
            ),
        )
        server = Server(trace)
        self.addCleanup(server.stop)
        predicted = support.headroom("predict", trace, "--gpu", "L4", "--json", LOCAL).json()
        self.assertEqual(server.ask("predict", gpu="L4"), (200, predicted))
        self.assertEqual(len(predicted["abstained"]), 1)
        self.assertEqual(server.ask("scale"), (200, support.headroom("scale", trace, "--json", LOCAL).json()))
