"""Tests `headroom predict`: traces, lists of operators and tables, on other GPUs."""
import csv
import functools
import gzip
import io
import json
import re
import shutil

import jsonschema

from integration import support

SAMPLES = support.ROOT / "data/samples"
GPU_BOUND = SAMPLES / "resnet50_fp32_h200.json.gz"
HOST_BOUND = SAMPLES / "bert_base_amp_fp16_h200.json.gz"

OPERATORS = """model,mode,seq,batch,name,op,repeat,fw,bw,acc,inputs,output
tiny,inf,128,4,fc,Linear,12,"[['Linear', (4096, 1024, 4096)]]",[],[],"[(4096, 1024)]","(4096, 4096)"
tiny,inf,128,4,attn,BMM,12,"[['BMM', (64, 512, 64, 512)]]",[],[],[],"(64, 512, 512)"
tiny,inf,128,4,soft,VECsoftmax,12,"[['VECsoftmax', (32768, 512)]]",[],[],[],"(64, 512, 512)"
"""
TABLE = """device,op,b,m,k,n,rows,cols,latency_ms
T4,linear,,4096,1024,4096,,,7.9
T4,add,,,,,32768,1024,1.7
V100,add,,,,,32768,1024,0.5
"""
PRICES = """
[[instance]]
provider = "here"
instance = "one"
region = "r"
gpu = "A100-80"
gpus = 1
price_per_hour = 3.0
currency = "EUR"
date = "2025-11"
source = "own"
"""
DEVICE = """
name = "Mine 9000"
short_name = "mine"
vendor = "NVIDIA"
architecture = "Ampere"
memory_type = "HBM2e"
match = []
[figures]
sm_count = { value = 100, unit = "1", source = "own" }
fp32_tflops = { value = 20, unit = "TFLOP/s", source = "own" }
memory_bandwidth_gbs = { value = 2000, unit = "GB/s", source = "own" }
"""


@functools.cache
def schema():
    return json.loads((support.ROOT / "docs/schema/predict-1.json").read_text())


class PredictTest(support.ProgramTest):
    def predict(self, *args):
        if any(str(self.scratch) in str(arg) for arg in args):
            outcome = support.headroom("predict", "--json", *args)
        else:
            outcome = support.answer("predict", "--json", *args)
        self.assertEqual(outcome.code, 0, outcome)
        result = outcome.json()
        jsonschema.Draft202012Validator(schema()).validate(result)
        for target in result["targets"]:
            step = target["step_ms"]
            self.assertLessEqual(step["low"], step["mid"])
            self.assertLessEqual(step["mid"], step["high"])
            self.assertEqual(target["extrapolated"], target["extrapolated_why"] is not None)
            self.assertIn(target["extrapolated_why"] or "", target["why"])
        return result


class Traces(PredictTest):
    def test_the_recorded_gpu_takes_what_it_took(self):
        result = self.predict(GPU_BOUND, "--gpu", "H200")
        self.assertAlmostEqual(result["targets"][0]["step_ms"]["mid"], result["baseline"]["step_ms"], delta=0.01)
        for bound in ("low", "high"):
            self.assertAlmostEqual(
                result["targets"][0]["step_ms"][bound], result["baseline"][f"step_{bound}_ms"], places=5
            )
        self.assertEqual(result["source_gpu"], "H200")
        self.assertFalse(result["targets"][0]["extrapolated"])

    def test_older_gpus_are_slower_and_the_host_limit_holds(self):
        result = self.predict(GPU_BOUND, "--gpu", "A100-SXM-80,V100,T4")
        steps = [target["step_ms"]["mid"] for target in result["targets"]]
        self.assertEqual(steps, sorted(steps))
        self.assertGreater(steps[0], 1.3 * result["baseline"]["step_ms"])
        host_bound = self.predict(HOST_BOUND, "--gpu", "B200,H200")
        for target in host_bound["targets"]:
            self.assertEqual(target["limited_by"], "host")
            self.assertAlmostEqual(target["speedup"], 1, delta=0.03)
            self.assertIn("host-bound: the host takes", target["why"])
        faster_host = self.predict(HOST_BOUND, "--gpu", "H200", "--host-factor", "2")["targets"][0]
        self.assertGreater(faster_host["speedup"], 1.4)
        for factor in ("1.001", "3"):  # The host factor does not change how certain the recorded times are.
            step = self.predict(HOST_BOUND, "--gpu", "H200", "--host-factor", factor)["targets"][0]["step_ms"]
            self.assertGreater(step["high"] - step["low"], 0.01 * step["mid"], factor)

    def test_several_traces_give_a_matrix(self):
        result = self.predict(GPU_BOUND, HOST_BOUND, "--gpu", "V100,L4")
        self.assertIsNone(result["baseline"])
        self.assertEqual(
            [(t["workload"], t["gpu"]) for t in result["targets"]],
            [(str(trace), gpu) for trace in (GPU_BOUND, HOST_BOUND) for gpu in ("V100", "L4")],
        )

    def test_a_change_on_the_recorded_gpu_is_what_whatif_says(self):
        for trace in (GPU_BOUND, HOST_BOUND):
            for change in ("amp", "fused-optimizer", "gpu-speed:factor=2", "batch-size:n=32"):
                whatif = support.answer("whatif", trace, change, "--json").json()["scenarios"][0]
                result = self.predict(trace, "--with", change, "--gpu", "H200")
                self.assertEqual(result["with"], change)
                if whatif["step_ms"]["mid"] is None:
                    self.assertEqual([one["gpu"] for one in result["abstained"]], ["H200"])
                    continue
                step = result["targets"][0]["step_ms"]
                for bound in ("low", "mid", "high"):
                    self.assertAlmostEqual(step[bound], whatif["step_ms"][bound], places=6, msg=(change, bound))

    def test_a_change_elsewhere_begins_with_the_step_there(self):
        plain = self.predict(GPU_BOUND, "--gpu", "A100-SXM-80,T4")["targets"]
        # Twice as fast a GPU halves a step that the GPU limits, anywhere.
        for before, after in zip(
            plain, self.predict(GPU_BOUND, "--with", "gpu-speed:factor=2", "--gpu", "A100-SXM-80,T4")["targets"]
        ):
            self.assertEqual(after["unchanged_step_ms"], before["step_ms"])
            self.assertAlmostEqual(after["step_ms"]["mid"], before["step_ms"]["mid"] / 2, delta=2)
            self.assertLessEqual(after["step_ms"]["low"] / after["step_ms"]["mid"], 1)
        nothing = self.predict(GPU_BOUND, "--with", "remove:match=no such kernel", "--gpu", "T4")
        self.assertEqual(nothing["targets"], [])
        # A change applies by what the GPU has.
        fp8 = self.predict(GPU_BOUND, "--with", "tf32", "--gpu", "V100,A100-SXM-80")
        self.assertEqual([one["gpu"] for one in fp8["abstained"]], ["V100"])
        self.assertEqual([target["gpu"] for target in fp8["targets"]], ["A100-SXM-80"])
        self.assertLess(fp8["targets"][0]["step_ms"]["mid"], fp8["targets"][0]["unchanged_step_ms"]["mid"])

    def test_a_larger_batch_elsewhere_has_its_samples(self):
        plain = self.predict(GPU_BOUND, "--gpu", "H100")["targets"][0]
        twice = self.predict(GPU_BOUND, "--with", "batch-size:n=128", "--gpu", "H100")["targets"][0]
        self.assertAlmostEqual(twice["energy_joules_per_sample"] / plain["energy_joules_per_sample"], 1, delta=0.15)
        self.assertGreater(twice["memory_bytes"], 1.5 * plain["memory_bytes"])

    def test_what_a_change_cannot_be_combined_with_is_refused(self):
        for args, words in (
            ((GPU_BOUND, "--with", "data-parallel:gpus=8"), "headroom scale"),
            ((GPU_BOUND, "--with", "amp", "--batch-curve"), "leave one out"),
            ((GPU_BOUND, "--with", "nonsense"), "no scenario"),
            ((GPU_BOUND, "--host-us-per-kernel", "5"), "requires --ops"),
        ):
            outcome = support.headroom("predict", *args)
            self.assertEqual(outcome.code, 2, outcome)
            self.assertIn(words, outcome.message)

    def test_without_names_every_known_gpu(self):
        names = [target["gpu"] for target in self.predict(GPU_BOUND)["targets"]]
        self.assertGreater(len(names), 40)
        self.assertEqual(names, sorted(names))

    def test_the_text_is_readable(self):
        for args in (
            (GPU_BOUND,),
            (HOST_BOUND, "--gpu", "L4,H200,T4", "--total-steps", "100000"),
            (GPU_BOUND, HOST_BOUND, "--gpu", "T4"),
        ):
            outcome = support.answer("predict", *args, LC_ALL="C.UTF-8")
            self.assertEqual(outcome.code, 0, outcome)
            self.assert_readable_text(outcome.text, args)
        self.assertIn(
            "A100-80, A100-40: ranges",
            support.headroom("predict", GPU_BOUND, "--gpu", "A100-40,A100-80", "--full").text,
        )

    def test_no_number_of_the_table_is_cut(self):
        for trace in (GPU_BOUND, HOST_BOUND):
            targets = {target["gpu"]: target for target in self.predict(trace)["targets"]}
            text = support.answer("predict", trace, "--full", LC_ALL="C.UTF-8").text
            self.assert_readable_text(text, trace)
            rows = re.findall(r"^  (\S+)(?: \*)? +(\S+) m?s \([^)]*\).*? (?:host|gpu)(.*)$", text, re.MULTILINE)
            self.assertEqual({row[0] for row in rows}, set(targets))
            for gpu, _, energy in rows:
                if targets[gpu]["energy_joules"] is None:
                    self.assertEqual(energy, "")
                elif targets[gpu]["energy_error_pct"] < 100:
                    self.assertRegex(energy, rf"^ +[0-9.]+ m?J ±{targets[gpu]['energy_error_pct']:.0f} %$")
                else:
                    most = targets[gpu]["energy_joules"] * (1 + targets[gpu]["energy_error_pct"] / 100)
                    shown = re.fullmatch(r" +[0-9.]+ J, to ([0-9.]+) J", energy)
                    self.assertAlmostEqual(float(shown[1]) / most, 1, delta=0.006, msg=energy)

    def test_ties_of_many_gpus_are_told_too(self):
        targets = sorted(self.predict(HOST_BOUND)["targets"], key=lambda target: target["step_ms"]["mid"])
        text = " ".join(support.answer("predict", HOST_BOUND, "--full", LC_ALL="C.UTF-8").text.split())
        told = re.search(r"(\S+) to (\S+), (\d+) GPUs in adjacent rows: ranges of neighbours overlap", text)
        chain = [target["gpu"] for target in targets][: int(told[3])]
        self.assertEqual((told[1], told[2]), (chain[0], chain[-1]))
        for one, other in zip(targets, targets[1 : int(told[3])]):
            self.assertIn(other["gpu"], one["ties"])
        self.assertNotIn(targets[int(told[3])]["gpu"], targets[int(told[3]) - 1]["ties"])

    def test_a_trace_that_does_not_say_its_gpu_needs_a_name(self):
        with gzip.open(GPU_BOUND) as file:
            trace = json.load(file)
        for device in trace["deviceProperties"]:
            device["name"] = "Mystery 1"
        path = self.write("mystery.json", json.dumps(trace))
        self.assert_refused(support.headroom("predict", path, "--gpu", "T4"), 3, "Mystery 1", "--from NAME")
        result = self.predict(path, "--from", "H200", "--gpu", "H200,T4")
        self.assertEqual(result["source_gpu"], "H200")
        self.assertAlmostEqual(result["targets"][0]["speedup"], 1, delta=0.001)

    def test_float32_convolutions_of_a_gpu_without_tf32_run_in_it_by_default(self):
        with gzip.open(GPU_BOUND) as file:
            trace = json.load(file)
        for device in trace["deviceProperties"]:
            device["name"] = "Tesla V100-SXM2-16GB"
        calls = [e["args"] for e in trace["traceEvents"] if e.get("name", "").startswith("aten::cudnn_convolution")]

        def recorded_with(allowed):
            for arguments in calls:
                arguments["Concrete Inputs"][-1] = allowed
            return self.predict(self.write("v100.json", json.dumps(trace)), "--gpu", "A100-80,T4")["targets"]

        (a100, t4), (a100_float32, t4_float32) = recorded_with("True"), recorded_with("False")
        self.assertLess(a100["step_ms"]["mid"], 0.8 * a100_float32["step_ms"]["mid"])
        self.assertGreater(a100["step_ms"]["high"], a100_float32["step_ms"]["mid"])
        self.assertIn("allow_tf32", a100["why"])
        self.assertNotIn("allow_tf32", a100_float32["why"])
        self.assertEqual(t4, t4_float32)

    def test_types_without_tensor_cores_there_are_told(self):
        """P100 has no tensor cores; T4 has them for 16-bit floats."""
        targets = {target["gpu"]: target for target in self.predict(HOST_BOUND, "--gpu", "P100,T4,H200")["targets"]}
        self.assertRegex(
            targets["P100"]["extrapolated_why"], r"\d+ % of the GPU time is on tensor cores, .* float32 is assumed"
        )
        for gpu in ("T4", "H200"):
            self.assertNotIn("float32 is assumed", targets[gpu]["why"], gpu)

    def test_a_gpu_without_a_power_limit_is_marked(self):
        t4 = (support.ROOT / "data/devices/nvidia_t4.toml").read_text()
        lines = [line for line in t4.splitlines() if not line.startswith("tdp_w")]
        own = self.write("own.toml", "\n".join(lines).replace('"T4"', '"T4x"'))
        target = self.predict(GPU_BOUND, "--gpu", "T4x", "--gpu-file", own)["targets"][0]
        self.assertTrue(target["extrapolated"])
        self.assertIn("tdp_w", target["extrapolated_why"])

    def test_a_step_of_one_kernel_says_what_it_waits_for(self):
        def why(host_us, kernel_us):
            events = []
            for step in range(4):
                begin = step * (host_us + kernel_us + 50)
                calls: tuple[tuple[str, str, int, int, int, dict], ...] = (
                    ("user_annotation", f"ProfilerStep#{step}", 0, host_us + kernel_us + 40, 1, {}),
                    (
                        "cpu_op",
                        "aten::mm",
                        5,
                        host_us,
                        1,
                        {"Input Dims": [[1024, 1024]] * 2, "Input type": ["float"] * 2},
                    ),
                    ("cuda_runtime", "cudaLaunchKernel", host_us - 1, 5, 1, {"correlation": step + 1}),
                    (
                        "kernel",
                        "sgemm",
                        host_us + 7,
                        kernel_us,
                        7,
                        {"device": 0, "stream": 7, "correlation": step + 1, "grid": [64, 1, 1], "block": [256, 1, 1]},
                    ),
                    (
                        "cuda_runtime",
                        "cudaDeviceSynchronize",
                        host_us + 6,
                        kernel_us + 3,
                        1,
                        {"correlation": 1000 + step},
                    ),
                )
                for category, name, ts, dur, tid, args in calls:
                    events.append(
                        {
                            "ph": "X",
                            "cat": category,
                            "name": name,
                            "ts": begin + ts,
                            "dur": dur,
                            "pid": 0 if category == "kernel" else 1,
                            "tid": tid,
                            "args": {"External id": step + 1} | args,
                        }
                    )
            trace = {"traceEvents": events, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]}
            target = self.predict(self.write("one.json", json.dumps(trace)), "--gpu", "H200")["targets"][0]
            return target["limited_by"], target["why"]

        limit, text = why(1000, 40)
        self.assertEqual(limit, "host")
        self.assertRegex(
            text, r"takes 1\.\d+ ms per step to launch the work, and the GPU takes [4-9]\d\.\d us to run it$"
        )
        limit, text = why(100, 80)
        self.assertRegex(text, "host .*; they wait for each other$")
        limit, text = why(20, 3000)
        self.assertEqual((limit, text.split(" ms")[0][:16]), ("gpu", "the GPU takes 3."))


