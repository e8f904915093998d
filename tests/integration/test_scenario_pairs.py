"""Tests laws that hold for any two scenarios of the catalogue together, for any job."""
import itertools
import math
import re

from integration import support

SAMPLES = support.ROOT / "data/samples"
SAMPLE = SAMPLES / "resnet50_fp32_h200.json.gz"
# Jobs that already have changes of the catalogue.
CHANGED = (SAMPLES / "bert_base_fused_bf16_h200.json.gz", SAMPLES / "bert_base_amp_fp16_h200.json.gz")
# A training loop on the CPU.
ON_CPU = support.ROOT / "tests/frameworks/recordings/pytorch_loop.json.xz"
# Values of keys without a default. A new scenario that needs another key fails here until it gets a value.
VALUES = {
    "optimizer": "kind=muon",
    "power-limit": "watts=400",
    "attention": "kind=flash3",
    "packing": "fill=0.5",
    "offload": "what=activations",
    "threads": "from=1,n=2",
    "batch-size": "n=32",
    "sequence-length": "n=512",
    "horizontal-fusion": "jobs=2",
    "data-parallel": "gpus=4",
    "gradient-accumulation": "n=4",
    "freeze": "match=layer1",
    "scale": "match=relu,factor=0.5",
    "remove": "match=relu",
}


class Pairs(support.ProgramTest):
    def whatif(self, scenarios, trace=SAMPLE):
        outcome = support.headroom("whatif", "--json", "--quiet", "--no-local-state", trace, *scenarios, seconds=300)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.json()["scenarios"]

    def scenarios(self):
        names = re.findall(r"^  ([a-z0-9-]+) ", support.headroom("whatif", "--list").text, re.MULTILINE)
        self.assertGreater(len(names), 20)
        return [f"{name}:{VALUES[name]}" if name in VALUES else name for name in names]

    def assert_sound(self, row):
        self.assertTrue(row["why"], row)
        self.assertNotIn("nan", row["why"])
        if not row["applies"]:
            self.assertEqual(set(row["step_ms"].values()) | {row["speedup"], row["saves_ms"]}, {None}, row)
            return
        step = row["step_ms"]
        self.assertTrue(all(math.isfinite(ms) and ms > 0 for ms in step.values()), row)
        self.assertLessEqual(step["low"], step["mid"], row)
        self.assertLessEqual(step["mid"], step["high"], row)
        self.assertGreater(row["speedup"], 0, row)
        memory = row["memory_delta_bytes"]
        self.assertTrue(memory is None or isinstance(memory, int), row)

    def test_the_order_of_a_pair_does_not_matter_and_each_is_a_forecast_or_a_reason(self):
        scenarios = self.scenarios()
        for row in self.whatif(scenarios):
            with self.subTest(row["name"]):
                self.assert_sound(row)
        pairs = support.some(itertools.combinations(scenarios, 2), every=4)
        rows = self.whatif([f"{a}+{b}" for a, b in pairs])
        turned = self.whatif([f"{b}+{a}" for a, b in pairs])
        applied = 0
        for row, other in zip(rows, turned):
            with self.subTest(row["name"]):
                self.assert_sound(row)
                self.assertEqual({**row, "name": ""}, {**other, "name": ""})
                applied += row["applies"]
        self.assertGreater(applied, len(pairs) / 4)

    def test_a_part_with_nothing_to_do_changes_nothing(self):
        scenarios = self.scenarios()
        for trace in (SAMPLE, *CHANGED) if support.FULL else CHANGED[:1]:
            alone = {row["name"]: row for row in self.whatif(scenarios, trace)}
            # Only parts without a forecast alone can have nothing to do.
            parts = [name for name, row in alone.items() if not row["applies"]]
            others = [name for name in scenarios if name not in parts]
            pairs = support.some(itertools.product(parts, others), every=2)
            idle = 0
            for (part, other), row in zip(pairs, self.whatif([f"{part}+{other}" for part, other in pairs], trace)):
                told = rf"(^|; ){re.escape(part.partition(':')[0])} changes nothing \("
                if not row["applies"] or not re.search(told, row["why"]):
                    continue
                idle += 1
                with self.subTest(trace=trace.name, pair=row["name"], idle=part):
                    for key in ("step_ms", "changed", "memory_delta_bytes", "validated", "at_best"):
                        self.assertEqual(row[key], alone[other][key], key)
            self.assertGreater(idle, len(scenarios) / (2 if support.FULL else 4))

    def test_pairs_on_the_cpu(self):
        scenarios = [row["name"] for row in self.whatif(self.scenarios(), ON_CPU) if row["applies"]]
        self.assertGreater(len(scenarios), 4)
        pairs = list(itertools.combinations(scenarios, 2))
        rows = self.whatif([f"{a}+{b}" for a, b in pairs], ON_CPU)
        turned = self.whatif([f"{b}+{a}" for a, b in pairs], ON_CPU)
        for row, other in zip(rows, turned):
            with self.subTest(row["name"]):
                self.assert_sound(row)
                self.assertEqual({**row, "name": ""}, {**other, "name": ""})

    def test_a_change_that_the_job_has_is_named(self):
        rows = self.whatif(["fused-optimizer", "amp", "flash-attention", "attention:kind=cudnn", "tf32"], CHANGED[0])
        for row in rows:
            with self.subTest(row["name"]):
                self.assertFalse(row["applies"])
                self.assertTrue(row["why"].startswith("already: "), row["why"])
