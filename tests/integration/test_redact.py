"""Tests `headroom redact`: the copy has no planted secret in any form, and the same report. A failure leaves no
file.
"""
import base64
import gzip
import json
import os
import re
import stat
import sys
import urllib.parse

import memory_snapshot
from integration import support, test_xplane
from oracle import xplane

sys.path += [str(support.ROOT / "tests/nsight"), str(support.ROOT / "tests/rocprof")]
import export as nsight_export  # noqa: E402
import output as rocprof_output  # noqa: E402

SAMPLES = support.ROOT / "data/samples"
SECRETS = [
    "Bluebird",
    "grace",
    "quokkanet",
    "node17",
    "acmecorp",
    "hf_tOkEnXyZ",
    "10.20.30.40",
    "wandb.example.com",
    "ada.l",
    "geheimprojekt",
    "köln",
    "3f2504e0-4f89",
    "2001:db8::7",
    "10-9-8-7",
    "geheimkernel",
    "fileserver",
    "gracebox",
    "acmelib",
    "quokkas",
]


def planted():
    """Returns a trace of two steps with secrets in all places where a reader keeps text."""

    def host(name, ts, dur, cat="cpu_op", **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 100, "tid": 1, "ts": ts, "dur": dur, "args": args}

    rows = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": 100,
            "tid": 0,
            "ts": 0,
            "args": {"name": "python train.py --name geheimprojekt --token hf_tOkEnXyZ"},
        },
        {
            "ph": "M",
            "name": "process_labels",
            "pid": 100,
            "tid": 0,
            "ts": 0,
            "args": {"labels": "CPU of node17.internal"},
        },
        {"ph": "M", "name": "thread_name", "pid": 100, "tid": 1, "ts": 0, "args": {"name": "loader of grace"}},
    ]
    for step in range(2):
        t = 1000.5 + 1000 * step
        rows += [
            host(f"ProfilerStep#{step}", t, 900, "user_annotation"),
            host(
                "/home/grace/Secret Models/quokkanet.py(12): forward",
                t + 1,
                800,
                "python_function",
                **{"Python id": 10 + step},
            ),
            host(
                "C:\\Users\\grace\\x\\run.py(3): <module>", t + 1.5, 790, "python_function", **{"Python id": 20 + step}
            ),
            host("nn.Module: BluebirdAttention_0", t + 2, 700, "python_function", **{"Python id": 30 + step}),
            host(
                "aten::mm",
                t + 3,
                100,
                **{
                    "External id": 7 + step,
                    "Input Dims": [[64, 64], [64, 64]],
                    "Input type": ["float", "float"],
                    "owner": "ada.l@acmecorp.com",
                    "note": "köln",
                    "customer": 4711,
                },
            ),
            host("acmecorp::fused_bluebird", t + 200, 50),
            host("read file:///data/acmecorp/a.bin", t + 300, 10, "user_annotation"),
            host(
                "on GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301 by 2001:db8::7 and ip-10-9-8-7",
                t + 330,
                5,
                "user_annotation",
            ),
            host(
                "cfg " + base64.b64encode(b"{quokkanet}").decode() + r" of \u0071uokka%6eet",
                t + 335,
                3,
                "user_annotation",
            ),
            host(r"open \\fileserver\share\x1", t + 338, 1, "grace_ops"),
            host(
                "aten::add",
                t + 350,
                10,
                **{"kernel_file": "/data/acmecorp/k.py", "Process Group Name": "group of grace"},
            ),
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::sub",
                "pid": "gracebox",
                "tid": "main of ada.l",
                "ts": t + 1,
                "dur": 5,
            },
            {"ph": "C", "name": "load", "unit": "quokkas", "pid": 100, "tid": 1, "ts": t + 510, "args": {"value": 2}},
            {
                "ph": "i",
                "cat": "headroom",
                "name": "note",
                "pid": 100,
                "tid": 1,
                "ts": t + 520,
                "args": {"quokkanet_errors": 3, "dropped": 1},
            },
            {
                "ph": "X",
                "cat": "kernel",
                "name": "_ZN2at6native12geheimkernelILi128EEEvPf",
                "pid": 0,
                "tid": 7,
                "ts": t + 450,
                "dur": 20,
                "args": {"correlation": 1 + step, "device": 0, "stream": 7},
            },
            host("fetch https://wandb.example.com/runs/1", t + 320, 10, "user_annotation"),
            host("ssh 10.20.30.40", t + 340, 10, "user_annotation"),
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": 100,
                "tid": 1,
                "ts": t + 10,
                "dur": 5,
                "args": {"correlation": 1 + step},
            },
            {
                "ph": "X",
                "cat": "kernel",
                "name": "void acmecorp::bluebird_softmax_kernel<float>(float*)",
                "pid": 0,
                "tid": 7,
                "ts": t + 30,
                "dur": 400,
                "args": {"correlation": 1 + step, "device": 0, "stream": 7, "grid": [1, 1, 1], "block": [32, 1, 1]},
            },
            {
                "ph": "i",
                "cat": "mark",
                "name": "geheimprojekt begins",
                "pid": 100,
                "tid": 1,
                "ts": t + 400,
                "args": {"host": "node17"},
            },
            {"ph": "C", "name": "bluebird loss", "pid": 100, "tid": 1, "ts": t + 500, "args": {"quokkanet": 1.5}},
        ]
    return {
        "schemaVersion": 1,
        "trace_name": "/home/grace/t.json",
        "hostname": "node17",
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}],
        "distributedInfo": {"rank": 0, "world_size": 1, "master_addr": "10.20.30.40"},
        "headroom_versions": {"acmelib": "1.0+acmecorp", "cudnn": "9.1.0.70"},
        "traceEvents": rows,
    }