class Operators(PredictTest):
    def test_a_list_gives_a_step_on_each_gpu(self):
        result = self.predict("--ops", self.write("ops.csv", OPERATORS), "--gpu", "V100,A100-80")
        self.assertIsNone(result["source_gpu"])
        v100, a100 = result["targets"]
        self.assertEqual(v100["workload"], "tiny inf seq=128 batch=4")
        self.assertIsNone(v100["speedup"])
        # The step has 12 products of 34.4 GFLOP. They run at most at the GPU's peak rate.
        self.assertGreater(v100["step_ms"]["mid"], 12 * 34.4 / 14.1)
        self.assertLess(v100["step_ms"]["mid"], 2 * 12 * 34.4 / 14.1)
        self.assertLess(a100["step_ms"]["mid"], v100["step_ms"]["mid"])

    def test_gzip_and_json_are_read(self):
        plain = self.predict("--ops", self.write("ops.csv", OPERATORS), "--gpu", "T4")
        packed = self.predict("--ops", self.write("ops.csv.gz", gzip.compress(OPERATORS.encode())), "--gpu", "T4")
        rows = list(csv.DictReader(io.StringIO(OPERATORS)))
        for row in rows:
            row["fw"] = json.loads(row["fw"].replace("(", "[").replace(")", "]").replace("'", '"'))
            row["repeat"] = int(row["repeat"])
            for key in ("bw", "acc", "inputs", "output"):
                del row[key]
        as_json = self.predict("--ops", self.write("ops.json", json.dumps(rows)), "--gpu", "T4")
        self.assertEqual(plain["targets"], packed["targets"])
        self.assertEqual(plain["targets"], as_json["targets"])

    def test_marks_and_limits(self):
        marked = self.write("ops.csv", b"\xef\xbb\xbf" + OPERATORS.encode())
        self.assertEqual(self.predict("--ops", marked, "--gpu", "T4")["targets"][0]["why"], "")
        for work in ('[["MEM",[[1e200,1e200]]]]', '[["CONV2D",[8,3,64,7,3,1,1]]]'):
            path = self.write("ops.json", '[{"op":"x","fw":%s}]' % work)
            self.assert_refused(support.headroom("predict", "--ops", path, "--gpu", "T4"), 3, "operator 1")
        self.predict(
            "--ops", self.write("ops.json", '[{"op":"x","fw":[["CONV2D",[8,64,64,1,56,1,0]]]}]'), "--gpu", "T4"
        )
        for row in (
            '{"op":"misc","name":"max_1","fw":[],"output":[1e200,1e200]}',
            '{"op":"x","repeat":1e9,"fw":[["Linear",[100000,100000,100000]]]}',
        ):
            self.assert_refused(
                support.headroom("predict", "--ops", self.write("ops.json", f"[{row}]"), "--gpu", "T4"), 3, "operator 1"
            )
        for_ages = self.write("ops.json", '[{"op":"x","model":"m","repeat":1e15,"fw":[["VECrelu",[1,1]]]}]')
        self.assert_refused(
            support.headroom("predict", "--ops", for_ages, "--gpu", "T4"), 3, "ops.json", "'m'", "T4", "repeats"
        )
        nothing = self.write("ops.json", '[{"op":"x","fw":[]}]')
        self.assert_refused(support.headroom("predict", "--ops", nothing, "--gpu", "T4"), 3, "no operator")

    def test_kinds_that_are_not_known_leave_the_rest_an_answer(self):
        ops = self.write(
            "ops.csv",
            OPERATORS
            + """new,inf,128,4,norm,VEClgamma,12,"[['VEClgamma', (32768, 1024)], ['FLASH', (64, 512)]]",[],[],[],[]
newer,inf,128,4,attn,FLASH,12,"[['FLASH', (64, 512)]]",[],[],[],[]
""",
        )
        result = self.predict("--ops", ops, "--gpu", "A100-80")
        tiny, new = result["targets"]
        self.assertEqual(
            tiny, self.predict("--ops", self.write("tiny.csv", OPERATORS), "--gpu", "A100-80")["targets"][0]
        )
        self.assertFalse(tiny["extrapolated"])
        self.assertTrue(new["extrapolated"])
        for named in ("VEClgamma", "FLASH"):
            self.assertIn(named, new["extrapolated_why"])
        # 12 x 268 MB, at most at 1935 GB/s.
        self.assertGreater(new["step_ms"]["mid"], 12 * 268 / 1935)
        self.assertIn("'newer inf seq=128 batch=4'", result["abstained"][0]["why"])
        self.assertIn("FLASH", support.headroom("predict", "--ops", ops, "--gpu", "A100-80").text)

    def test_deep_values_are_refused(self):
        deep = "[" * 200000 + "]" * 200000
        for text in ('[{"op":"a","fw":[["VECrelu",[8,8]]],"model":%s}]' % deep, '[{"op":"Linear","fw":%s}]' % deep):
            self.assert_refused(
                support.headroom("predict", "--ops", self.write("ops.json", text), "--gpu", "T4"),
                3,
                "operator 1",
                "deeper than 16",
            )

    def test_wrong_lists_are_refused_with_their_line(self):
        for text, code, fragments in (
            ("op,fw\nx,oops\n", 3, ("line 2", "fw")),
            ("", 3, ("is empty; copy or write it again",)),
            (gzip.compress(b""), 3, ("is empty; copy or write it again",)),
            ("op,fw\n", 3, ("lists no operators; add at least one",)),
            ("a,b\n1,2\n", 3, ("no column 'op'",)),
        ):
            self.assert_refused(
                support.headroom("predict", "--ops", self.write("bad.csv", text), "--gpu", "T4"),
                code,
                "bad.csv",
                *fragments,
            )


