"""Tests PyTorch's memory snapshots: pickles that are read as data. Their generator gives the expected totals, peaks and
owners.
"""
import concurrent.futures
import gzip
import io
import os
import pickle
import random
import unittest

import memory_snapshot
from integration import support


class MemorySnapshot(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.loop = memory_snapshot.Loop().run(3)
        self.snapshot = self.loop.snapshot()

    def memory(self, data, name="snapshot.pickle"):
        report = self.report(self.write(name, data))
        return report, report["memory"]["devices"]

    def test_totals_and_peak_are_those_of_the_loop(self):
        for protocol in (2, 3, 4, 5):
            with self.subTest(protocol=protocol):
                report, (use,) = self.memory(memory_snapshot.dump(self.snapshot, protocol))
                self.assertEqual(report["inputs"][0]["format"], "pytorch-memory-snapshot")
                self.assertEqual(report["inputs"][0]["events"], len(self.loop.trace))
                self.assertEqual(
                    (use["device"], use["first_bytes"], use["last_bytes"], use["peak_bytes"]),
                    (0, 0, self.loop.allocated, self.loop.peak),
                )
                self.assertEqual(use["most_reserved_bytes"], self.snapshot["segments"][0]["total_size"])
                entries = [entry["action"] for entry in self.loop.trace]
                self.assertEqual(
                    (use["allocations"], use["frees"]), (entries.count("alloc"), entries.count("free_requested"))
                )

    def test_owners_at_the_peak(self):
        # The first update: weights, gradients, Adam's state, and one temporary.
        _, (use,) = self.memory(memory_snapshot.dump(self.snapshot))
        layers, size = self.loop.layers, self.loop.bytes
        parts = {part["kind"]: part["bytes"] for part in use["parts"]}
        self.assertEqual(
            parts,
            {
                "optimizer_state": 2 * layers * size,
                "gradient": layers * size,
                "other": layers * size,
                "temporary": size,
            },
        )
        owners = {(h["operator"], h["line"], h["kind"]): h["bytes"] for h in use["holders"]}
        self.assertEqual(
            owners,
            {
                ("aten::zeros_like", "/home/me/project/train.py(23): main", "optimizer_state"): 2 * layers * size,
                ("aten::mm", None, "gradient"): layers * size,
                ("aten::empty_memory_format", "/home/me/project/model.py(5): __init__", "other"): layers * size,
                ("aten::sqrt", "/home/me/project/train.py(23): main", "temporary"): size,
            },
        )

    def test_what_was_there_before_the_history(self):
        # The allocator keeps only the last entries.
        first = next(i for i, entry in enumerate(self.loop.trace) if entry["frames"] and "adam" in str(entry["frames"]))
        self.snapshot["device_traces"][0] = self.loop.trace[first:]
        _, (use,) = self.memory(memory_snapshot.dump(self.snapshot))
        self.assertEqual(use["first_bytes"], 2 * self.loop.layers * self.loop.bytes)  # Weights and gradients.
        self.assertEqual((use["peak_bytes"], use["last_bytes"]), (self.loop.peak, self.loop.allocated))

    def test_without_a_history(self):
        self.snapshot["device_traces"] = [[]]
        report, (use,) = self.memory(memory_snapshot.dump(self.snapshot))
        self.assertEqual(
            (use["peak_bytes"], use["allocations"], use["frees"]), (self.loop.allocated, len(self.loop.kept), 0)
        )
        (issue,) = [i for i in report["health"]["issues"] if i["code"] == "no-memory-history"]
        self.assertIn("_record_memory_history", issue["detail"])

    def test_without_times(self):
        """Tests the form of PyTorch before 2.2. The order shows everything except times."""
        timed, (expected,) = self.memory(memory_snapshot.dump(self.snapshot))
        for entry in self.snapshot["device_traces"][0]:
            del entry["time_us"]
        report, (use,) = self.memory(memory_snapshot.dump(self.snapshot))
        for key in ("peak_bytes", "allocations", "frees", "last_bytes", "parts"):
            self.assertEqual(use[key], expected[key], key)
        self.assertEqual(report["health"]["grade"], timed["health"]["grade"])
        (issue,) = [i for i in report["health"]["issues"] if i["code"] == "no-times"]
        read = [e for e in self.snapshot["device_traces"][0] if e["action"] != "free_completed"]
        self.assertEqual((issue["severity"], issue["count"]), ("info", len(read)))
        read[0]["time_us"] = -5
        report, _ = self.memory(memory_snapshot.dump(self.snapshot))
        (issue,) = [i for i in report["health"]["issues"] if i["code"] == "bad-time"]
        self.assertEqual(issue["count"], 1)

    def test_the_form_before_pytorch_2(self):
        report, (use,) = self.memory(memory_snapshot.dump(self.snapshot["segments"]))
        self.assertEqual(use["last_bytes"], self.loop.allocated)

    def test_several_gpus_and_marked_ranges(self):
        other = memory_snapshot.Loop(layers=2).run(1)
        second = other.snapshot()["segments"][0] | {"device": 1}
        self.snapshot["segments"].append(second)
        self.snapshot["device_traces"].append(other.trace)
        start = memory_snapshot.START_US
        self.snapshot["external_annotations"] = [
            {
                "stage": stage,
                "name": f"ProfilerStep#{i}",
                "device": 0,
                "time_us": start + 1000 * i + 999 * (stage == "END"),
            }
            for i in range(1)
            for stage in ("START", "END")
        ]
        report, uses = self.memory(memory_snapshot.dump(self.snapshot))
        self.assertEqual([(u["device"], u["peak_bytes"]) for u in uses], [(0, self.loop.peak), (1, other.peak)])
        self.assertEqual([s["index"] for s in report["steps"]["list"]], [0])

    def test_out_of_memory_is_an_instant(self):
        self.loop.trace.append(
            {
                "action": "oom",
                "device_free": 1 << 20,
                "size": 1 << 30,
                "stream": 0,
                "time_us": self.loop.us + 5,
                "frames": [],
            }
        )
        _, (use,) = self.memory(memory_snapshot.dump(self.snapshot))
        self.assertEqual(use["last_bytes"], self.loop.allocated)

    def test_compressed(self):
        _, (use,) = self.memory(gzip.compress(memory_snapshot.dump(self.snapshot)), "snapshot.pickle.gz")
        self.assertEqual(use["peak_bytes"], self.loop.peak)

    def test_text_shows_the_lines(self):
        path = self.write("snapshot.pickle", memory_snapshot.dump(self.snapshot))
        text = support.headroom("report", "--only", "memory", path).text
        self.assertIn("source line", text)
        self.assertIn("5): __init__", text)

    # --- other files and damaged snapshots ----------------------------------------------------------------------------

    def test_code_is_never_run(self):
        marker = self.scratch / "was-run"

        class Attack:
            def __reduce__(self):
                return os.mkdir, (str(marker),)

        for protocol in (2, 4):
            outcome = support.headroom("report", "--json", self.write("evil.pickle", pickle.dumps(Attack(), protocol)))
            self.assertEqual((outcome.code, outcome.out), (3, b""), outcome)
            self.assertIn("runs code", outcome.message)
            self.snapshot["allocator_settings"] = Attack()
            report, (use,) = self.memory(pickle.dumps(self.snapshot, protocol))
            self.assertEqual(use["allocations"], [e["action"] for e in self.loop.trace].count("alloc"))
            self.assertIn("truncated", [i["code"] for i in report["health"]["issues"]])
        self.assertFalse(marker.exists())

    def test_other_pickles_are_refused(self):
        for value in ({"epoch": 3}, [1, 2], "text", 7, {"segments": 1}):
            outcome = support.headroom("report", self.write("other.pickle", pickle.dumps(value, 4)))
            self.assertEqual(outcome.code, 3, outcome)
            self.assertIn("not a PyTorch memory snapshot", outcome.message)

    def test_a_checkpoint_is_refused(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not there")
        buffer = io.BytesIO()
        torch.save({"weight": torch.zeros(2)}, buffer, _use_new_zipfile_serialization=False)
        outcome = support.headroom("report", self.write("model.pt", buffer.getvalue()))
        self.assertEqual(outcome.code, 3, outcome)
        self.assertIn("pickle", outcome.message)

    def damaged(self):
        whole = memory_snapshot.dump(memory_snapshot.Loop(layers=1).run(1).snapshot(), 4)
        for k in range(len(whole)):
            yield f"cut-{k}.pickle", whole[:k]
            flipped = bytearray(whole)
            flipped[k] ^= 1 << random.Random(k).randrange(8)
            yield f"flip-{k}.pickle", bytes(flipped)

    def test_damage_is_told_or_refused(self):
        cases = list(self.damaged())
        if not support.FULL:
            cases = random.Random(1).sample(cases, 400 // (8 if support.sanitized() else 1))

        def run(case):
            path = self.write(*case)
            outcome = support.headroom("report", "--json", path, seconds=20)
            path.unlink()
            return outcome

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (name, _), outcome in zip(cases, pool.map(run, cases)):
                with self.subTest(name):
                    self.assertIn(outcome.code, (0, 3), outcome)
                    if outcome.code == 3:
                        self.assertEqual(outcome.out, b"")
                        self.assertIn(name, outcome.message)
                        continue
                    report = outcome.json()
                    self.assertEqual(support.violations(report), [], outcome)
                    if name.startswith("cut"):
                        self.assertIn("truncated", [i["code"] for i in report["health"]["issues"]])

    def test_a_cut_keeps_the_entries_before_it(self):
        whole = memory_snapshot.dump(self.snapshot)
        # Entries after the history: settings, annotations and the end.
        report, (use,) = self.memory(whole[: whole.index(b"allocator_settings") - 8])
        self.assertGreaterEqual(report["inputs"][0]["events"], len(self.loop.trace) - 1)
        self.assertEqual(use["peak_bytes"], self.loop.peak)

    def test_shared_lists_cost_no_more_than_their_bytes(self):
        # A history that a small file repeats a million times.
        trace = self.loop.trace
        for _ in range(6):
            trace = [trace] * 10
        self.snapshot["device_traces"] = trace
        outcome = support.headroom(
            "report", "--json", self.write("bomb.pickle", memory_snapshot.dump(self.snapshot)), seconds=20
        )
        self.assertIn(outcome.code, (0, 3), outcome)
        self.snapshot["device_traces"] = [self.loop.trace] * 100_000
        outcome = support.headroom(
            "report", "--json", self.write("bomb.pickle", memory_snapshot.dump(self.snapshot)), seconds=60
        )
        self.assertIn(outcome.code, (0, 3), outcome)


if __name__ == "__main__":
    unittest.main()
