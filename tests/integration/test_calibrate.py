"""Tests `headroom calibrate`: --host with a real training loop and profiler, --gpu with real operators on the available
device, --network with real all-reduces on the loopback."""
import csv
import socket
import subprocess
import tomllib

from integration import loading, support

SAMPLE = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"


class Calibrate(loading.WithPyTorch):
    def test_what_is_measured_is_found_by_later_runs(self):
        state = {"XDG_STATE_HOME": str(self.scratch)}
        for seconds in (1, 2, 4, 8):  # On a busy machine the command asks for a longer measurement.
            outcome = support.headroom(
                "calibrate", "--host", "--python", loading.PYTHON, "--seconds", seconds, environment=state
            )
            if outcome.code != 4:
                break
            self.assertIn("is within the noise", outcome.message)
        else:
            self.skipTest("the machine is too busy to measure on")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("a recorded operator", outcome.text)
        file = self.scratch / "headroom/calibration.toml"
        written = tomllib.loads(file.read_text())
        self.assertGreater(written["recording"]["operator_us"], 0.01)
        self.assertLess(written["recording"]["operator_us"], 50)

        def calibration(*args):
            return support.headroom("whatif", "--json", SAMPLE, "gpu-speed", *args, environment=state).json()[
                "baseline"
            ]

        # The sample comes from another machine ...
        self.assertIn("shipped default", calibration()["calibration"])
        # ... unless the user or the file says otherwise.
        self.assertIn(str(file), calibration("--calibration", file)["calibration"])
        machine = written["machine"]
        file.write_text(file.read_text().replace(machine, "1 x NVIDIA H200 (150109880320 bytes), driver 13000"))
        self.assertIn(str(file), calibration()["calibration"])
        self.assertIn("shipped default", calibration("--no-local-state")["calibration"])

    def test_a_file_that_is_no_calibration_is_refused(self):
        file = self.write("mine.toml", "[recording]\noperator_us = -3\n")
        self.assert_refused(support.headroom("whatif", SAMPLE, "--calibration", file), 3, "mine.toml", "operator_us")
        self.assert_refused(
            support.headroom("whatif", SAMPLE, "--calibration", self.scratch / "no.toml"), 2, "no.toml", "calibrate"
        )

    def test_a_python_without_pytorch_is_told_with_the_remedy(self):
        self.assert_refused(
            support.headroom(
                "calibrate", "--host", "-q", "--python", "/bin/false", environment={"XDG_STATE_HOME": str(self.scratch)}
            ),
            2,
            "/bin/false",
            "--python",
        )
        self.assert_refused(support.headroom("calibrate"), 2, "--host")
        self.assert_refused(support.headroom("calibrate", "--host", "--gpu"), 2, "choose one thing")