class Tables(PredictTest):
    def test_rows_stay_and_get_predictions(self):
        out = self.scratch / "out.csv"
        outcome = support.headroom(
            "predict", "--kernels", self.write("t4.csv", TABLE), "--from", "T4", "--to", "A100-80", "--out", out
        )
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("1 row without a prediction: not measured on", outcome.message)
        rows = list(csv.DictReader(io.StringIO(out.read_text())))
        self.assertEqual([row["latency_ms"] for row in rows], ["7.9", "1.7", "0.5"])
        self.assertLess(float(rows[0]["predicted_ms"]), 4)
        self.assertLess(float(rows[0]["predicted_low_ms"]), float(rows[0]["predicted_ms"]))
        self.assertEqual(rows[2]["predicted_ms"], "")

    def test_a_column_that_is_nearly_read_is_told(self):
        table = self.write(
            "t4.csv",
            TABLE.replace("latency_ms", "layuot,latency_ms", 1)
            .replace(",,,7.9", ",,,tn,7.9")
            .replace("1024,1.7", "1024,,1.7")
            .replace("1024,0.5", "1024,,0.5"),
        )
        outcome = support.headroom("predict", "--kernels", table, "--from", "T4", "--to", "V100")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("ignored: column 'layuot' (layout?)", outcome.message)
        self.assertNotIn(
            "ignored: ",
            support.headroom("predict", "--kernels", table, "--from", "T4", "--to", "V100", "--quiet").message,
        )

    def test_a_wrong_table_writes_nothing(self):
        out = self.scratch / "out.csv"
        table = self.write("t4.csv", TABLE.replace("32768,1024,1.7", "32768,0,1.7"))
        self.assert_refused(
            support.headroom("predict", "--kernels", table, "--from", "T4", "--to", "V100", "-o", out),
            3,
            "line 3",
            "cols",
        )
        self.assertFalse(out.exists())


class Calibrations(PredictTest):
    """Operators measured on a GPU correct predictions for it."""

    def measured(self, factor, device="V100"):
        """Returns the product of OPERATORS, `factor` times as slow as predicted, in a table of the GPU."""
        dimensions = ("m", "k", "n")
        alone = self.write("one.csv", "op,m,k,n,timing,latency_ms\nlinear,4096,1024,4096,stream,5\n")
        row = next(
            csv.DictReader(
                io.StringIO(
                    support.headroom("predict", "--kernels", alone, "--from", "P100", "--to", "V100", "-q").text
                )
            )
        )
        shape = ",".join(row[name] for name in dimensions)
        return (
            "device,op,m,k,n,timing,latency_ms\n"
            f"{device},linear,{shape},stream,{factor * float(row['predicted_ms']):.6f}\n"
        )

    def test_a_gpu_that_was_measured_is_predicted_by_what_it_did(self):
        operators = self.write(
            "ops.json", json.dumps([{"op": "Linear", "repeat": 4, "fw": [["Linear", [4096, 1024, 4096]]]}])
        )
        alone = self.predict("--ops", operators, "--gpu", "V100,T4")
        told = self.predict(
            "--ops", operators, "--gpu", "V100,T4", "--gpu-calibration", self.write("v.csv", self.measured(1.5))
        )
        (v100, t4), (v100_alone, t4_alone) = told["targets"], alone["targets"]
        self.assertAlmostEqual(v100["step_ms"]["mid"] / v100_alone["step_ms"]["mid"], 1.5, delta=0.1)
        self.assertEqual((v100["measured_operators"], t4["measured_operators"]), (1, 0))
        self.assertEqual(t4, t4_alone)
        text = support.headroom(
            "predict", "--ops", operators, "--gpu", "V100", "--gpu-calibration", self.scratch / "v.csv", "--full"
        ).text
        self.assertIn("V100: 1 operator measured on it, covering 7", " ".join(text.split()))

    def test_a_recorded_job_is_corrected_too(self):
        table = "device,op,rows,cols,timing,latency_ms\n" + "".join(
            f"V100,relu,{rows},1024,stream,{rows * 1024 * 8 / 900e6 * 3:.6f}\n"
            for rows in (2048, 8192, 32768, 131072, 524288)
        )
        alone, told = (
            self.predict(GPU_BOUND, "--gpu", "V100", *flags)["targets"][0]["step_ms"]["mid"]
            for flags in ((), ("--gpu-calibration", self.write("v.csv", table)))
        )
        self.assertGreater(told, 1.2 * alone)

    def test_tables_that_say_nothing_of_a_gpu_are_refused(self):
        operators = ("--ops", self.write("ops.csv", OPERATORS), "--gpu", "V100")
        for text, *named in (
            (self.measured(1, device="V1000"), "'V1000'", "--gpu-file"),
            ("op,latency_ms\nadd,1\n", "'device'"),
            ("op,device,latency_ms\n", "no rows"),
            ("device,op,rows,cols,latency_ms\nV100,add,10,10,0.02\n", "no row for V100", "at least 0.1"),
            ("", "v.csv"),
        ):
            with self.subTest(named):
                self.assert_refused(
                    support.headroom("predict", *operators, "--gpu-calibration", self.write("v.csv", text)), 3, *named
                )
        fast = "device,op,m,k,n,latency_ms\nV100,linear,4096,1024,4096,0.5\n"
        self.assert_refused(
            support.headroom("predict", *operators, "--gpu-calibration", self.write("v.csv", fast)), 3, "line 2", "peak"
        )
        seconds = self.measured(1000)
        self.assert_refused(
            support.headroom("predict", *operators, "--gpu-calibration", self.write("v.csv", seconds)),
            3,
            "line 2",
            "milliseconds",
        )
        twice = self.write("v.csv", self.measured(1))
        self.assert_refused(
            support.headroom("predict", *operators, "--gpu-calibration", twice, "--gpu-calibration", twice), 2, "twice"
        )
        self.assert_refused(
            support.headroom("predict", *operators, "--gpu-calibration", self.scratch / "none.csv"), 3, "none.csv"
        )
        self.assert_refused(
            support.headroom("predict", *operators, "--gpu-calibration", twice, "-o", twice), 2, "v.csv"
        )
        other = support.headroom(
            "predict", "--ops", self.write("ops.csv", OPERATORS), "--gpu", "T4", "--gpu-calibration", twice
        )
        self.assertEqual(other.code, 0)
        self.assertIn("of V100 is not used", other.message)


