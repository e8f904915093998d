"""Tests every real trace of the data folder: sound, equal to the oracle, the same for any number of threads,
readable."""
import re

from integration import support
from oracle import gpu_oracle


class RealTraces(support.ProgramTest):
    def agrees_with_oracle(self, path, report):
        expected = gpu_oracle.analyse(gpu_oracle.load(path))
        for table, keys in (("gpu_time", ("device",)), ("idle", ("device", "stream"))):
            want = {tuple(r[k] for k in keys): r for r in expected[table]}
            got = {tuple(r[k] for k in keys): r for r in report[table]}
            self.assertEqual(sorted(got), sorted(want), f"rows of {table}")
            for row, values in want.items():
                for key, value in values.items():
                    where = f"{table} {row} {key}: want {value}, got {got[row][key]}"
                    if value is None or key in (*keys, "rank"):
                        self.assertEqual(got[row][key], value, where)
                    else:
                        self.assertTrue(support.is_number(got[row][key]) and support.close(got[row][key], value), where)

    def json_of(self, path):
        outcomes = [
            support.headroom("report", "--json", path, *threads)
            for threads in ((), ("--threads", 1), *([("--threads", 2)] if support.FULL else []), ("--threads", 8))
        ]
        for outcome in outcomes:
            self.assertEqual(outcome.code, 0, outcome)
            self.assertNotIn(b"\r", outcome.err, "a progress bar without a terminal")
            self.assertEqual(outcome.out, outcomes[0].out, f"other bytes with {outcome.command[-2:]}")
        report = outcomes[0].json()
        self.assertEqual(support.violations(report), [])
        self.assertEqual(report["inputs"][0]["bytes"], path.stat().st_size)
        self.agrees_with_oracle(path, report)

    def text_of(self, path):
        text = support.headroom("report", path)
        self.assertEqual(text.code, 0, text)
        self.assert_readable_text(text.text, path.name)
        markdown = support.headroom("report", path, "--md")
        self.assertEqual(markdown.code, 0, markdown)
        self.assert_whole_tables(markdown.text, path.name)


class Verdicts(support.ProgramTest):
    """Distinguishes host-bound and GPU-bound jobs. In the median step, the GPU is busy for less than 30 % in the
    first list, and for more than 94 % in the second (computed without the program, from the ends of the steps' GPU
    work).
    """

    HOST = ("bert_base_amp-fp16", "bert_base_amp-bf16_attn-sdpa_opt-fused", "bert_base_tf32-True", "bert_base_bs-1")
    GPU = ("vgg19_fp32", "vgg19_tf32-True", "gpt2_fp32", "gpt2_opt-fused", "resnet50_fp32", "bert_base_opt-fused")

    def verdict(self, name):
        return self.report(support.data_file(f"h200/traces/{name}.json.gz"))["bottleneck"]

    def test_host_bound(self):
        for name in self.HOST:
            with self.subTest(name):
                bottleneck = self.verdict(name)
                self.assertEqual(bottleneck["verdict"], "host", bottleneck)
                self.assertTrue(bottleneck["evidence"])

    def test_gpu_bound(self):
        for name in self.GPU:
            with self.subTest(name):
                bottleneck = self.verdict(name)
                self.assertIn(bottleneck["verdict"], ("gpu-compute", "gpu-memory"), bottleneck)
                self.assertTrue(bottleneck["evidence"])


class Ranks(support.ProgramTest):
    def test_two_ranks_of_one_job_are_two_rows_each_as_alone(self):
        paths = [support.data_file(f"public-traces/hta__trace_filter__sampled_rank-{i}.json.gz") for i in (0, 1)]
        both, alone = self.report(*paths), [self.report(p) for p in paths]
        self.assertEqual([i["rank"] for i in both["inputs"]], [0, 1])
        for table in ("gpu_time", "idle"):
            self.assertEqual(both[table], alone[0][table] + alone[1][table])


class NotEvents(support.ProgramTest):
    def test_a_memory_timeline_is_refused_by_name(self):
        path = support.data_file("public-traces/hta__memory_timeline.raw.gz")
        self.assert_refused(support.headroom("report", path), 3, path.name, "memory timeline")


def _add(path):
    name = re.sub(r"\W+", "_", path.name.removesuffix(".json.gz"))
    setattr(RealTraces, f"test_json_{name}", lambda self: self.json_of(path))
    setattr(RealTraces, f"test_text_{name}", lambda self: self.text_of(path))


for _path in support.real_traces():
    _add(_path)
if not support.real_traces():

    def _absent(self):
        support.data_file("h200/traces")
        self.fail(f"{support.DATA} has the folder, and no trace in it")

    setattr(RealTraces, "test_absent", _absent)