def forms(secret):
    """Returns the possible forms of a secret in a file, all in lower case except base64."""
    data = secret.encode()
    yield from (
        data.lower(),
        json.dumps(secret)[1:-1].encode().lower(),
        urllib.parse.quote(secret).encode().lower(),
        secret.lower().encode("utf-16-le"),
    )
    if len(data) > 5:
        yield data.hex().encode()


class Redact(support.ProgramTest):
    def redact(self, trace, *arguments, name="share.json.gz"):
        copy = self.scratch / name
        outcome = support.headroom("redact", trace, "-o", copy, "--json", *arguments)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(support.answer_violations(outcome.json()), [], outcome)
        return copy, outcome.json()

    def rows(self, path, sql):
        outcome = support.headroom("query", "--json", path, sql)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.json()["rows"]

    def content(self, path):
        data = path.read_bytes()
        return gzip.decompress(data) if path.name.endswith(".gz") else data

    def assert_gone(self, path, secrets):
        data = self.content(path)
        lower = data.lower()
        for secret in secrets:
            for form in forms(secret):
                self.assertNotIn(form, lower, (secret, form))
            for shift in range(3):
                core = base64.b64encode(b"\0" * shift + secret.encode())[4 if shift else 0 : -4]
                self.assertTrue(len(core) < 6 or core not in data, (secret, core))

    def test_planted_secrets_are_gone(self):
        trace = self.write("planted.json", json.dumps(planted()))
        for name in ("share.json", "share.json.gz", "share.pftrace"):
            with self.subTest(name):
                copy, said = self.redact(trace, name=name)
                self.assert_gone(copy, SECRETS)
                self.assertGreater(said["replaced"]["paths"], 2)
                self.assertGreater(said["replaced"]["names"], 2)
                self.assertNotIn(b"4711", self.content(copy))
                self.assertIn(b"9.1.0.70", self.content(copy))  # A version, not an address.
                want, got = (self.report(path, "--no-local-state") for path in (trace, copy))
                for key in ("gpu_time", "idle", "step_breakdown", "efficiency", "classes"):
                    self.assertEqual(want[key], got[key], key)
                self.assertEqual(
                    [row["wall_ms"] for row in want["steps"]["list"]], [row["wall_ms"] for row in got["steps"]["list"]]
                )
                self.assertIn("aten::mm", {row["name"] for row in got["operators"]})
                self.assertEqual([row["class"] for row in want["kernels"]], [row["class"] for row in got["kernels"]])

    def test_samples_say_the_same(self):
        for sample in ("bert_base_amp_fp16_h200.json.gz", "loader_one_worker.pftrace.gz", "resnet50_fp32_h200.json.gz"):
            with self.subTest(sample):
                copy, _ = self.redact(SAMPLES / sample)
                want, got = (self.report(path, "--no-local-state") for path in (SAMPLES / sample, copy))
                for key in ("steps", "gpu_time", "idle", "bottleneck", "step_breakdown", "efficiency", "throughput"):
                    self.assertEqual(want[key], got[key], key)
                saves = [[row["saves_ms"] for row in report["findings"]] for report in (want, got)]
                self.assertEqual(*saves)
                self.assertTrue(any(saves[0]) or "loader" in sample, saves)

    def test_real_traces(self):
        for trace in sorted(
            support.data_file("public-traces/README.md").parent.glob(
                "hta__*trace*.json.gz" if not support.FULL else "*.json.gz"
            )
        ):
            with self.subTest(trace.name):
                self.redact(trace)

    def every_format(self):
        """Returns {name: small trace} for each readable format; for rocprofv3 also with the operators of a PyTorch
        trace.
        """
        golden = {
            name: support.ROOT / "tests/golden" / name / file
            for name, file in (
                ("gpu-bound", "trace.json"),
                ("amd-stream-0", "trace.json"),
                ("no-gpu", "trace.json"),
                ("bare-array-of-pytorch-1.13", "trace.json"),
                ("plain-chrome-spans", "trace.json"),
                ("recording", "trace.pftrace"),
            )
        }
        kineto = json.loads((support.ROOT / "tests/golden/layers-with-backward/trace.json").read_text())
        traces = {
            **golden,
            "memory-snapshot": self.write(
                "made.pickle", memory_snapshot.dump(memory_snapshot.Loop().run(3).snapshot())
            ),
        }
        for how, job in (("drawn", rocprof_output.drawn()), ("kineto", rocprof_output.from_kineto(kineto))):
            for form in rocprof_output.FORMS if how == "drawn" else ("6.4",):
                stem = f"rocprofv3-{how}-{form}"
                traces[f"{stem}-json"] = rocprof_output.write_json(self.scratch / f"{stem}.json", job, form=form)
                traces[f"{stem}-pftrace"] = rocprof_output.write_pftrace(
                    self.scratch / f"{stem}.pftrace", job, form=form
                )
        traces["nsight"] = nsight_export.drawn(4).write(self.scratch / "made.sqlite", "2024.5")
        planes = test_xplane.training()
        traces["xplane"] = self.write("job.xplane.pb", xplane.write(planes))
        traces["jax-chrome"] = self.write(
            "job.trace.json.gz", gzip.compress(json.dumps(xplane.trace_json(planes)).encode())
        )
        return traces

    def test_every_format(self):
        """Names that readers give to events, above all categories, are public. Otherwise the copy's report differs from
        the trace's.
        """
        for name, trace in self.every_format().items():
            with self.subTest(name):
                for copy in ("share.json.gz", "share.pftrace"):
                    self.redact(trace, name=copy)
            for kind, ending in (("chrome", "json"), ("perfetto", "pftrace")):
                with self.subTest(name, exported=kind):
                    exported = self.scratch / f"{name}-exported.{ending}"
                    outcome = support.headroom("export", trace, "--to", kind, "-o", exported)
                    self.assertEqual(outcome.code, 0, outcome)
                    self.redact(exported, name=f"share.{ending}")

    def test_xplane_profiles(self):
        self.redact(support.data_file("public-traces/tracelens__mi300__jax_conv_minimal.xplane.pb"))

    def test_only_what_is_asked_for(self):
        trace = self.write("planted.json", json.dumps(planted()))
        text = self.content(self.redact(trace, "--remove", "paths,users")[0]).decode()
        self.assertIn("BluebirdAttention_0", text)
        self.assertIn("10.20.30.40", text)
        self.assertNotIn("/home/", text)
        self.assertNotIn("grace", text.lower())
        text = self.content(self.redact(trace, "--remove", "hosts", "--word", "bluebird")[0]).decode()
        self.assertNotIn("bluebird", text.lower())
        self.assertIn("/home/grace", text)
        text = self.content(self.redact(trace, "--keep", "bluebird")[0]).decode()
        self.assertIn("BluebirdAttention_0", text)

    def test_words_that_stay_can_be_removed(self):
        rows = [{"ph": "X", "cat": "cpu_op", "name": "magic tree", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}]
        trace = self.write("t.json", json.dumps({"traceEvents": rows}))
        text = self.content(self.redact(trace, "--word", "magic")[0]).decode()
        self.assertNotIn("magic", text)

    def test_patterns(self):
        """Text that an expression matches is removed everywhere: in public words, in paths, in arguments, and across
        parts that are replaced separately.
        """
        name = "forward of JIRA-1234 in JIRA-77"
        rows = [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": name,
                "pid": 1,
                "tid": 1,
                "ts": 1.5,
                "dur": 2,
                "args": {"Process Group Name": "g JIRA-9", "Rank": 1234},
            },
            {
                "ph": "X",
                "cat": "python_function",
                "name": "/x/site-packages/torch/JIRA-5.py(3): run 99887766",
                "pid": 1,
                "tid": 1,
                "ts": 5.5,
                "dur": 2,
            },
        ]
        trace = self.write("t.json", json.dumps({"traceEvents": rows}))
        text = self.content(self.redact(trace, "--pattern", "JIRA-[0-9]+", "--pattern", "[0-9]{6,}")[0]).decode()
        self.assertNotIn("JIRA", text)
        self.assertNotIn("99887766", text)
        self.assertIn("forward", text)
        self.assertIn('"Rank": 1234', text)
        text = self.content(self.redact(trace, "--remove", "hosts", "--pattern", "(?i)forward of jira")[0]).decode()
        self.assertNotIn("forward", text)
        self.assertIn("JIRA-77", text)
        out = self.scratch / "x.json"
        for pattern in ("(", "a*", ""):
            self.assert_refused(support.headroom("redact", trace, "-o", out, "--pattern", pattern), 2, "--pattern")
        # The report's inputs: the message names the differences.
        steps = self.write("planted.json", json.dumps(planted()))
        self.assert_refused(
            support.headroom("redact", steps, "-o", out, "--pattern", "Profiler[A-Z]"), 4, "the report differs"
        )
        self.assertFalse(out.exists())

    def test_words_that_were_asked_for_are_looked_for_everywhere(self):
        """A user may also remove public words. If that is impossible, no file is written, and the message names the
        remedy.
        """
        trace = self.write("planted.json", json.dumps(planted()))
        self.assert_refused(
            support.headroom("redact", trace, "-o", self.scratch / "x.json", "--word", "traceEvents"),
            4,
            "'traceevents' occurs outside the strings of the trace (plain",
            "FILE.pftrace",
        )
        self.redact(trace, "--word", "traceEvents", name="share.pftrace")

    def test_words_that_frameworks_write_are_spared(self):
        """`max` is a login and an operator. Words by which analyses recognize an event stay; all others are removed."""
        rows = planted()
        rows["traceEvents"] += [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::max_pool2d",
                "pid": 100,
                "tid": 1,
                "ts": 2900,
                "dur": 2,
                "args": {"Input type": ["float", "user"]},
            },
            {
                "ph": "X",
                "cat": "python_function",
                "name": "nn.Module: MaxForward_0",
                "pid": 100,
                "tid": 1,
                "ts": 2910,
                "dur": 2,
            },
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": "data of max, user Max at step_max",
                "pid": 100,
                "tid": 1,
                "ts": 2920,
                "dur": 2,
            },
        ]
        trace = self.write("t.json", json.dumps(rows))
        for word in ("max", "user", "data", "forward", "step", "float", "events", "version"):
            for name in ("share.json", "share.pftrace"):
                with self.subTest(word, name=name):
                    copy, _ = self.redact(trace, "--word", word, name=name)
                    names = {
                        name
                        for name, in self.rows(copy, "select distinct name from host_events where kind <> 'operator'")
                    }
                    self.assertIn("aten::max_pool2d", self.content(copy).decode(errors="replace"))
                    left = {name for name in names if word in name.lower()}
                    self.assertLessEqual(left, {"ProfilerStep#0", "ProfilerStep#1"} if word == "step" else set())

    def test_words_are_judged_one_by_one(self):
        """A required public word does not keep the words next to it, and kernel rules apply only to kernels."""
        names = ["gemm for max", "softmax of max", "step.run for max", "loader.batch max 3"]
        rows = [
            {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10.5 * i + 1, "dur": 2}
            for i, name in enumerate(names)
        ]
        rows += [
            {"ph": "X", "cat": "cpu_op", "name": "max::train_step", "pid": 1, "tid": 1, "ts": 90, "dur": 2},
            {
                "ph": "X",
                "cat": "kernel",
                "name": "max_gemm_kernel",
                "pid": 0,
                "tid": 7,
                "ts": 95,
                "dur": 2,
                "args": {"device": 0, "stream": 7},
            },
        ]
        copy, _ = self.redact(
            self.write("t.json", json.dumps({"schemaVersion": 1, "traceEvents": rows})),
            "--word",
            "max",
            "--word",
            "gemm",
            name="share.json",
        )
        left = [event["name"] for event in json.loads(self.content(copy))["traceEvents"] if event["ph"] == "X"]
        self.assertEqual([name for name in left if "max" in name], [])
        self.assertEqual([name for name in left if "gemm" in name], ["wordb_gemm_kernel"])

    def test_what_is_public_goes_in_its_place_only(self):
        """The text after `token` may be a number of the trace, or an operator."""
        names = ["ms per token: 1010.25", "token: aten::mm", "on node0042", "node0042_train"]
        rows = [
            {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10.5 * i + 1, "dur": 2}
            for i, name in enumerate(names)
        ]
        rows += [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::mm",
                "pid": 1,
                "tid": 1,
                "ts": 1010.25,
                "dur": 2,
                "args": {"kind": "password: train1234 on node0042"},
            }
        ]
        copy, _ = self.redact(
            self.write("t.json", json.dumps({"schemaVersion": 1, "traceEvents": rows})), name="share.json"
        )
        left = [event["name"] for event in json.loads(self.content(copy))["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(left, ["ms per token: 1010.25", "token: keya", "on hosta", "hosta_train", "aten::mm"])
        self.assert_gone(copy, ["node0042", "train1234"])

    def test_words_of_the_samples(self):
        for sample in ("bert_base_amp_fp16_h200.json.gz", "loader_one_worker.pftrace.gz"):
            for word in ("max", "user", "data", "forward", "step", "adam") if support.FULL else ("max", "forward"):
                with self.subTest(sample, word=word):
                    self.redact(SAMPLES / sample, "--word", word)

    def test_words_of_the_formats_are_no_secrets(self):
        """Text that the copy adds may also be part of a user's name."""
        on_gpu: dict[str, object] = {
            "device": 0,
            "stream": 7,
            "correlation": 1,
            "est. achieved occupancy %": 50,
            "warps per SM": 4,
        }
        on_gpu |= {"grid": [1, 1, 1], "block": [1, 1, 1], "registers per thread": 8, "shared memory": 0, "bytes": 4}
        on_host = {"External id": 1, "Sequence number": 1, "Fwd thread id": 1, "Record function id": 1, "Ev Idx": 1}
        rows = [
            ("cpu_op", "aten::mm", 1, on_host),
            ("cuda_runtime", "cudaLaunchKernel", 1, {"correlation": 1, "cbid": 211, "cid": 1}),
            ("kernel", "ampere_cgemm_32x32_nn", 0, on_gpu),
            ("cuda_sync", "Stream Sync", 0, {"stream": 7, "wait_on_stream": 7, "cuda_sync_kind": "Stream Sync"}),
            ("python_function", "f", 1, {"Python id": 1, "Python parent id": 0}),
        ]
        events: list[dict] = [
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 1, "ts": 1 + i, "dur": 1, "args": args}
            for i, (cat, name, pid, args) in enumerate(rows)
        ]
        damaged = {**events[0], "dur": -1}
        trace = self.write("t.json", json.dumps({"schemaVersion": 1, "traceEvents": [*events, damaged]}))
        words = {"achieved", "warps", "exported", "cgemm"}
        outcome = support.headroom("repair", trace, "-o", self.scratch / "copy.json", "-q")
        self.assertEqual(outcome.code, 0, outcome)
        words |= {part.lower() for part in re.findall(r"[A-Z]?[a-z]{3,}", (self.scratch / "copy.json").read_text())}
        self.assertGreater(len(words), 40)
        own = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "dur": 1}
        events += [{**own, "name": f"{word}_goal", "ts": 20 + i} for i, word in enumerate(sorted(words))]
        trace = self.write("t.json", json.dumps({"schemaVersion": 1, "traceEvents": [*events, damaged]}))
        for name in ("share.json", "share.pftrace"):
            with self.subTest(name):
                self.redact(trace, name=name)

    def test_machines_of_merged_traces(self):
        """`merge` writes machines after the rank. Their names may be words that frameworks use."""
        rows = [
            {
                "ph": "M",
                "name": "process_name",
                "pid": 1,
                "tid": 0,
                "args": {"name": "rank 0 on gpu-node-7: python train.py (12)"},
            },
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2},
        ]
        text = self.content(self.redact(self.write("t.json", json.dumps({"traceEvents": rows})))[0]).decode()
        self.assertNotIn("node-7", text)
        self.assertIn("rank 0 on host", text)

    def test_logins_that_are_parts_of_public_words(self):
        rows = [
            {
                "ph": "X",
                "cat": "python_function",
                "name": "/home/ada/x.py(1): f",
                "pid": 1,
                "tid": 1,
                "ts": 1.5,
                "dur": 9,
            },
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": "Optimizer.step#Adam.step of ada",
                "pid": 1,
                "tid": 1,
                "ts": 2.5,
                "dur": 2,
            },
        ]
        text = self.content(self.redact(self.write("t.json", json.dumps({"traceEvents": rows})))[0]).decode()
        self.assertIn("#Adam.step of usera", text)

    def test_the_lists_of_words_say_what_their_sources_do(self):
        python = "/usr/bin/python3"  # Debian's Python, for which tools/setup installs PyTorch.
        tool = [
            support.ROOT / "tools/public_words",
            "--check",
            "--python",
            python if os.path.exists(python) else sys.executable,
        ]
        # Only --full checks the names of all real traces, which takes 12 s.
        lists = () if support.FULL else ("rules", "headroom", "readers", "python", "torch")
        outcome = support.run([*tool, *lists], seconds=300, environment={"HEADROOM_DATA": str(support.DATA)})
        self.assertEqual(outcome.code, 0, outcome)
        outcome = support.run([*tool, "poems"], seconds=300)
        self.assertEqual(outcome.code, 2, outcome)

    def test_the_map(self):
        trace = self.write("planted.json", json.dumps(planted()))
        path = self.scratch / "map.json"
        copy, _ = self.redact(trace, "--map", path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        rows = {row["original"]: row["token"] for row in json.loads(path.read_text())["replaced"]}
        self.assertIn(rows["Bluebird"] + "Attention_0", self.content(copy).decode())
        self.assert_refused(
            support.headroom("redact", trace, "-o", self.scratch / "b.json", "--map", path), 2, "this file exists"
        )
        originals = {row["original"] for row in json.loads(path.read_text())["replaced"] if row["kind"] == "arguments"}
        self.assertLessEqual({"owner", "customer", " train.py --name geheimprojekt --token hf_tOkEnXyZ"}, originals)
        self.assertIn("quokkanet", {row["original"] for row in json.loads(path.read_text())["replaced"]})

    def test_the_map_is_no_copy(self):
        trace = self.write("planted.json", json.dumps(planted()))
        (self.scratch / "link.json").symlink_to("m.json")
        (self.scratch / "here").symlink_to(".")
        for copy in ("m.json", "link.json", "here/m.json", "./here/link.json"):
            self.assert_refused(
                support.headroom("redact", trace, "-o", self.scratch / copy, "--map", self.scratch / "m.json"),
                2,
                "the copy has this name",
            )
        self.assertFalse((self.scratch / "m.json").exists())

    def test_arguments_alone(self):
        """Arguments are dropped because of their place, and counted. Other texts stay."""
        trace = self.write("planted.json", json.dumps(planted()))
        copy, answer = self.redact(trace, "--remove", "arguments")
        self.assertGreater(answer["replaced"]["arguments"], 3)
        text = self.content(copy).decode()
        self.assertIn("quokkanet", text)
        self.assertNotIn('"customer"', text)
        self.assertNotIn("hf_tOkEnXyZ", text)
        said = support.headroom("redact", trace, "-o", self.scratch / "b.json", "--remove", "arguments").text
        self.assertIn("dropped because of their place", said)

    def test_addresses_in_words(self):
        names = [
            "ip-10-0-12-34.bluebird.corp",
            "x3f2504e0.10.0.0.7",
            "mac-00-1a-2b-3c-4d-5f",
            "rank0_fe80::dead:beef",
            "layer_/attention/dot",
            "192.168.1.17_rank0",
            "worker_10.0.0.1",
            "v10.0.0.2",
            "eth0/10.23.4.5",
            "x/00:1a:2b:3c:4d:5e",
            "user/bob.smith@acme.com",
            "run_/home/grace/x",
            "cache_/home/data/train",
        ]
        rows = [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10.5 * i + 1, "dur": 2}
            for i, name in enumerate(names)
        ]
        copy, _ = self.redact(
            self.write("t.json", json.dumps({"schemaVersion": 1, "traceEvents": rows})), "--remove", "paths,hosts,users"
        )
        self.assert_gone(
            copy,
            [
                "192.168.1.17",
                "10.0.0.1",
                "10.0.0.2",
                "10.23.4.5",
                "00:1a:2b:3c:4d:5e",
                "bob.smith",
                "acme.com",
                "/home/grace",
                "/home/data",
                "bluebird",
                "10.0.0.7",
                "00-1a-2b-3c",
                "dead:beef",
            ],
        )
        names = [event["name"] for event in json.loads(self.content(copy))["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(names[0], "hosta")
        self.assertEqual(names[4], "layer_/attention/dot")
        self.assertRegex(names[5], "^host[a-z]_rank0$")

    def test_versions_stay(self):
        trace = planted()
        trace["headroom_versions"] = {"tensorrt": "8.9.2.26-1+cuda12.1", "cudnn": "9.1.0.70"}
        trace["traceEvents"].append(
            {"ph": "X", "cat": "cpu_op", "name": "with 9.1.0.70 at 10.1.1.1", "pid": 1, "tid": 1, "ts": 900, "dur": 2}
        )
        copy, _ = self.redact(self.write("t.json", json.dumps(trace)), "--remove", "hosts")
        text = self.content(copy).decode()
        self.assertIn("8.9.2.26-1+cuda12.1", text)
        self.assertRegex(text, "with 9.1.0.70 at host[a-z]")

    def test_a_trace_without_kineto(self):
        """The trace's report has parts that its exporter never writes, and so has the copy's report."""
        for sample in ("bare-array-of-pytorch-1.13", "plain-chrome-spans"):
            with self.subTest(sample):
                self.redact(support.ROOT / "tests/golden" / sample / "trace.json")

    def test_no_labels_where_there_were_none(self):
        rows = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "python"}}]
        rows += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": tid, "ts": 1.5, "dur": 2}
            for tid in (1, 3, 2)
        ]
        copy, _ = self.redact(self.write("t.json", json.dumps({"traceEvents": rows})), name="share.json")
        self.assertNotIn("process_labels", self.content(copy).decode())
        self.assertEqual([tid for tid, in self.rows(copy, "select tid from threads")], ["1", "3", "2"])

    def test_one_text_one_token(self):
        rows = [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10.5 * i + 1, "dur": 2}
            for i, name in enumerate(("qqfoo", "namea", "qqbar", "qqfoo", "nameb"))
        ]
        copy, _ = self.redact(self.write("t.json", json.dumps({"traceEvents": rows})), name="share.json")
        names = [row["name"] for row in json.loads(self.content(copy))["traceEvents"] if row["ph"] == "X"]
        self.assertEqual(len(set(names)), 4)
        self.assertEqual(names[0], names[3])
        self.assertFalse(set(names) & {"qqfoo", "namea", "qqbar", "nameb"})

    def test_what_is_refused(self):
        trace = self.write("planted.json", json.dumps(planted()))
        out = self.scratch / "x.json"
        self.assert_refused(support.headroom("redact", trace, "-o", trace), 2, "name another")
        self.assert_refused(support.headroom("redact", trace, "-o", "-"), 2, "-o -")
        self.assert_refused(
            support.headroom("redact", trace, "-o", out, "--remove", "money"),
            2,
            "not one of paths, hosts, users, arguments, names",
        )
        self.assert_refused(support.headroom("redact", trace, "-o", out, "--word", "x"), 2, "two characters")
        self.assert_refused(support.headroom("redact", trace, "-o", out, "--json", "-q"), 2, "--quiet")
        self.assert_refused(support.headroom("redact", trace, "-o", self.scratch / "none/x.json"), 4, "none")
        # A word that marks steps. Without it there are no steps.
        self.assert_refused(
            support.headroom("redact", trace, "-o", out, "--word", "ProfilerStep"),
            4,
            "'ProfilerStep' matches a --word or --pattern and is part of 'ProfilerStep#0'",
            "leave out that --word or --pattern",
        )
        self.assertEqual(sorted(path.name for path in self.scratch.iterdir()), ["planted.json"])

    def test_what_is_there(self):
        """A rename replaces a name. A pipe or a device must stay, a link stays a link, and a file keeps its
        permissions."""
        trace = self.write("planted.json", json.dumps(planted()))
        pipe = self.scratch / "pipe"
        os.mkfifo(pipe)
        self.assert_refused(support.headroom("redact", trace, "-o", pipe), 2, "not a regular file")
        self.assertTrue(stat.S_ISFIFO(pipe.lstat().st_mode))
        self.assert_refused(support.headroom("redact", trace, "-o", self.scratch), 4, "directory")
        (self.scratch / "shared").mkdir()
        target = self.write("shared/real.json", "old")
        target.chmod(0o640)
        link = self.scratch / "link.json"
        link.symlink_to(target)
        self.redact(trace, name="link.json")
        self.assertTrue(link.is_symlink())
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o640)
        self.assert_gone(target, SECRETS)
        self.assertEqual(
            sorted(path.name for path in self.scratch.rglob("*")),
            ["link.json", "pipe", "planted.json", "real.json", "shared"],
        )