class BatchSizes(PredictTest):
    """Tests step, throughput and memory over the batch size, on another GPU."""

    def test_on_the_recorded_gpu_it_is_what_whatif_says(self):
        whatif = support.headroom("whatif", "--json", "--no-local-state", GPU_BOUND, "batch-size:n=128").json()[
            "scenarios"
        ][0]["batch_curve"]
        target = self.predict(GPU_BOUND, "--gpu", "H200", "--batch-curve")["targets"][0]
        curve = target["batch_curve"]
        peak = self.predict(GPU_BOUND, "--gpu", "H200")["baseline"]["memory"]["peak_bytes"]
        self.assertEqual(
            (curve["recorded_samples"], curve["knee_samples"]), (whatif["recorded_samples"], whatif["knee_samples"])
        )
        steps = {point["samples"]: point for point in curve["points"]}
        for point in whatif["points"]:
            self.assertAlmostEqual(steps[point["samples"]]["step_ms"]["mid"] / point["step_ms"], 1, delta=1e-3)
            self.assertAlmostEqual(steps[point["samples"]]["memory_bytes"], peak + point["memory_delta_bytes"], delta=1)
        self.assertEqual(curve["best_samples"], target["largest_batch"])

    def test_elsewhere_it_grows_from_what_is_predicted_there(self):
        target = self.predict(GPU_BOUND, "--gpu", "L4", "--batch-curve")["targets"][0]
        points = {point["samples"]: point for point in target["batch_curve"]["points"]}
        self.assertAlmostEqual(points[64]["step_ms"]["mid"], target["step_ms"]["mid"], delta=0.01)
        rates = [point["samples_per_s"] for point in target["batch_curve"]["points"]]
        self.assertEqual(rates, sorted(rates))
        memory = self.predict(GPU_BOUND, "--gpu", "L4")["baseline"]["memory"]
        room = 0.9 * target["gpu_memory_bytes"] * memory["peak_bytes"] / memory["reserved_bytes"]
        for point in points.values():
            self.assertEqual(point["fits"], point["memory_bytes"] <= room)
        self.assertTrue(points[target["largest_batch"]]["fits"])
        self.assertIsNone(self.predict(GPU_BOUND, "--gpu", "L4")["targets"][0]["batch_curve"])
        text = support.headroom("predict", GPU_BOUND, "--gpu", "L4", "--batch-curve", "--no-local-state").text
        self.assertIn("best that fits", text)
        self.assertIn("does not fit", text)

    def test_where_workspaces_decide_memory_is_a_range(self):
        """VGG-19 with 16 samples: cuDNN has 2.6 of 4.8 GB. h200/truth.json has the measured allocations of other batch
        sizes.
        """
        trace = support.data_file("h200/traces/vgg19_bs-16.json.gz")
        truth = {
            row["bs"]: row["mem_alloc_MB"] * 2**20
            for row in json.loads(support.data_file("h200/truth.json").read_text())["results"]
            if "bs" in row and {**row["cfg"], "bs": 0} == {"model": "vgg19", "bs": 0}
        }
        result = self.predict(trace, "--gpu", "H200,L4", "--batch-curve")
        whatif = support.headroom("whatif", trace, "batch-size:n=128", "--json").json()["scenarios"][0]["why"]
        self.assertIn(result["baseline"]["memory"]["batch_doubt"].split(",")[0], whatif)
        h200, l4 = result["targets"]
        points = {point["samples"]: point for point in h200["batch_curve"]["points"]}
        self.assertIsNone(points[16]["memory_other_bytes"])
        compared = [samples for samples in truth if samples > 16 and samples in points]
        self.assertGreaterEqual(len(compared), 3)
        for samples in compared:
            self.assertLess(points[samples]["memory_other_bytes"], truth[samples])
            self.assertGreater(points[samples]["memory_bytes"], truth[samples])
        self.assertGreater(h200["largest_batch_at_best"], 2 * h200["largest_batch"])
        of_l4 = {point["samples"]: point["fits"] for point in l4["batch_curve"]["points"]}
        self.assertEqual((of_l4[32], of_l4[128], of_l4[256]), (True, None, False))
        text = support.headroom(
            "predict", trace, "--gpu", "H200,L4", "--batch-curve", environment={"LC_ALL": "C.UTF-8"}
        ).text
        self.assert_readable_text(text, trace)
        self.assertIn("cuDNN's workspace is a large part of the memory", text)
        self.assertIn(f" {h200['largest_batch']:.0f}-{h200['largest_batch_at_best']:.0f} ", text)
        self.assertIn("may not fit", text)
        sound = self.predict(GPU_BOUND, "--gpu", "H200")
        self.assertIsNone(sound["baseline"]["memory"]["batch_doubt"])
        self.assertIsNone(sound["targets"][0]["largest_batch_at_best"])

    def test_a_host_that_is_the_limit_launches_as_slowly_for_more(self):
        points = self.predict(HOST_BOUND, "--gpu", "B200", "--batch-curve")["targets"][0]["batch_curve"]["points"]
        self.assertAlmostEqual(points[0]["step_ms"]["mid"] / points[1]["step_ms"]["mid"], 1, delta=0.02)
        self.assertAlmostEqual(points[1]["samples_per_s"] / points[0]["samples_per_s"], 2, delta=0.04)

    def test_it_needs_a_trace_that_tells_its_samples(self):
        self.assert_refused(
            support.headroom("predict", "--ops", self.write("ops.csv", OPERATORS), "--batch-curve"),
            2,
            "--batch-curve",
            "TRACE",
        )

    def test_a_recording_without_steps_has_neither_a_curve_nor_samples(self):
        unmarked = support.DATA / "public-traces" / "tracelens__torch_compile_triton__trace.json.gz"
        if not unmarked.is_file():
            raise self.skipTest(f"no {unmarked}; set HEADROOM_DATA")
        self.assert_refused(
            support.headroom("predict", unmarked, "--gpu", "L4", "--batch-curve"), 3, "--batch-curve", "--step-marker"
        )
        self.assertIsNone(self.predict(unmarked, "--gpu", "L4")["targets"][0]["energy_joules_per_sample"])


class Energy(PredictTest):
    def test_parts_add_up_and_a_sample_is_a_share(self):
        result = self.predict(GPU_BOUND, "--gpu", "V100,T4")
        for told in (result["baseline"], *result["targets"]):
            self.assertAlmostEqual(sum(told["energy_parts_joules"].values()) / told["energy_joules"], 1, places=6)
            self.assertAlmostEqual(told["energy_joules_per_sample"] * 64, told["energy_joules"], places=6)
        self.assertIn(
            "J per step, 80 % interval of 10 % to either side (",
            support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--full").text,
        )
        parts = result["baseline"]["energy_parts_joules"]
        self.assertGreater(parts["backward"], 1.5 * parts["forward"])
        self.assertLess(parts["optimizer"], 0.1 * parts["forward"])
        waiting = self.predict(HOST_BOUND, "--gpu", "H200")["targets"][0]
        self.assertGreater(
            waiting["energy_parts_joules"]["idle"] / waiting["energy_joules"],
            parts["idle"] / result["baseline"]["energy_joules"],
        )
        listed = self.predict("--ops", self.write("ops.csv", OPERATORS), "--gpu", "V100")["targets"][0]
        self.assertAlmostEqual(sum(listed["energy_parts_joules"].values()) / listed["energy_joules"], 1, places=6)
        self.assertEqual(listed["energy_parts_joules"]["backward"], 0)
        self.assertIsNone(listed["energy_joules_per_sample"])