class Network(support.ProgramTest):
    def test_two_ranks_write_a_cluster_that_scale_reads(self):
        if subprocess.run([loading.PYTHON, "-c", "import torch.distributed"], capture_output=True).returncode != 0:
            self.skipTest(f"{loading.PYTHON} has no PyTorch; tools/setup installs it")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        file = self.scratch / "ours.toml"
        common = [
            "calibrate",
            "--network",
            "--master",
            f"127.0.0.1:{port}",
            "--python",
            loading.PYTHON,
            "--seconds",
            "2",
            "-q",
        ]
        other = subprocess.Popen(
            [support.BINARY, *common, "--rank", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**support.os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )
        outcome = support.headroom(
            *common, "--rank", "0", "-o", file, environment={"GLOO_SOCKET_IFNAME": "lo"}, seconds=120
        )
        self.assertEqual(other.communicate(timeout=60), (b"", b""))
        self.assertEqual((outcome.code, other.returncode), (0, 0), outcome)
        self.assertIn("of payload and", outcome.text)
        written = tomllib.loads(file.read_text())
        self.assertGreater(written["between"]["gbps"], 0.1)
        self.assertGreater(written["between"]["latency_us"], 0.1)
        scaled = support.headroom(
            "scale", SAMPLE, "--cluster", file, "--gpus", "2", "--no-local-state", "--json"
        ).json()
        self.assertEqual(scaled["points"][0]["cluster"], "measured")

    def test_usage(self):
        common = ("calibrate", "--network")
        for arguments, named in (
            ((), "--master"),
            (("--master", "here"), "ADDRESS:PORT"),
            (("--master", "a:1", "--world", "1"), "--world"),
            (("--master", "a:1", "--rank", "2"), "--rank"),
            (("--master", "a:1"), "-o FILE"),
            (("--master", "a:1", "--host"), "choose one thing"),
            (("--master", "a:1", "--backend", "mpi"), "mpi"),
        ):
            self.assert_refused(support.headroom(*common, *arguments), 2, named)
        self.assert_refused(support.headroom("calibrate", "--host", "--rank", "1"), 2, "--rank requires --network")


# Runs the GPU's program with small shapes on the CPU. Only the device and its clock differ.
MEASURE = """
import sys
sys.path.insert(0, {folder!r})
import calibrate_gpu as program
program.KINDS = {{kind: (3, ("fp32", "fp16"),
                         {{name: (min(low, 64), min(high, 256)) for name, (low, high) in extents.items()}})
                 for kind, (_count, _types, extents) in program.KINDS.items()}}
of_cpu = program.milliseconds_of
# Calls each operator, but returns a time that a GPU might take. No operator is then skipped for lack of time.
program.milliseconds_of = lambda call, clock, _seconds: (of_cpu(call, clock, 0.15), 0.05)[1]
with open(sys.argv[1], "w") as out:
    program.measure("cpu", "NVIDIA L4", 100, out)
"""


class CalibrateGpu(support.ProgramTest):
    def test_operators_are_timed_and_the_table_is_one_that_predict_takes(self):
        if not support.has_module(loading.PYTHON, "torch"):
            raise support.unittest.SkipTest(f"{loading.PYTHON} has no PyTorch; tools/setup installs it")
        program = self.write("measure.py", MEASURE.format(folder=str(support.ROOT / "python")))
        python = self.write("python", f'#!/bin/sh\necho a remark\nexec {loading.PYTHON} {program} "$2"\n')
        python.chmod(0o755)
        table = self.scratch / "l4.csv"
        outcome = support.headroom("calibrate", "--gpu", "--python", python, "-o", table)
        self.assertEqual(outcome.code, 0, outcome)
        rows = list(csv.DictReader(table.open()))
        self.assertEqual({row["op"] for row in rows}, {"linear", "bmm", "conv", "softmax", "ln", "add", "relu", "gelu"})
        self.assertEqual(
            {(row["device"], row["dtype"], row["timing"]) for row in rows}, {("NVIDIA L4", "fp32", "stream")}
        )
        self.assertTrue(all(float(row["latency_ms"]) > 0 for row in rows))
        for word in ("linear", "measured / model", "--gpu L4 --gpu-calibration"):
            self.assertIn(word, " ".join(outcome.text.split()))
        predicted = support.headroom("predict", "--json", SAMPLE, "--gpu", "L4", "--gpu-calibration", table).json()[
            "targets"
        ][0]
        self.assertEqual(predicted["measured_operators"], len(rows))

    def test_without_a_gpu_or_a_place_for_the_table_it_says_so(self):
        table = self.scratch / "none.csv"
        self.assert_refused(support.headroom("calibrate", "--gpu"), 2, "-o FILE")
        self.assert_refused(
            support.headroom("calibrate", "--gpu", "-q", "--python", "/bin/false", "-o", table),
            2,
            "/bin/false",
            "--python",
        )
        nowhere = self.scratch / "none" / "l4.csv"
        started = self.write("started", "")
        for text, path, code, *named in (
            ("echo device,op,latency_ms > $2", table, 2, "no operator was measured", "--seconds"),
            ("echo nonsense > $2", table, 4, "no table"),
            ("true", table, 4, "no table"),
            (
                "echo device,op,rows,cols,timing,latency_ms > $2; echo NVIDIA L4,add,64,64,stream,0.001 >> $2",
                table,
                2,
                "too short",
            ),
            ("echo bad luck >&2; exit 3", table, 2, "bad luck"),
            (f"rm {started}", nowhere, 4, "none"),
            ("true", "-", 2, "-o FILE"),
        ):
            python = self.write("python", f"#!/bin/sh\n{text}\n")
            python.chmod(0o755)
            with self.subTest(text):
                self.assert_refused(
                    support.headroom("calibrate", "--gpu", "-q", "--python", python, "-o", path), code, *named
                )
        self.assertTrue(started.exists())  # The command checks the output file before it measures.
        self.assertFalse(table.exists())
