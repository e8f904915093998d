"""Tests `headroom record` with real programs that are killed, stopped or short of disk, and the resulting
recordings."""
import concurrent.futures
import os
import pathlib
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from integration import support

REGIONS = support.BINARY.parent / "tests/recording/regions"


def record(*args, **kwargs):
    return support.headroom("record", *args, **kwargs)


class Record(support.ProgramTest):
    def setUp(self):
        super().setUp()
        if not REGIONS.exists():
            raise AssertionError(f"no {REGIONS}; build everything: cmake --build --preset release")
        self.file = self.scratch / "r.pftrace"

    def report(self, path=None):
        outcome = support.headroom("report", "--json", path or self.file)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.json()

    # --- interference with the program ------------------------------------------------------------------------------

    def test_closed_descriptors_stay_closed(self):
        """The program cannot print into our descriptors, and none of our own data is in the recording."""
        source = self.write(
            "p.c",
            """
            #include <headroom/timer.h>
            #include <stdio.h>
            int main(void) {
              for (int i = 0; i < 1000; i++) headroom_end(HEADROOM_BEGIN("work"));
              puts("done");
              return 7;
            }
            """,
        )
        program = self.scratch / "p"
        build = ["cc", "-O1", f"-I{support.ROOT}/include", source, "-o", program, "-pthread"]
        subprocess.run([str(part) for part in build], check=True)
        for closed in ("<&- >&- 2>&-", "<&- >&-", ">&-", "2>&-", "<&-"):
            with self.subTest(closed):
                command = f"'{support.BINARY}' record -f -o r.pftrace -- ./p {closed}"
                done = subprocess.run(["sh", "-c", command], cwd=self.scratch, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 7, done)
                recording = self.file.read_bytes()
                self.assertNotIn(b"events of its own", recording)
                self.assertNotIn(b"done\n", recording)
                regions = {row["key"]: row["count"] for row in self.report()["regions"]}
                self.assertEqual(regions.get("work"), 1000)

    def test_limits_are_told_by_name(self):
        # A sanitizer reserves more address space than that.
        limits = [("n", 5), ("f", 1000)] + [("v", 400_000)] * (not support.sanitized())
        for limit, value in limits:
            with self.subTest(f"ulimit -{limit} {value}"):
                command = (
                    f"ulimit -{limit} {value}; exec '{support.BINARY}' record -f -o r.pftrace -- '{REGIONS}' 1 loop"
                )
                done = subprocess.run(["bash", "-c", command], cwd=self.scratch, capture_output=True, timeout=60)
                message = done.stderr.decode()
                self.assertIn(f"ulimit -{limit}", message)
                self.assertNotIn("terminate called", message)
                self.assertNotIn("no Headroom timers", message)

    # --- the recording ------------------------------------------------------------------------------------------

    def test_a_loop_is_recorded_with_steps_regions_and_the_machine(self):
        outcome = record("-o", self.file, "--", REGIONS, "1", "loop")
        self.assertEqual(outcome.code, 0, outcome)
        ended, dropped = map(int, outcome.text.split())
        self.assertEqual(dropped, 0)
        report = self.report()
        self.assertEqual(report["inputs"][0]["format"], "perfetto-protobuf")
        steps = report["steps"]["count"]
        self.assertEqual(steps * 4, ended)
        # Each step has four regions, a mark, a gradient and a value. The report also counts the machine's values.
        self.assertIn(f", {steps * 7:,} events from it", outcome.message)
        self.assertGreater(report["inputs"][0]["events"], steps * 7)
        regions = {row["key"]: row for row in report["regions"]}
        for key, least_ms in {"dataloader_next": 2, "FORWARD": 3, "BACKWARD": 5}.items():
            self.assertEqual(regions[key]["count"], report["steps"]["count"], key)
            self.assertGreaterEqual(regions[key]["p50_ms"], least_ms, key)
        self.assertIn("cpu_util_simple", {row["name"] for row in report["metrics"]})
        breakdown = report["step_breakdown"]
        self.assertGreater(breakdown["backward_ms"], breakdown["forward_ms"])
        self.assertGreater(breakdown["forward_ms"], breakdown["data_wait_ms"])
        self.assertGreater(breakdown["data_wait_ms"], 1)

    def test_regions_that_overlap_come_back_whole(self):
        self.assertEqual(record("-o", self.file, "--", REGIONS, "0", "overlap").code, 0)
        regions = {row["key"]: row for row in self.report()["regions"]}
        self.assertEqual({key: row["count"] for key, row in regions.items()}, {"outer": 1, "first": 1, "second": 1})
        self.assertGreaterEqual(regions["first"]["total_ms"], 4)
        self.assertGreaterEqual(regions["second"]["total_ms"], 4)
        self.assertGreaterEqual(regions["outer"]["total_ms"], 6)

    def test_own_time_is_what_the_timers_say_in_c_cpp_and_python(self):
        # Tests overlap, a key inside and overlapping itself, and a step. A program's own query of its timers must equal
        # the report.
        in_c = """
            #include <headroom/timer.h>
            #include <stdio.h>
            #include <time.h>
            static void Spend(void) { struct timespec t = {0, 2000000}; nanosleep(&t, NULL); }
            int main(void) {
              const headroom_token outer = headroom_begin("outer"), step = headroom_begin_step(0);
              const headroom_token first = headroom_begin("first");
              Spend();
              const headroom_token second = headroom_begin("second"), again = headroom_begin("first");
              Spend();
              headroom_end(first);
              Spend();
              const headroom_token late = headroom_begin("second");
              Spend();
              headroom_end(second);
              headroom_end(again);
              Spend();
              headroom_end(late);
              headroom_end(step);
              Spend();
              headroom_end(outer);
              const char* keys[] = {"outer", "first", "second"};
              for (int i = 0; i < 3; ++i) {
                struct headroom_stats s;
                headroom_stats_of(keys[i], &s);
                printf("%s %d %.9f %.9f\\n", keys[i], (int)s.count, s.total_s, s.self_s);
              }
              return 0;
            }
        """
        in_cpp = """
            #include <chrono>
            #include <cstdio>
            #include <headroom/timer.hpp>
            #include <thread>
            static void Spend() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }
            int main() {
              {
                HEADROOM_SCOPE("outer");
                {
                  headroom::Step step(0);
                  const headroom_token first = headroom::begin("first");
                  Spend();
                  HEADROOM_SCOPE("second"); HEADROOM_SCOPE("first");
                  Spend();
                  headroom::end(first);
                  Spend();
                }
                Spend();
              }
              for (const char* key : {"outer", "first", "second"}) {
                const auto s = headroom::stats(key);
                std::printf("%s %d %.9f %.9f\\n", key, static_cast<int>(s.count), s.total_s, s.self_s);
              }
            }
        """
        in_python = """
            import time, headroom
            with headroom.scope("outer"):
                with headroom.step(0):
                    first = headroom.begin("first"); time.sleep(0.002)
                    second = headroom.begin("second"); time.sleep(0.002)
                    headroom.end(first); time.sleep(0.002)
                    with headroom.scope("second"):
                        time.sleep(0.002)
                        headroom.end(second); time.sleep(0.002)
                time.sleep(0.002)
            for key in ("outer", "first", "second"):
                s = headroom.stats(key)
                print(key, s.count, s.total_s, s.self_s)
        """
        for name, text in (("program.c", in_c), ("program.cc", in_cpp), ("program.py", in_python)):
            source = self.scratch / name
            source.write_text(textwrap.dedent(text))
            if name.endswith(".py"):
                command = [sys.executable, str(source)]
            else:
                command = [str(self.scratch / "program")]
                compiler = shutil.which("c++" if name.endswith(".cc") else "cc")
                self.assertTrue(compiler, "no compiler")
                subprocess.run(
                    [compiler, "-O1", f"-I{support.ROOT}/include", source, "-o", command[0], "-pthread", "-lm"],
                    check=True,
                )
            with self.subTest(name):
                outcome = record(
                    "-o",
                    self.file,
                    "--force",
                    "--",
                    *command,
                    environment={"PYTHONPATH": str(support.BINARY.parent / "python")},
                )
                self.assertEqual(outcome.code, 0, outcome)
                rows = {row["key"]: row for row in self.report()["regions"]}
                said = [line.split() for line in outcome.text.splitlines()]
                self.assertEqual({key for key, *_ in said}, set(rows))
                for key, count, total_s, self_s in said:
                    self.assertEqual(rows[key]["count"], int(count), key)
                    self.assertAlmostEqual(rows[key]["total_ms"], 1e3 * float(total_s), delta=0.01, msg=key)
                    self.assertAlmostEqual(rows[key]["self_ms"], 1e3 * float(self_s), delta=0.01, msg=key)

    def test_a_driver_that_never_answers_does_not_hold_the_recording(self):
        fakes = support.BINARY.parent / "src/capture/metrics/fake"
        if not fakes.exists():
            raise unittest.SkipTest("the fake NVML is built with the tests: cmake --build --preset release")

        def hanging(when):
            file = self.scratch / f"{when}.pftrace"
            environment = {"LD_LIBRARY_PATH": str(fakes), "FAKE_NVML_HANGS": when}
            command = ("--interval", "0.5", "-o", file, "--", "sh", "-c", "sleep 8; exit 3")
            return record(*command, environment=environment), file

        with concurrent.futures.ThreadPoolExecutor() as pool:  # Both programs mostly wait.
            cases = {when: pool.submit(hanging, when) for when in ("reading", "opening")}
        for when, who, gpu_samples in ("reading", "GPU 0", 1), ("opening", "the GPUs' driver", None):
            with self.subTest(when):
                outcome, file = cases[when].result()
                self.assertEqual(outcome.code, 3, outcome)
                self.assertIn(f"{who} did not answer", outcome.message)
                metrics = {(row["name"], row["gpu"]): row for row in self.report(file)["metrics"]}
                self.assertEqual(metrics.get(("gpu_util", 0), {}).get("samples"), gpu_samples)
                self.assertGreater(metrics["free_memory", None]["samples"], 3, "the machine's go on")

    def test_a_python_that_loads_no_hooks_is_told(self):
        # A library that looks like PyTorch from outside: any file of that name in the memory of a process.
        library = self.scratch / "torch/lib/libtorch_python.so"
        library.parent.mkdir(parents=True)
        library.write_bytes(b"x" * 4096)
        code = (
            f"import mmap, time; f = open({str(library)!r}, 'rb'); kept = mmap.mmap(f.fileno(), 0, "
            "access=mmap.ACCESS_READ); time.sleep(4)"
        )

        def isolated(level):
            file = self.scratch / f"{level}.pftrace"
            flags = ("--interval", "0.1", "--level", level, "-o", file)
            return record(*flags, "--", sys.executable, "-I", "-c", code)

        with concurrent.futures.ThreadPoolExecutor() as pool:  # Both programs mostly wait.
            outcome, without_events = pool.map(isolated, ("gpu", "metrics"))
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("ran PyTorch, but its loop was not timed", outcome.message)
        self.assertIn("-E, -I or -S", outcome.message)
        self.assertNotIn("PyTorch", without_events.message, "nothing was asked for")

    def test_only_the_steps_that_are_wanted(self):
        self.assertEqual(record("-o", self.file, "--steps", "3:7", "--", REGIONS, "1", "loop").code, 0)
        self.assertEqual([step["index"] for step in self.report()["steps"]["list"]], [3, 4, 5, 6, 7])

    def test_steps_that_never_came_are_told(self):
        outcome = record("-o", self.file, "--steps", "1000:1010", "--", REGIONS, "0.1", "loop")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertRegex(outcome.message, r"--steps: none of these steps ran; the last step that began is \d+")
        outcome = record("-o", self.file, "--force", "--steps", "3:7", "--", "true")
        self.assertNotIn("none of these steps ran", outcome.message)  # No data came, and the message says so.

    def test_a_program_without_timers_still_reports(self):
        self.assertEqual(record("-o", self.file, "--", "sleep", "0.2").code, 0)
        report = self.report()
        self.assertEqual(report["steps"]["count"], 0)
        self.assertTrue(report["metrics"])

    def test_processes_that_come_late_have_metrics(self):
        """A loader starts new workers in each epoch. After the first 64 processes, new ones used to be unrecorded."""
        script = "i=0; while [ $i -lt 4 ]; do i=$((i+1)); for j in $(seq 20); do sleep 2 & done; wait; done"
        self.assertEqual(
            record("--level", "metrics", "--interval", "0.1", "-o", self.file, "--", "sh", "-c", script).code, 0
        )
        instances = {row["instance"] for row in self.report()["metrics"] if row["name"] == "process_rss_bytes"}
        self.assertGreater(len(instances), 64, instances)

    def test_each_process_has_a_file(self):
        script = f"{REGIONS} 0.5 loop; {REGIONS} 0.5 loop"
        self.assertEqual(record("-o", self.file, "--", "sh", "-c", script).code, 0)
        files = sorted(self.scratch.iterdir())
        self.assertEqual(len(files), 2, files)
        self.assertRegex(files[1].name, r"^r\.pftrace\.\d+$")
        for path in files:
            self.assertGreater(self.report(path)["steps"]["count"], 5, path)
        further = [issue for issue in self.report(files[0])["health"]["issues"] if issue["code"] == "further-processes"]
        self.assertIn(files[1].name, further[0]["detail"])

    def test_level_metrics_leaves_the_program_alone(self):
        outcome = record("-o", self.file, "--level", "metrics", "--", "env")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertNotIn("HEADROOM_SOCKET", outcome.text)
        self.assertEqual(self.report()["regions"], [])

    def test_what_another_recorder_around_it_set_is_not_inherited(self):
        """The outer steps and socket belong to another recording. With --level metrics, `headroom record` used to pass
        them on."""
        cupti = support.BINARY.parent / "tests/cupti"
        outer = {
            "LD_LIBRARY_PATH": str(cupti / "new"),
            "HEADROOM_SOCKET": "/nonexistent/socket",
            "HEADROOM_LEVEL": "full",
            "HEADROOM_STEPS": "500:",
            "HEADROOM_MEMORY_MB": "1",
            "HEADROOM_PROBE_INPUT": "1",
            "CUDA_INJECTION64_PATH": "/opt/another/libheadroom_cupti.so",
            "NVTX_INJECTION64_PATH": "/opt/another/libheadroom_cupti.so",
        }
        ours = {name for name in outer if name != "LD_LIBRARY_PATH"}
        needed = {"HEADROOM_SOCKET", "HEADROOM_LEVEL"}
        for level, names in {
            "metrics": set(),
            "events": needed,
            "gpu": needed | {"CUDA_INJECTION64_PATH", "HEADROOM_MEMORY_MB"},
            "full": ours - {"HEADROOM_STEPS", "HEADROOM_PROBE_INPUT"},
        }.items():
            outcome = record("-o", self.file, "--force", "--level", level, "--", "env", environment=outer)
            self.assertEqual(outcome.code, 0, outcome)
            self.assertNotIn("that tool records the GPU work", outcome.message)
            found = dict(line.split("=", 1) for line in outcome.text.splitlines())
            self.assertEqual(ours & found.keys(), names, level)
            if level != "metrics":
                self.assertEqual(found["HEADROOM_LEVEL"], level)
                self.assertNotEqual(found["HEADROOM_SOCKET"], outer["HEADROOM_SOCKET"])
        outcome = record(
            "-o",
            self.file,
            "--force",
            "--",
            cupti / "fake_program",
            "init",
            "launch",
            "30",
            "wait",
            "300",
            environment=outer,
        )
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(sum(row["count"] for row in self.report()["kernels"]), 30)

    def test_another_tools_injection_stays(self):
        outcome = record("-o", self.file, "--", "env", environment={"CUDA_INJECTION64_PATH": "/opt/other/tool.so"})
        self.assertIn("CUDA_INJECTION64_PATH=/opt/other/tool.so\n", outcome.text)
        self.assertIn("that tool records the GPU work", outcome.message)

    def test_arguments_environment_host_and_user_are_not_recorded(self):
        secret = "s3cr3t-0d5e"
        outcome = record(
            "-o", self.file, "--", "sh", "-c", f"{REGIONS} 0.1 loop # {secret}", environment={"TOKEN": secret}
        )
        self.assertEqual(outcome.code, 0, outcome)
        data = self.file.read_bytes()
        self.assertNotIn(secret.encode(), data)
        self.assertNotIn(os.uname().nodename.encode() + b"\0", data + b"\0")

    def test_gpu_work_from_the_driver_to_the_report(self):
        """Tests the injected library, its ring, the recorder, the file and the report. Only CUPTI itself is
        simulated.
        """
        cupti = support.BINARY.parent / "tests/cupti"
        # One step: launches of the simulation use its own clock instead of the program's.
        commands = "init step 1 region FORWARD launch 30 endregion copy 4096 sync 1 endstep wait 300"
        outcome = record(
            "-o",
            self.file,
            "--",
            cupti / "fake_program",
            *commands.split(),
            environment={"LD_LIBRARY_PATH": str(cupti / "new")},
        )
        self.assertEqual(outcome.code, 0, outcome)
        self.assertNotIn("GPU work:", outcome.message)
        report = self.report()
        self.assertEqual(sum(row["count"] for row in report["kernels"]), 30 + 2)  # A copy and a memset in addition to
        # the kernels.
        self.assertEqual([step["index"] for step in report["steps"]["list"]], [1])
        self.assertEqual({row["key"] for row in report["regions"]}, {"FORWARD"})
        self.assertEqual(len(report["gpu_time"]), 1)
        self.assertGreater(report["gpu_time"][0]["memory_ms"], 0)

    def test_gpu_work_of_the_last_step_is_recorded_though_it_runs_later(self):
        """The host is ahead of the GPU. Kernels of the last step run after it ends, and CUPTI reports none that run
        after it is switched off. Kernels of the next step must be left out."""
        cupti = support.BINARY.parent / "tests/cupti"
        behind = 3 * 10**9  # Ticks of about 2 to 5 GHz. This is longer than calls wait for their launches.
        commands = (
            f"init step 0 endstep wait 200 step 1 behind {behind} launch 5 wait 1 endstep "
            "wait 1 now step 2 launch 3 endstep wait 2500"
        )
        outcome = record(
            "-o",
            self.file,
            "--steps",
            "1:1",
            "--",
            cupti / "fake_program",
            *commands.split(),
            environment={"LD_LIBRARY_PATH": str(cupti / "new")},
        )
        self.assertEqual(outcome.code, 0, outcome)
        report = self.report()
        self.assertEqual([step["index"] for step in report["steps"]["list"]], [1])
        self.assertEqual(sum(row["count"] for row in report["kernels"]), 5)

    def test_a_window_of_short_steps_has_all_its_gpu_work(self):
        """CUPTI begins to record late: its switch is asked for every 10 ms, and steps take 2 ms."""
        cupti = support.BINARY.parent / "tests/cupti"
        steps = " ".join(f"step {step} wait 2 now launch 1 endstep" for step in range(240))
        outcome = record(
            "-o",
            self.file,
            "--steps",
            "200:204",
            "--",
            cupti / "fake_program",
            *f"init {steps} wait 300".split(),
            environment={"LD_LIBRARY_PATH": str(cupti / "new")},
        )
        self.assertEqual(outcome.code, 0, outcome)
        report = self.report()
        self.assertEqual([step["index"] for step in report["steps"]["list"]], list(range(200, 205)))
        self.assertEqual(sum(row["count"] for row in report["kernels"]), 5)

    def test_the_last_gpu_work_before_os_exit(self):
        """Processes of multiprocessing end with os._exit(), which runs no exit handlers."""
        cupti = support.BINARY.parent / "tests/cupti"
        script = self.write(
            "end.py",
            """
import ctypes, os, torch
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuModuleLoadData(ctypes.byref(module), b"")
driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"k")
for _ in range(7):
    driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
os._exit(3)
""",
        )
        outcome = record(
            "-o", self.file, "--", self.python("torch"), script, environment={"LD_LIBRARY_PATH": str(cupti / "new")}
        )
        self.assertEqual(outcome.code, 3, outcome)
        self.assertEqual(sum(row["count"] for row in self.report()["kernels"]), 7)

    def test_why_there_is_no_gpu_work_is_told(self):
        fake = support.BINARY.parent / "tests/cupti/fake_program"
        outcome = record(
            "-o",
            self.file,
            "--",
            fake,
            "init",
            environment={"LD_LIBRARY_PATH": "/nonexistent", "CUDA_HOME": "/nonexistent"},
        )
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("GPU work: ", outcome.message)
        self.report()

    def test_what_is_asked_for_is_recorded(self):
        outcome = record(
            "-o",
            self.file,
            "--with",
            "argv,env,host",
            "--",
            "sh",
            "-c",
            ": s3cr3t",
            environment={"TOKEN": "0d5e-token"},
        )
        self.assertEqual(outcome.code, 0, outcome)
        data = self.file.read_bytes()
        for text in ("s3cr3t", "TOKEN=0d5e-token", os.uname().nodename):
            self.assertIn(text.encode(), data)

    def test_wrong_intervals_are_refused(self):
        for interval in ("nan", "inf", "0.05", "61", "x"):
            outcome = record("-o", self.file, "--interval", interval, "--", "true")
            self.assertEqual(outcome.code, 2, outcome)
            self.assertIn(f"{interval} is not a number from 0.1 to 60", outcome.message)
        self.assertFalse(self.file.exists())

    def test_help_shows_what_is_for_users(self):
        text = support.headroom("record", "--help").text
        self.assertIn("  --interval N              Seconds between samples", text)
        self.assertNotIn("\n:\n", text)

    def test_counters_that_are_no_numbers_are_told(self):
        code = "import headroom\nfor value in (1.0, float('nan'), float('inf'), 3.0): headroom.counter('loss', value)"
        outcome = record(
            "-o",
            self.file,
            "--",
            sys.executable,
            "-c",
            code,
            environment={"PYTHONPATH": str(support.BINARY.parent / "python")},
        )
        self.assertEqual(outcome.code, 0, outcome)
        report = self.report()
        (loss,) = (row for row in report["metrics"] if row["name"] == "loss")
        self.assertEqual([loss["samples"], loss["min"], loss["max"]], [2, 1.0, 3.0])
        self.assertEqual(
            [issue["count"] for issue in report["health"]["issues"] if issue["code"] == "counter-value"], [2]
        )

    def test_ranks_are_told_apart(self):
        # The second one uses mpirun inside a Slurm job, which is not a separate rank.
        mpi = "env SLURM_PROCID=0 SLURM_NTASKS=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2"
        script = f"RANK=0 WORLD_SIZE=2 {REGIONS} 0.2 loop & {mpi} {REGIONS} 0.2 loop; wait"
        self.assertEqual(record("-o", self.file, "--", "sh", "-c", script).code, 0)
        reports = [self.report(path)["inputs"][0] for path in sorted(self.scratch.iterdir())]
        self.assertEqual(sorted(report["rank"] for report in reports), [0, 1])
        self.assertEqual({report["world_size"] for report in reports}, {2})
        # The folder is the job, including the file of the additional process.
        report = self.report(self.scratch)
        self.assertEqual(sorted(file["rank"] for file in report["inputs"]), [0, 1])
        self.assertNotIn("not-a-trace", [issue["code"] for issue in report["health"]["issues"]])
        with tempfile.TemporaryDirectory() as folder:
            merged = pathlib.Path(folder) / "job.json"
            outcome = support.headroom("merge", self.scratch, "-o", merged)
            self.assertEqual(outcome.code, 0, outcome)
            self.assertTrue(merged.exists())

    # --- real programs -------------------------------------------------------------------------------------------

    def python(self, module):
        """Returns Debian's Python with the framework. Skips the test if it is missing."""
        python = "/usr/bin/python3"
        if not support.has_module(python, module):
            self.skipTest(f"{python} has no {module}; tools/setup installs it")
        return python

    def test_a_pytorch_loop_without_a_line_of_ours(self):
        outcome = record("-o", self.file, "--", self.python("torch"), support.ROOT / "examples/pytorch_loop.py", "20")
        self.assertEqual(outcome.code, 0, outcome)
        report = self.report()
        self.assertEqual(report["steps"]["count"], 20)
        self.assertEqual(report["bottleneck"]["verdict"], "input")
        timings = {row["name"]: row for row in report["timings"]}
        self.assertGreater(timings["dataloader_next"]["total_ms"], 19 * 32 * 0.5)  # It sleeps 0.5 ms per sample.
        for name in ("train_batch.forward", "train_batch.backward", "train_batch.optimizer"):
            self.assertGreater(timings[name]["total_ms"], 0, name)

    def test_versions_are_recorded_whatever_the_steps(self):
        outcome = record(
            "--steps",
            "5:7",
            "-o",
            self.file,
            "--",
            self.python("torch"),
            support.ROOT / "examples/pytorch_loop.py",
            "20",
        )
        self.assertEqual(outcome.code, 0, outcome)
        answer = support.headroom("diff", self.file, self.file, "--json", "--no-local-state").json()
        torch = subprocess.run(
            [self.python("torch"), "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True
        ).stdout.strip()
        self.assertEqual({f["name"]: f["a"] for f in answer["facts"]}["version.pytorch"], torch)

    def test_a_transform_that_is_a_module_is_no_forward(self):
        """Transforms of a loader are often modules. In a worker they used to open their own steps and files. In the
        loop's process they counted as its forward."""
        script = self.write(
            "transform.py",
            """
import torch

class Data(torch.utils.data.Dataset):
    transform = torch.nn.ReLU()
    def __len__(self):
        return 32
    def __getitem__(self, index):
        return self.transform(torch.rand(4))

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for workers in (2, 0):
    for batch in torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=workers):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
""",
        )
        self.assertEqual(record("-o", self.file, "--", self.python("torch"), script).code, 0)
        self.assertEqual([path.name for path in self.scratch.glob("r.pftrace*")], ["r.pftrace"])
        report = self.report()
        self.assertEqual(report["steps"]["count"], 8)
        self.assertEqual({row["key"]: row["count"] for row in report["regions"]}["FORWARD"], 8)

    def test_scikit_learn_with_regions(self):
        outcome = record(
            "-o",
            self.file,
            "--",
            self.python("sklearn"),
            support.ROOT / "examples/sklearn_program.py",
            environment={"PYTHONPATH": str(support.BINARY.parent / "python")},
        )
        self.assertEqual(outcome.code, 0, outcome)
        regions = {row["key"]: row["count"] for row in self.report()["regions"]}
        self.assertEqual(regions, {"IO": 10, "fit": 10, "score": 10})

    @support.unittest.skipUnless(support.FULL, "builds against libtorch, a minute: --full")
    def test_a_loop_in_cpp_on_libtorch(self):
        build = self.scratch / "build"
        for command in (
            ["cmake", "-S", support.ROOT / "examples/libtorch_loop", "-B", build, "-G", "Ninja"],
            ["cmake", "--build", build],
        ):
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        outcome = record("-o", self.file, "--", build / "train")
        self.assertEqual(outcome.code, 0, outcome)
        report = self.report()
        self.assertEqual(report["steps"]["count"], 50)
        self.assertGreater(report["step_breakdown"]["backward_ms"], 0)

    # --- exit codes, files, signals -----------------------------------------------------------------------------

    def test_exit_code_is_the_programs(self):
        for script, code in {"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137}.items():
            with self.subTest(script):
                self.assertEqual(record("-f", "-o", self.file, "--", "sh", "-c", script).code, code)

    def test_what_cannot_be_run(self):
        for command, code in {"/no/such/program": 127, "/etc/hostname": 126}.items():
            with self.subTest(command):
                outcome = record("-o", self.file, "--", command)
                self.assertEqual(outcome.code, code, outcome)
                self.assertIn(command, outcome.message)
                self.assertFalse(self.file.exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root makes devices")
    def test_a_device_stays_where_nothing_ran(self):
        os.mknod(self.file, stat.S_IFCHR | 0o600, os.stat("/dev/null").st_rdev)
        script = self.write("script", "#!/no/such/interpreter\n")
        script.chmod(0o755)
        self.assertEqual(record("-o", self.file, "--", script).code, 126)
        self.assertTrue(self.file.is_char_device())

    def test_usage(self):
        for args in (
            (),
            ("--",),
            ("--level", "most", "--", "true"),
            ("--steps", "7:3", "--", "true"),
            ("--max-file-gb", "0", "--", "true"),
            ("--no-such-flag", "--", "true"),
        ):
            with self.subTest(args):
                self.assertEqual(record(*args, cwd=self.scratch).code, 2)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_flags_behind_the_command_are_its_own(self):
        for separator in (("--",), ()):
            with self.subTest(separator):
                outcome = record("-f", "-o", self.file, *separator, "sh", "-c", "echo $0 $1", "-o", "--help")
                self.assertEqual(outcome.code, 0, outcome)
                self.assertEqual(outcome.text, "-o --help\n")

    def test_the_file_is_its_owners_and_is_not_overwritten(self):
        self.assertEqual(record("-o", self.file, "--", "true").code, 0)
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        before = self.file.read_bytes()
        outcome = record("-o", self.file, "--", "true")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn("--force", outcome.message)
        self.assertEqual(self.file.read_bytes(), before)
        self.assertEqual(record("-f", "-o", self.file, "--", "true").code, 0)

    def test_an_empty_name_is_refused(self):
        outcome = record("-o", "", "--", "true")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn('-o "" is not a file name', outcome.message)

    def test_no_link_is_followed(self):
        target = self.write("target", "precious")
        link = self.scratch / "link"
        link.symlink_to(target)
        self.assertEqual(record("-o", link, "--", "true").code, 2)
        record("-f", "-o", link, "--", "true")
        self.assertEqual(target.read_text(), "precious")

    def issues(self):
        return [issue["code"] for issue in self.report()["health"]["issues"]]

    def start(self, *command):
        process = subprocess.Popen(
            [support.BINARY, "record", "-o", self.file, "--", *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def test_a_signal_reaches_the_program_and_the_recording_is_whole(self):
        process = self.start(REGIONS, "60", "loop")
        time.sleep(0.7)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 143)
        self.assertGreater(self.report()["steps"]["count"], 10)
        self.assertNotIn("not-closed", self.issues())

    def test_the_recorder_may_be_killed(self):
        process = self.start(REGIONS, "3", "loop")
        time.sleep(1.8)
        process.kill()
        process.wait()
        self.assertGreater(self.report()["steps"]["count"], 10)  # The recording ends at the last flush.
        self.assertIn("not-closed", self.issues())

    def test_the_program_may_be_killed_at_any_moment(self):
        """All data before the kill is in the file, and the file is readable."""
        dice = random.Random(4)
        for _ in range(100 if support.FULL else 10):
            self.file.unlink(missing_ok=True)
            process = self.start("sh", "-c", f"echo $$; exec {REGIONS} 30 {dice.choice(['loop', 'busy'])}")
            pid = int(process.stdout.readline())
            wait = dice.uniform(0.0, 0.4)
            time.sleep(wait)
            os.kill(pid, signal.SIGKILL)
            self.assertEqual(process.wait(30), 137)
            report = self.report()
            if wait > 0.1:
                self.assertTrue(report["regions"])
                self.assertNotIn("F", report["health"]["grade"])

    # --- disk -----------------------------------------------------------------------------------------------------

    def test_a_full_disk(self):
        """A disk with room for 20 kB: the written part is readable, the program is not disturbed, and the user sees
        a message."""

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))

        process = subprocess.run(
            [
                support.BINARY,
                "record",
                "-o",
                self.file,
                "--",
                "sh",
                "-c",
                f"ulimit -f unlimited; exec {REGIONS} 2 loop",
            ],
            capture_output=True,
            preexec_fn=small,
            timeout=60,
        )
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertLessEqual(self.file.stat().st_size, 20_000)
        self.assertIn(b"the file is incomplete", process.stderr)
        self.assertIn("not-closed", self.issues())

    def test_the_limit_of_the_file(self):
        outcome = record("-o", self.file, "--max-file-gb", "0.001", "--", REGIONS, "0.5", "busy")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertLessEqual(self.file.stat().st_size, 1_000_000)
        self.assertIn("did not fit", outcome.message)
        self.assertTrue(self.report()["regions"])
        self.assertIn("not-closed", self.issues())

    # --- other readers ----------------------------------------------------------------------------------------------

    def test_another_decoder_reads_it(self):
        self.assertEqual(record("-o", self.file, "--", REGIONS, "0.2", "loop").code, 0)
        decoded = subprocess.run(
            ["protoc", "--decode", "perfetto.protos.Trace", f"-I{support.ROOT}/src/base", "perfetto_trace.proto"],
            stdin=self.file.open("rb"),
            capture_output=True,
            text=True,
        )
        self.assertEqual(decoded.returncode, 0, decoded.stderr)
        steps = self.report()["steps"]["count"]
        self.assertEqual(decoded.stdout.count("TYPE_SLICE_BEGIN"), 4 * steps)
        self.assertEqual(decoded.stdout.count("TYPE_SLICE_END"), 4 * steps)


class Doctor(support.ProgramTest):
    def test_names_what_works_and_what_does_not(self):
        outcome = support.headroom("doctor", "--json", "--python", sys.executable)
        self.assertEqual(outcome.code, 0, outcome)
        checks = {check["name"]: check for check in outcome.json()["checks"]}
        self.assertEqual(checks["recording"]["state"], "ok")
        self.assertIn(checks["clock"]["state"], ("ok", "limited"))
        self.assertEqual(checks["python"]["state"], "ok")
        self.assertIn("perf_event", checks["counters"]["finding"] + (checks["counters"]["fix"] or ""))
        for check in checks.values():
            self.assertTrue(check["finding"], check)
            self.assertTrue(check["matters"] or check["state"] == "ok", check)

    def test_no_fix_names_the_flag_that_was_given(self):
        outcome = support.headroom("doctor", "--json", "--python", "/nonexistent")
        (check,) = [check for check in outcome.json()["checks"] if check["name"] == "python"]
        self.assertIn("cannot be run", check["finding"])
        self.assertTrue(check["fix"])
        self.assertNotIn("--python", check["fix"])

    def test_says_whether_kernels_may_be_recorded(self):
        # Simulates the driver and CUPTI. The test checks the calls to them.
        fakes = {"LD_LIBRARY_PATH": str(support.BINARY.parent / "tests/cupti/new")}

        def cupti(**refusal):
            outcome = support.headroom("doctor", "--json", environment={**fakes, **refusal})
            checks = {check["name"]: check for check in outcome.json()["checks"]}
            self.assertEqual(checks["nvidia"]["finding"], "1 GPU, driver for CUDA 13.0")
            return checks["cupti"]

        found = cupti()
        self.assertEqual(found["state"], "ok", found)
        self.assertIn("lets this user record kernels", found["finding"])
        rights = "NVreg_RestrictProfilingToAdminUsers=0"
        for refusal, says, fix in (
            ({"FAKE_CUPTI_SUBSCRIBE": "35"}, rights, rights),
            ({"FAKE_CUPTI_SUBSCRIBE": "39"}, "another profiler", "stop the other profiler"),
            ({"FAKE_CUPTI_ENABLE_10": "35"}, "CUPTI records no kernels", rights),
        ):
            found = cupti(**refusal)
            self.assertEqual(found["state"], "missing", found)
            self.assertIn(says, found["finding"])
            self.assertIn(fix, found["fix"])

    def test_a_driver_that_never_answers_is_a_finding(self):
        """If one call hangs in NVML, CUDA, CUPTI and PyTorch must not be called, because they would wait for it."""
        drivers = support.BINARY.parent / "tests/cupti/new"
        metrics = support.BINARY.parent / "src/capture/metrics/fake"
        asks_gpus = self.write(
            "torch.py",
            textwrap.dedent(
                """
            __version__ = "2.9"
            class version: cuda = "13.0"
            class autograd: kineto_available = lambda: True
            class cuda:
                def is_available():
                    import time; time.sleep(300)
            """
            ),
        )
        if not metrics.exists():
            raise unittest.SkipTest("the fake NVML is built with the tests: cmake --build --preset release")

        def doctor(**hangs):
            outcome = support.headroom(
                "doctor",
                "--json",
                "--python",
                sys.executable,
                environment={"LD_LIBRARY_PATH": f"{drivers}:{metrics}", "PYTHONPATH": str(asks_gpus.parent), **hangs},
            )
            self.assertEqual(outcome.code, 0, outcome)
            return {check["name"]: check for check in outcome.json()["checks"]}

        with concurrent.futures.ThreadPoolExecutor() as pool:  # Each waits for its driver.
            in_nvml = pool.submit(doctor, FAKE_NVML_HANGS="opening")
            in_driver = pool.submit(doctor, FAKE_DRIVER_HANGS="1")
        for checks, silent, unasked in (
            (in_nvml.result(), "nvml", ("nvidia", "cupti")),
            (in_driver.result(), "nvidia", ("cupti",)),
        ):
            self.assertIn("does not answer within", checks[silent]["finding"])
            for name in unasked:
                self.assertRegex(checks[name]["finding"], "not asked, because (NVML|cuInit) does not answer")
            for name in (silent, *unasked):
                self.assertEqual(checks[name]["state"], "missing", name)
                self.assertIn("nvidia-smi", checks[name]["fix"])
            self.assertIn("its GPUs were not checked", checks["pytorch"]["finding"])
            self.assertIn("recording", checks)
        self.assertEqual(in_driver.result()["nvml"]["finding"], "4 GPUs answer")

    def test_a_switch_in_the_environment_is_named(self):
        checks = support.headroom(
            "doctor", "--json", environment={"HEADROOM": "0", "CUDA_INJECTION64_PATH": "/opt/other/tool.so"}
        ).json()["checks"]
        found = {check["name"]: check for check in checks}
        self.assertEqual(found["timers"]["fix"], "unset HEADROOM")
        self.assertIn("/opt/other/tool.so", found["injection"]["finding"])