class MemoryTimelines(PredictTest):
    """Tests the data that PyTorch's memory profiler recorded in the trace."""

    def test_the_recorded_peak_counts_and_its_parts_are_told(self):
        timeline = self.write(
            "m.raw.json.gz",
            gzip.compress(
                json.dumps(
                    [
                        [-1, 1, 100 << 20, 0],
                        [-1, 1, 200 << 20, 1],
                        [5, 2, 30 << 30, 7],
                        [6, 3, -(30 << 30), 7],
                        [6, 3, 30 << 30, 4],
                        [9, 4, -(30 << 30), 4],
                    ]
                ).encode()
            ),
        )
        result = self.predict(GPU_BOUND, "--gpu", "V100,T4", "--memory-timeline", timeline)
        memory = result["baseline"]["memory"]
        self.assertEqual(memory["recorded"]["activations_bytes"], 30 << 30)
        self.assertEqual(memory["recorded_peak_bytes"], (300 << 20) + (30 << 30))
        v100, t4 = self.predict(GPU_BOUND, "--gpu", "V100,T4", "--memory-timeline", timeline, "--batch-curve")[
            "targets"
        ]
        self.assertEqual((v100["fits"], t4["fits"]), (None, False))  # 34 GB used: too close to decide, and 16 GB.
        self.assertLess(t4["largest_batch"], 64)
        points = {point["samples"]: point for point in t4["batch_curve"]["points"]}
        self.assertAlmostEqual(points[64]["memory_bytes"], memory["recorded_peak_bytes"], delta=1)
        self.assertFalse(points[64]["fits"])
        text = support.headroom(
            "predict", GPU_BOUND, "--gpu", "T4", "--memory-timeline", timeline, "--no-local-state"
        ).text
        self.assertIn("Recorded  32.5 GB at the peak", text)
        self.assertIn("Check that the timeline belongs to this job:", text)

    def test_without_a_model_the_recording_is_the_answer(self):
        bare = json.loads(gzip.decompress(GPU_BOUND.read_bytes()))
        for event in bare["traceEvents"]:
            event.get("args", {}).pop("Input Dims", None)
        timeline = self.write("m.raw", json.dumps([[-1, 1, 20 << 30, 0]]))
        result = self.predict(
            self.write("bare.json", json.dumps(bare)), "--gpu", "H200,T4", "--memory-timeline", timeline
        )
        self.assertIsNone(result["baseline"]["memory"])
        self.assertIn("21.5 GB were recorded", result["baseline"]["no_memory"])
        self.assertEqual(
            [(target["fits"], target["memory_bytes"]) for target in result["targets"]],
            [(True, 20 << 30), (False, 20 << 30)],
        )

    def test_what_is_no_timeline_is_refused(self):
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--memory-timeline", self.write("m.raw", "[[1, 2]]")),
            3,
            "m.raw",
            "entry 1",
        )
        for text, named in (
            ("[[1, 4, -5, 5], [2, 1, 10, 0]]", "more bytes are freed"),
            ("[[5, 1, 5, 0], [1, 1, 5, 0]]", "earlier"),
            ("[[1, 99, 5, 0]]", "action"),
        ):
            self.assert_refused(
                support.headroom("predict", GPU_BOUND, "--memory-timeline", self.write("m.raw", text)),
                3,
                "m.raw",
                named,
            )
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--memory-timeline", self.scratch / "none.raw"), 3, "none.raw"
        )
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, HOST_BOUND, "--memory-timeline", self.write("m.raw", "[]")),
            2,
            "one TRACE",
        )

    def test_the_model_says_what_another_run_of_the_network_allocated(self):
        """Tests a public recording of the same network, ResNet-50, with half the batch, on an unnamed GPU."""
        timeline = support.DATA / "public-traces" / "hta__memory_timeline.raw.gz"
        if not timeline.is_file():
            raise self.skipTest(f"no {timeline}; set HEADROOM_DATA")
        memory = self.predict(GPU_BOUND, "--gpu", "H200", "--memory-timeline", timeline)["baseline"]["memory"]
        points = {
            point["samples"]: point
            for point in self.predict(GPU_BOUND, "--gpu", "H200", "--batch-curve")["targets"][0]["batch_curve"][
                "points"
            ]
        }
        self.assertAlmostEqual(memory["parameters_bytes"] / memory["recorded"]["parameters_bytes"], 1, delta=0.01)
        self.assertAlmostEqual(
            memory["optimizer_state_bytes"] / memory["recorded"]["optimizer_state_bytes"], 1, delta=0.01
        )
        self.assertAlmostEqual(points[32]["memory_bytes"] / memory["recorded_peak_bytes"], 1, delta=0.03)


class MeasuredEnergy(PredictTest):
    def measured(self, watts):
        """Returns the sample with a power counter of its GPU, and one of another GPU that the job does not use."""
        with gzip.open(GPU_BOUND) as file:
            trace = json.load(file)
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
        self.assertEqual({e["args"]["device"] for e in kernels}, {0})
        first, last = min(e["ts"] for e in kernels), max(e["ts"] for e in kernels)
        for part in range(-100, 1101):
            at = first + (last - first) * part / 1000
            values = {"GPU 0": watts * (at - first) / 1e6 + 1e6, "GPU 1": 500 * (at - first) / 1e6 + 1e6}
            trace["traceEvents"] += [
                {"ph": "C", "name": "gpu_energy_j", "pid": 1, "ts": at, "args": {gpu: value}}
                for gpu, value in values.items()
            ]
        return self.write("measured.json", json.dumps(trace))

    def test_what_was_measured_is_what_the_row_of_that_gpu_says(self):
        plain = self.predict(GPU_BOUND, "--gpu", "H200,L4")
        watts = 1.15 * plain["baseline"]["energy_joules"] / plain["baseline"]["step_ms"] * 1e3
        result = self.predict(self.measured(watts), "--gpu", "H200,L4", "--total-steps", "1000")
        base, (h200, l4), (_, l4_by_model) = result["baseline"], result["targets"], plain["targets"]
        self.assertEqual(
            (base["energy_source"], h200["energy_source"], l4["energy_source"]), ("counter", "counter", "model")
        )
        for key in ("energy_joules", "energy_error_pct", "energy_carried", "energy_parts_joules"):
            self.assertEqual(h200[key], base[key], key)
        self.assertIsNone(base["energy_carried"])
        self.assertAlmostEqual(
            base["energy_joules"] / plain["baseline"]["energy_joules"], l4["energy_carried"], places=6
        )
        self.assertGreater(l4["energy_carried"], 1.1)
        limit = 72 * l4["step_ms"]["mid"] / 1e3  # An L4's power.
        self.assertAlmostEqual(
            l4["energy_joules"], min(limit, l4["energy_carried"] * l4_by_model["energy_joules"]), delta=0.01 * limit
        )
        self.assertIn("energy on H200", l4["why"])
        self.assertIsNone(l4_by_model["energy_carried"])
        self.assertAlmostEqual(h200["co2_kg"] / l4["co2_kg"], h200["energy_joules"] / l4["energy_joules"], places=6)


class Plans(PredictTest):
    def test_hours_money_and_co2(self):
        result = self.predict(
            GPU_BOUND,
            "--gpu",
            "A100-80,H200",
            "--total-steps",
            "1000000",
            "--prices",
            self.write("p.toml", PRICES),
            "--region",
            "fr",
            "--pue",
            "1.1",
        )
        a100, h200 = result["targets"]
        self.assertAlmostEqual(a100["hours"], a100["step_ms"]["mid"] * 1e6 / 3.6e6)
        self.assertAlmostEqual(a100["money"], 3 * a100["hours"])
        self.assertEqual(a100["currency"], "EUR")
        self.assertIsNone(h200["money"])
        self.assertIn("France", result["carbon"])
        options = result["options"]
        self.assertEqual([(o["instance"], o["cheapest"], o["pareto"]) for o in options], [("one", True, True)])
        grams = float(result["carbon"].split("(")[1].split()[0])
        self.assertAlmostEqual(
            a100["co2_kg"], a100["energy_joules"] * 1e6 / 3.6e6 * 1.1 * grams / 1e3, delta=0.02 * a100["co2_kg"]
        )

    def test_one_rank_is_not_the_whole_job(self):
        with gzip.open(GPU_BOUND) as file:
            trace = json.load(file)
        prices = self.write(
            "p.toml",
            "".join(
                PRICES.replace('"one"', f'"of {gpus}"').replace("gpus = 1", f"gpus = {gpus}").replace("3.0", str(price))
                for gpus, price in ((1, 3.0), (4, 11), (16, 50))
            ),
        )
        args = ("--gpu", "A100-80", "--total-steps", "1000000", "--prices", prices)
        one = self.predict(GPU_BOUND, *args)
        trace["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 8}
        path = self.write("rank0.json", json.dumps(trace))
        eight = self.predict(path, *args)
        alone, all_ranks = one["targets"][0], eight["targets"][0]
        self.assertEqual((alone["gpus"], all_ranks["gpus"], eight["baseline"]["gpus"]), (1, 8, 8))
        self.assertEqual(all_ranks["hours"], alone["hours"])
        for key in ("energy_joules", "co2_kg"):
            self.assertAlmostEqual(all_ranks[key], 8 * alone[key], delta=1e-6 * all_ranks[key], msg=key)
        self.assertAlmostEqual(all_ranks["energy_joules_per_sample"], alone["energy_joules_per_sample"], places=9)
        self.assertAlmostEqual(sum(all_ranks["energy_parts_joules"].values()) / all_ranks["energy_joules"], 1, places=6)
        self.assertEqual(
            [(o["instance"], o["instances"], o["scaled_out"] is None) for o in one["options"]],
            [("of 4", 1, False), ("of 1", 1, True), ("of 16", 1, False)],
        )
        self.assertEqual([o["scaled_out"] for o in eight["options"]], [None, None, None])
        self.assertEqual(
            [(o["instance"], o["instances"], o["cheapest"]) for o in eight["options"]],
            [("of 4", 2, True), ("of 1", 8, False), ("of 16", 1, False)],
        )
        self.assertEqual([round(o["money"] / o["hours"], 6) for o in eight["options"]], [22, 24, 50])
        self.assertAlmostEqual(all_ranks["money"], 22 * all_ranks["hours"])
        text = support.headroom("predict", path, *args, environment={"LC_ALL": "C.UTF-8"}).text
        self.assert_readable_text(text, args)
        for part in ("on 8 GPUs", "8 x A100-80", "2 x here of 4"):
            self.assertIn(part, text)

    def test_a_job_of_one_gpu_is_scaled_out_as_headroom_scale_does_it(self):
        def machine(gpus, cluster=""):
            return (
                PRICES.replace('"one"', f'"of {gpus}{cluster}"')
                .replace("A100-80", "H200")
                .replace("gpus = 1", f"gpus = {gpus}" + (f'\ncluster = "{cluster}"' if cluster else ""))
            )

        prices = self.write("p.toml", machine(1) + machine(8, "aws-p5.48xlarge") + machine(4))
        for trace in (GPU_BOUND, HOST_BOUND):
            result = self.predict(trace, "--gpu", "H200", "--total-steps", "1000000", "--prices", prices)
            options = {option["instance"]: option for option in result["options"]}
            alone = options["of 1"]
            self.assertIsNone(alone["scaled_out"])
            self.assertIsNone(result["not_scaled_out"])
            for name, gpus, network in (
                ("of 8aws-p5.48xlarge", 8, ("--cluster", "aws-p5.48xlarge")),
                ("of 4", 4, ("--gpus-per-node", "4", "--latency-us", "0")),
            ):
                with self.subTest(trace=trace.name, machine=name):
                    option = options[name]
                    (point,) = support.headroom("scale", trace, "--gpus", gpus, *network, "--json").json()["points"]
                    step = option["scaled_out"]["step_ms"]
                    # Waits for the slowest rank are a share of the computation, which each finds in its own way.
                    self.assertAlmostEqual(step["mid"] / point["step_ms"]["mid"], 1, delta=0.01)
                    self.assertAlmostEqual(option["scaled_out"]["efficiency_pct"], point["efficiency_pct"], delta=1)
                    # Both add the uncertainty of transfers to the host's; other errors combine in their own ways.
                    for end in ("low", "high"):
                        self.assertAlmostEqual(step[end], point["step_ms"][end], delta=0.03 * step["mid"])
                    self.assertAlmostEqual(option["hours"], step["mid"] * 1e6 / gpus / 3.6e6)
                    self.assertAlmostEqual(option["money"], 3 * option["hours"])
                    # The samples are the same, and all of them wait for the exchange.
                    self.assertGreater(option["co2_kg"], alone["co2_kg"])
                    self.assertLess(option["co2_kg"], 1.2 * alone["co2_kg"])
        # A target's cost is for the same number of GPUs as in the recorded job.
        self.assertEqual(result["targets"][0]["money"], alone["money"])
        # Azure writes its instance names differently from the shipped file.
        azure = machine(8).replace('"here"', '"azure"').replace('"of 8"', '"Standard_ND96asr_v4"')
        (option,) = self.predict(
            GPU_BOUND, "--gpu", "H200", "--total-steps", "5", "--prices", self.write("w.toml", azure)
        )["options"]
        self.assertIn("ND96asr", option["scaled_out"]["network"])
        self.assertAlmostEqual(option["hours"], option["scaled_out"]["step_ms"]["mid"] / 3.6e6)  # At least one step.
        # The name of a machine with fewer GPUs does not imply its links.
        named = machine(16).replace('"here"', '"aws"').replace('"of 16"', '"p4d.24xlarge"')
        (option,) = self.predict(
            GPU_BOUND, "--gpu", "H200", "--total-steps", "5", "--prices", self.write("w.toml", named)
        )["options"]
        self.assertEqual(option["scaled_out"]["network"], "16 GPUs behind PCIe 4.0")
        for wrong, said in (
            (machine(8).replace("H200", "H2OO"), "'H2OO'"),
            (machine(8, "dgx-9"), "dgx-a100"),
            (machine(16, "dgx-a100"), "has 16 GPUs, but a machine of dgx-a100 has 8"),
        ):
            self.assert_refused(
                support.headroom(
                    "predict", GPU_BOUND, "--gpu", "H200", "--total-steps", "5", "--prices", self.write("w.toml", wrong)
                ),
                3,
                "w.toml, line 2",
                said,
            )

    def test_what_an_exchange_adds_is_of_the_machine_that_it_is_planned_on(self):
        def grown(trace, gpu, *flags):
            """Returns the ms that a step of 8 GPUs takes longer than a step of one over very fast links, and its
            efficiency.
            """
            prices = self.write(
                "p.toml", PRICES.replace("A100-80", gpu).replace("gpus = 1", 'gpus = 8\ncluster = "dgx-h100"')
            )
            result = self.predict(trace, "--gpu", gpu, "--total-steps", "1000", "--prices", prices, *flags)
            scaled = result["options"][0]["scaled_out"]
            alone = result["targets"][0]["step_ms"]["mid"]
            return scaled["step_ms"]["mid"] - alone, scaled["efficiency_pct"], alone

        # In a host-bound job, the host factor also applies to launches of the added kernels.
        _, usual, _ = grown(HOST_BOUND, "H200")
        for factor in ("0.25", "2"):
            self.assertAlmostEqual(grown(HOST_BOUND, "H200", "--host-factor", factor)[1], usual, delta=1)
        # On L4, the reducer copies 102 MB of gradients into its buckets and back. Reading and writing at 0.3 TB/s takes
        # at least 1.4 ms. There are 322 copies, and starting one takes 1.2 us. Delays of the sums are below 1 ms.
        added, _, alone = grown(GPU_BOUND, "L4")
        self.assertGreater(added, 4 * 102.2e6 / 300e9 * 1e3 + 322 * 1.2e-3)
        # The slowest of 8 ranks takes 1.42 deviations of 2 % longer.
        waits = 1.42 * 0.02 * alone
        self.assertLess(added, 2 * 4 * 102.2e6 / 300e9 * 1e3 + 322 * 1.2e-3 + 1 + waits)

    def test_buckets_of_gradients_must_fit_as_well(self):
        trace = support.data_file("h200/traces/gpt2_amp-bf16_attn-sdpa_opt-fused.json.gz")
        prices = self.write(
            "p.toml",
            "".join(
                PRICES.replace('"one"', f'"of {gpu}"').replace("A100-80", gpu).replace("gpus = 1", "gpus = 4")
                for gpu in ("P4", "L4")
            ),
        )
        plan = (trace, "--gpu", "P4,L4", "--total-steps", "1000", "--prices", prices)
        result = self.predict(*plan)
        self.assertEqual([option["instance"] for option in result["options"]], ["of L4"])
        self.assertIn("P4: the gradient buckets", result["not_scaled_out"])
        self.assertNotIn("L4", result["not_scaled_out"])
        text = support.headroom("predict", *plan[:2], "P4", *plan[3:]).text
        self.assertIn("Instances of several GPUs are left out: P4: the gradient buckets", " ".join(text.split()))

    def test_a_list_of_operators_is_scaled_out_where_it_trains(self):
        prices = self.write("p.toml", PRICES + PRICES.replace('"one"', '"of 8"').replace("gpus = 1", "gpus = 8"))
        linear = ["Linear", [4096, 4096, 4096]]

        def plan(**backward):
            ops = self.write("ops.json", json.dumps([{"op": "Linear", "repeat": 12, "fw": [linear], **backward}]))
            return self.predict("--ops", ops, "--gpu", "A100-80", "--total-steps", "1000", "--prices", prices)

        trained = plan(bw=[linear, linear], acc=[["VECadd", [4096, 4096]]], mode="train")
        eight = next(option for option in trained["options"] if option["instance"] == "of 8")
        self.assertIsNone(trained["not_scaled_out"])
        self.assertLess(eight["scaled_out"]["efficiency_pct"], 100)
        self.assertGreater(eight["scaled_out"]["step_ms"]["mid"], trained["targets"][0]["step_ms"]["mid"])
        self.assertGreater(eight["co2_kg"], trained["targets"][0]["co2_kg"])
        inference = plan()
        self.assertEqual([option["instance"] for option in inference["options"]], ["one"])
        self.assertIn("gradient", inference["not_scaled_out"])
        ops = self.write("ops.json", json.dumps([{"op": "Linear", "repeat": 12, "fw": [linear]}]))
        for listed in (prices, self.write("eight.toml", PRICES.replace("gpus = 1", "gpus = 8"))):
            text = support.headroom(
                "predict", "--ops", ops, "--gpu", "A100-80", "--total-steps", "1000", "--prices", listed
            ).text
            self.assertIn("Instances of several GPUs are left out: A100-80: ", text)

    def test_public_traces_of_one_rank_are_priced_as_their_job(self):
        for name, gpus in (("tracelens__mi300__resnet_act_checkpoint", 8), ("hta__nccl_parser_config__nccl_data", 2)):
            trace = support.data_file(f"public-traces/{name}.json.gz")
            result = self.predict(trace, "--gpu", "A100-80", "--total-steps", "100000")
            self.assertEqual(result["targets"][0]["gpus"], gpus, name)
            for option in result["options"]:
                self.assertGreaterEqual(option["instances"] * option["gpus"], gpus, name)

    def test_a_job_has_readable_figures_and_what_does_not_fit_is_marked(self):
        plan = ("--gpu", "A100-80,H200,P4", "--total-steps")
        timeline = self.write("m.raw.json", json.dumps([[-1, 1, 20 << 30, 0]]))
        text = support.headroom("predict", GPU_BOUND, *plan, "500", "--memory-timeline", timeline).text
        jobs = text[text.index("The whole job") : text.index("Instances to rent")]
        self.assertRegex(jobs, r"H200 +[0-9.]+ s +[0-9.]+ g\n")
        self.assertRegex(jobs, r"P4 +[0-9.]+ min +[0-9.]+ g +does not fit\n")
        self.assertNotRegex(text[text.index("The whole job") :], r"\de[-+]\d| 0\.0+ ")
        short = self.predict(GPU_BOUND, *plan, "2")
        self.assertEqual(short["equivalents"], [])
        self.assertRegex(support.headroom("predict", GPU_BOUND, *plan, "2").text, r" <?0\.00\d+ USD")

    def test_the_equivalent_is_of_the_recorded_gpu_and_can_be_grasped(self):
        for gpus, shown in (
            ("A100-80,H200", "on H200 (as recorded): "),
            ("L4,A100-80", "on L4 (the cheapest that fits): "),
            ("MI210,H100-NVL", "on H100-NVL (the fastest that fits): "),
        ):
            for steps in ("10000", "1000000", "1000000000"):
                with self.subTest(gpus=gpus, steps=steps):
                    (told,) = self.predict(GPU_BOUND, "--gpu", gpus, "--total-steps", steps)["equivalents"]
                    self.assertTrue(told.startswith(shown), told)
                    times = told.removeprefix(shown).split()[0].replace(",", "")
                    self.assertGreaterEqual(float(times), 0.5)
                    if steps != "1000000000":
                        self.assertLess(float(times), 1000)
        # A GPU without enough memory is not an example. If the memory is uncertain, the text does not claim that the
        # job fits.
        for gib, shown in ((40, "on A100-80 (the cheapest that fits)"), (60, "on A100-80 (the cheapest):")):
            timeline = self.write("m.raw.json", json.dumps([[-1, 1, gib << 30, 0]]))
            (told,) = self.predict(
                GPU_BOUND, "--gpu", "L4,A100-80", "--total-steps", "1000000", "--memory-timeline", timeline
            )["equivalents"]
            self.assertIn(shown, told)

    def test_each_of_several_jobs_has_its_own_table_of_instances(self):
        # The file name is printed, even if its folder is very long.
        deep = self.scratch / "a_folder_with_a_long_name" / "and_one_inside_it_whose_name_is_long_too"
        deep.mkdir(parents=True)
        shutil.copy(HOST_BOUND, deep)
        text = support.headroom(
            "predict",
            GPU_BOUND,
            deep / HOST_BOUND.name,
            "--gpu",
            "L4,T4",
            "--total-steps",
            "1000000",
            environment={"LC_ALL": "C.UTF-8"},
        ).text
        self.assert_readable_text(text, "two jobs")
        first, second = text.split("Instances to rent  ")[1:]
        for table, trace in ((first, GPU_BOUND), (second, HOST_BOUND)):
            self.assertIn(trace.name, table.splitlines()[0])
            self.assertEqual(len(re.findall(r" (best|cheapest)\n", table)), 1, table)
        told = self.predict(GPU_BOUND, HOST_BOUND, "--gpu", "L4,T4", "--total-steps", "1000000")["equivalents"]
        self.assertEqual([line.split(", on L4")[0] for line in told], [str(GPU_BOUND), str(HOST_BOUND)])

    def test_an_instance_has_the_grid_of_its_own_region(self):
        def option(region, *flags):
            prices = self.write("p.toml", PRICES.replace('region = "r"', f'region = "{region}"'))
            return self.predict(GPU_BOUND, "--gpu", "A100-80", "--total-steps", "1000000", "--prices", prices, *flags)[
                "options"
            ][0]

        def co2(region, *flags):
            return option(region, *flags)["co2_kg"]

        self.assertIn("France", option("FR")["carbon"])
        self.assertIn("the grid of 'r' is unknown", option("r")["carbon"])
        self.assertIn("Germany", option("r", "--region", "DE")["carbon"])
        self.assertAlmostEqual(co2("FR"), co2("r", "--region", "FR"))
        self.assertLess(co2("FR"), 0.5 * co2("r"))

    def test_options_within_limits_of_time_and_money(self):
        plan = (GPU_BOUND, "--gpu", "L4,T4,V100-SXM-16,A100-SXM-40", "--total-steps", "1000000", "--provider", "AWS")
        every = self.predict(*plan)
        self.assertEqual({option["provider"] for option in every["options"]}, {"aws"})
        self.assertEqual(every["options_over_limits"], 0)
        hours = sorted(option["hours"] for option in every["options"])
        money = sorted(option["money"] for option in every["options"])
        self.assertGreaterEqual(len(hours), 3)
        for flag, key, values in (("--max-hours", "hours", hours), ("--max-money", "money", money)):
            limit = values[len(values) // 2]
            within = self.predict(*plan, flag, limit)
            self.assertEqual(
                [option["instance"] for option in within["options"]],
                [option["instance"] for option in every["options"] if option[key] <= limit],
            )
            self.assertEqual(within["options_over_limits"], len(every["options"]) - len(within["options"]))
            self.assertTrue(any(option["cheapest"] for option in within["options"]))
        self.assertIn(
            "no instance in the list meets the limits", support.headroom("predict", *plan, "--max-hours", "0.001").text
        )
        for wrong in (("--max-hours", "0"), ("--max-money", "-1"), ("--max-money", "nan")):
            self.assert_refused(support.headroom("predict", *plan, *wrong), 2, wrong[0])
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "L4", "--max-hours", "5"), 2, "--total-steps"
        )
        currencies = self.write("p.toml", PRICES + PRICES.replace("EUR", "USD").replace('"one"', '"two"'))
        self.assert_refused(
            support.headroom(
                "predict",
                GPU_BOUND,
                "--gpu",
                "A100-80",
                "--total-steps",
                "5",
                "--prices",
                currencies,
                "--max-money",
                "5",
            ),
            2,
            "several",
        )

    def test_bad_prices_are_refused_with_file_and_line(self):
        for wrong, right, line, fragment in (
            ("price_per_hour = -3.0", "price_per_hour = 3.0", 8, "price_per_hour"),
            ("", 'date = "2025-11"\n', 2, "date"),
            ('date = "soon"', 'date = "2025-11"', 10, "date"),
            ('currency = "dollars"', 'currency = "EUR"', 9, "capital letters"),
            ('date = "2025-02-30"', 'date = "2025-11"', 10, "calendar"),
            ('date = "2999-01"', 'date = "2025-11"', 10, "future"),
        ):
            path = self.write("p.toml", PRICES.replace(right, wrong))
            self.assert_refused(
                support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--total-steps", "5", "--prices", path),
                3,
                f"p.toml, line {line}",
                fragment,
            )
        twice = self.write("p.toml", PRICES + PRICES)
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--total-steps", "5", "--prices", twice),
            3,
            "p.toml, line 15",
            "already listed",
        )
        unknown = self.write("p.toml", PRICES.replace("A100-80", "A1000-80"))
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--total-steps", "5", "--prices", unknown),
            3,
            "A1000-80",
        )

    def test_a_list_without_prices_is_refused(self):
        self.assert_refused(
            support.headroom(
                "predict", GPU_BOUND, "--gpu", "T4", "--total-steps", "5", "--prices", self.write("p.toml", "# none\n")
            ),
            3,
            "p.toml",
            "[[instance]]",
        )

    def test_an_unknown_grid_names_near_ones(self):
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--total-steps", "5", "--region", "gcp:europe-west"),
            2,
            "gcp:europe-west1",
        )
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--total-steps", "5", "--pue", "0.5"), 2, "from 1"
        )
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--total-steps", "5", "--pue", "nan"), 2, "from 1"
        )

    def test_shipped_prices_name_known_gpus(self):
        result = self.predict(GPU_BOUND, "--total-steps", "1000")
        self.assertGreater(len(result["options"]), 8)
        self.assertIn("sample", result["prices"])


class Devices(PredictTest):
    def changed(self, device, short_name="CHANGED", **figures):
        """Writes a copy of a shipped device file with some figures multiplied by a factor."""
        text = (support.ROOT / f"data/devices/{device}.toml").read_text(encoding="utf-8")
        for key, value in (("name", f'"{short_name}"'), ("short_name", f'"{short_name}"'), ("match", "[]")):
            text, found = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
            self.assertEqual(found, 1, key)
        for key, factor in figures.items():

            def scaled(match: re.Match[str], factor=factor) -> str:
                return f"{match[1]}{factor * float(match[2])}"

            text, found = re.subn(rf"^({key} = {{ value = )([0-9._]+)", scaled, text, flags=re.MULTILINE)
            self.assertEqual(found, 1, key)
        return self.write(f"{short_name}.toml", text)

    def steps(self, trace, gpus, path):
        targets = self.predict(trace, "--gpu", gpus, "--gpu-file", path)["targets"]
        return {target["gpu"]: target["step_ms"]["mid"] for target in targets}

    def test_the_same_data_sheet_is_the_same_gpu_and_a_weaker_sibling_is_not_faster(self):
        for trace in (GPU_BOUND, HOST_BOUND):
            steps = self.steps(trace, "H200,CHANGED,H200-NVL,H100", self.changed("nvidia_h200"))
            self.assertAlmostEqual(steps["CHANGED"] / steps["H200"], 1, delta=0.02, msg=trace.name)
            for weaker in ("H200-NVL", "H100"):
                self.assertGreaterEqual(steps[weaker], steps["CHANGED"], (trace.name, weaker))

    def test_a_better_figure_slows_nothing(self):
        flags, pairs = [], []
        for device, gpu in (("nvidia_t4", "T4"), ("nvidia_l4", "L4"), ("nvidia_a100_pcie_80", "A100-80")):
            for figure in ("fp32_tflops", "memory_bandwidth_gbs", "tdp_w", "l2_bytes"):
                better = f"{gpu}-{figure}"
                flags += ["--gpu-file", self.changed(device, better, **{figure: 2})]
                pairs.append((gpu, better))
        names = ",".join(sorted({name for pair in pairs for name in pair}))
        targets = self.predict(GPU_BOUND, HOST_BOUND, "--gpu", names, *flags)["targets"]
        steps = {(target["workload"], target["gpu"]): target["step_ms"]["mid"] for target in targets}
        for trace in (GPU_BOUND, HOST_BOUND):
            for gpu, better in pairs:
                self.assertLessEqual(
                    steps[str(trace), better], 1.001 * steps[str(trace), gpu], (trace.name, gpu, better)
                )

    def test_an_unknown_gpu_lists_near_names_and_how_to_add_one(self):
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "A100-90"), 2, "A100-80", "--gpu-file", "docs/devices.md"
        )

    def test_no_name_of_a_list_is_empty(self):
        for names in ("A100-80,,L4", "", ",L4", "L4,"):
            self.assert_refused(
                support.headroom("predict", GPU_BOUND, "--gpu", names), 2, "--gpu", f"'{names}' has an empty name"
            )
        self.assertEqual([t["gpu"] for t in self.predict(GPU_BOUND, "--gpu", "L4,T4")["targets"]], ["L4", "T4"])

    def test_a_file_adds_a_gpu(self):
        path = self.write("mine.toml", DEVICE)
        target = self.predict(GPU_BOUND, "--gpu", "mine", "--gpu-file", path)["targets"][0]
        self.assertEqual(target["name"], "Mine 9000")
        self.assertTrue(target["extrapolated"])
        self.assertIn("l2_bytes", target["why"])
        self.assertIsNone(target["energy_joules"])

    def test_the_memory_of_a_users_gpu_is_nominal_unless_its_file_says_otherwise(self):
        figure = 'memory_bytes = { value = 25_769_803_776, unit = "B", source = "vendor\'s sheet: 24 GB" }\n'
        sheet = DEVICE.replace("HBM2e", "GDDR6") + figure
        for key, share in (("", 0.92), ("memory_is_usable = false\n", 0.92), ("memory_is_usable = true\n", 1)):
            device = self.write("mine.toml", sheet.replace("match = []", key + "match = []"))
            target = self.predict(GPU_BOUND, "--gpu", "mine", "--gpu-file", device)["targets"][0]
            self.assertAlmostEqual(target["gpu_memory_bytes"] / 25_769_803_776, share, places=9, msg=key)
        device = self.write("mine.toml", sheet.replace("match = []", 'memory_is_usable = "yes"\nmatch = []'))
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "mine", "--gpu-file", device),
            3,
            "memory_is_usable",
            "true or false",
        )

    def test_a_users_gpu_changes_no_other(self):
        before = self.predict(GPU_BOUND, "--gpu", "A100-40")["targets"]
        added = self.write("mine.toml", DEVICE + 'tdp_w = { value = 700, unit = "W", source = "own" }\n')
        self.assertEqual(before, self.predict(GPU_BOUND, "--gpu", "A100-40", "--gpu-file", added)["targets"])

    def test_impossible_figures_are_refused(self):
        for wrong, fragment in (
            (DEVICE.replace("value = 100", "value = 0"), "sm_count"),
            (DEVICE.replace("TFLOP/s", "GFLOP/s"), "TFLOP/s"),
            (DEVICE.replace("[figures]", "[figures"), "line"),
        ):
            self.assert_refused(
                support.headroom("predict", GPU_BOUND, "--gpu", "mine", "--gpu-file", self.write("mine.toml", wrong)),
                3,
                "mine.toml",
                fragment,
            )
        lacking = self.write("mine.toml", DEVICE.replace("sm_count", "# sm_count"))
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "mine", "--gpu-file", lacking),
            3,
            "mine.toml, line 8",
            "sm_count",
            "docs/devices.md",
        )


class LocalState(support.ProgramTest):
    """Tests the learned corrections of this machine. Most machines have none."""

    def test_a_folder_that_cannot_be_reached_is_none(self):
        file = self.write("file", "")
        closed = self.scratch / "closed"  # The home of another user: root can read it, but finds no data.
        closed.mkdir(mode=0)
        for state in (file, closed):
            for command in (
                ("predict", GPU_BOUND, "--gpu", "L4"),
                ("whatif", GPU_BOUND, "gpu-speed"),
                ("report", GPU_BOUND),
            ):
                with self.subTest(state=state.name, command=command[0]):
                    outcome = support.headroom(*command, environment={"XDG_STATE_HOME": str(state)})
                    self.assertEqual((outcome.code, outcome.message), (0, ""), outcome)
                    self.assertEqual(outcome.text, support.headroom(*command).text)
        self.assert_refused(
            support.headroom("whatif", GPU_BOUND, "gpu-speed", "--save", environment={"XDG_STATE_HOME": str(file)}),
            4,
            file,
        )

    def test_a_file_that_is_there_and_cannot_be_read_is_told_with_the_way_around(self):
        (self.scratch / "headroom/calibration.toml").mkdir(parents=True)
        state = {"XDG_STATE_HOME": str(self.scratch)}
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "L4", environment=state),
            3,
            "calibration.toml",
            "--no-local-state",
        )
        named = support.headroom(
            "predict", GPU_BOUND, "--gpu", "L4", "--calibration", file := self.write("file", "") / "mine.toml"
        )
        self.assert_refused(named, 3, file)


class Abstention(PredictTest):
    def test_a_trace_with_nothing_to_replay_is_answered_as_by_scale(self):
        path = support.GOLDEN / "no-gpu/trace.json"
        for command in (("scale", path), ("predict", path, "--gpu", "L4")):
            with self.subTest(command[0]):
                outcome = support.headroom(*command)
                self.assertEqual(outcome.code, 0)
                self.assertIn("nknown: ", outcome.text)
        answer = support.headroom("predict", path, GPU_BOUND, "--gpu", "L4", "--json").json()
        self.assertEqual(support.answer_violations(answer), [])
        self.assertEqual([row["trace"] for row in answer["abstained"]], [str(path)])
        self.assertIn("nothing to replay", answer["abstained"][0]["why"])
        self.assertEqual([row["workload"] for row in answer["targets"]], [str(GPU_BOUND)])
        self.assertIn("no-gpu/trace.json", support.headroom("predict", path, "--gpu", "L4", "--total-steps", "5").text)
        # These commands write the replayed job to a file, and there is no such job.
        for command in (("whatif", path, "--dump-graph"), ("export", path, "--to", "chakra", "-o")):
            self.assert_refused(
                support.headroom(*command, self.scratch / "x"), 3, "no-gpu/trace.json", "nothing to replay"
            )

    def test_without_a_replay_that_holds_it_abstains_as_whatif_does(self):
        trace = support.data_file("wild/tracelens__vllm_decode__graph_execution.json.gz")
        answer = self.predict(trace, "--from", "H100", "--gpu", "L4")
        self.assertEqual(answer["targets"], [])
        self.assertIn("the replay of the unchanged job is off by +8.5 %", answer["abstained"][0]["why"])
        whatif = support.headroom("whatif", "--json", "--quiet", trace).json()
        self.assertIsNone(whatif["baseline"]["corrected_step_ms"])


class Damage(PredictTest):
    """Tests an incomplete trace: the damage comes first, and the shown remedy is for it."""

    def cut(self, share):
        packed = GPU_BOUND.read_bytes()
        return self.write("cut.json.gz", packed[: int(len(packed) * share)])

    def test_what_cannot_be_told_of_a_cut_trace_is_for_the_cut(self):
        path = self.cut(0.3)
        for command in (("predict", path, "--gpu", "L4"), ("whatif", path), ("scale", path)):
            with self.subTest(command[0]):
                outcome = support.headroom(*command)
                self.assertEqual(outcome.code, 0, outcome)
                said = " ".join(outcome.text.split())
                self.assertIn("nknown: error truncated: the file ends in the middle of the trace", said)
                self.assertIn("Error cut-compression", said)
                self.assertIn("Remedy: copy the file again. In the remaining data, n", said)
                self.assertNotIn("record with", said)
        why = self.predict(path, "--gpu", "L4")["abstained"][0]["why"]
        self.assertIn("first at byte", why)

    def test_a_prediction_from_a_part_of_a_trace_says_so(self):
        path = self.cut(0.95)
        note = self.predict(path, "--gpu", "L4")["baseline"]["steps_note"]
        self.assertTrue(note.startswith("error truncated: "), note)
        self.assertIn("Forecasts use the remaining data", note)
        self.assertEqual(note, support.headroom("whatif", "--json", path, "gpu-speed").json()["baseline"]["steps_note"])
        self.assertIn("Note: error truncated", support.headroom("predict", path, "--gpu", "L4").text)
        self.assertIsNone(self.predict(GPU_BOUND, "--gpu", "L4")["baseline"]["steps_note"])


class Flags(PredictTest):
    def test_wrong_combinations_are_told(self):
        ops = self.write("ops.csv", OPERATORS)
        for args, fragment in (
            ((), "one input"),
            ((GPU_BOUND, "--ops", ops), "one input"),
            ((GPU_BOUND, "--to", "T4"), "--to requires"),
            (("--kernels", ops, "--from", "T4"), "--from NAME and --to NAME"),
            (("--ops", ops, "--from", "T4"), "leave out --from"),
            ((GPU_BOUND, "--region", "DE"), "--total-steps"),
            ((GPU_BOUND, "--host-factor", "0"), "host-factor"),
            ((GPU_BOUND, "--host-factor", "1e-300"), "host-factor"),
            ((GPU_BOUND, "--total-steps", "0"), "total-steps"),
            (("--ops", ops, "--host-factor", "2"), "require a TRACE"),
            ((GPU_BOUND, "--from", "P4"), "recorded on NVIDIA H200"),
            ((GPU_BOUND, "--total-steps", "5", "--provider", "nope"), "lambda"),
        ):
            self.assert_refused(support.headroom("predict", *args), 2, fragment)
        self.assert_refused(support.headroom("predict", GPU_BOUND, "--gpu", "T4", "-o", GPU_BOUND), 2, "-o")
        self.assert_refused(support.headroom("predict", self.scratch / "none.json", "--gpu", "T4"), 3, "none.json")
        self.assert_refused(
            support.headroom("predict", GPU_BOUND, "--gpu", "T4", "--constants", self.write("c.toml", "x = 1")),
            3,
            "c.toml",
        )
