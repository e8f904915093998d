"""Tests `headroom scale` on the files of several ranks. The job is generated, so that its network and waits are
known.
"""
import shutil

from integration import ranks, support
from integration.test_scale import mids, scale

WORLD = 4
LATENCY_US = 5.0
BYTES_PER_US = 10_000.0  # 80 Gbit/s.
SIZES = (4e6, 8e6, 16e6)
# Computation of each rank before each all-reduce, in us. Rank 2 is the lower median, and waits for rank 3.
COMPUTING_US = (1000.0, 1200.0, 1100.0, 1600.0)
SLOWEST_US = max(COMPUTING_US)
STEPS = 6
REAL = "public-traces/hta__nccl_parser_config__nccl_data.json.gz"


def ring_us(size, gpus, bytes_per_us=BYTES_PER_US, latency_us=LATENCY_US):
    """Returns the time of a ring. For the numbers of GPUs below, it is shorter than a tree's."""
    return 2 * (gpus - 1) * latency_us + 2 * (gpus - 1) / gpus * size / bytes_per_us


def step_ms(gpus, *network):
    """Returns the step time. All ranks wait for the slowest, and no work overlaps a collective."""
    return sum(SLOWEST_US + ring_us(size, gpus, *network) for size in SIZES) / 1e3


def make_rank(rank, world=WORLD):
    """Returns a trace. Each step has three kernels, each followed by an all-reduce, on one stream. The host is far
    ahead.
    """
    events, correlation, host, gpu = [], 0, 1e6, 1.01e6

    def launch(name, begin, end, args):
        nonlocal correlation, host
        correlation += 1
        events.append(
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": 100,
                "tid": 100,
                "ts": host,
                "dur": 5,
                "args": {"correlation": correlation},
            }
        )
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": name,
                "pid": 0,
                "tid": 7,
                "ts": begin,
                "dur": end - begin,
                "args": {"correlation": correlation, "device": 0, "stream": 7, **args},
            }
        )
        host += 10

    for step in range(STEPS):
        began = host
        for size in SIZES:
            own, last = gpu + COMPUTING_US[rank], gpu + SLOWEST_US
            launch("gemm", gpu, own, {})
            gpu = last + ring_us(size, WORLD)
            launch(
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)",
                own,
                gpu,
                {
                    "Collective name": "allreduce",
                    "In msg nelems": int(size / 4),
                    "Out msg nelems": int(size / 4),
                    "dtype": "Float",
                    "Group size": world,
                    "Process Group Name": "0",
                },
            )
        events.append(
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"ProfilerStep#{step}",
                "pid": 100,
                "tid": 100,
                "ts": began,
                "dur": host - began,
            }
        )
    for event in events:  # Unrelated clocks.
        event["ts"] = round(event["ts"] + 7e5 * rank, 3)
    return {"distributedInfo": {"rank": rank, "world_size": world}, "traceEvents": events}


class MadeRanks(support.ProgramTest):
    def folder(self, *made, name="traces"):
        folder = self.scratch / name
        folder.mkdir()
        for number, trace in enumerate(made):
            ranks.write(trace, folder / f"rank{number}.json.gz")
        return folder

    def job(self):
        return self.folder(*(make_rank(r) for r in range(WORLD)))

    def network(self, answer):
        gbps, latency = answer["baseline"]["recorded_network"].split(" Gbit/s and ")
        return float(gbps), float(latency.split(" us")[0])


class Skew(MadeRanks):
    def test_the_network_and_other_numbers_of_gpus(self):
        answer = scale(self.job(), "--gpus", "1,4,8,16")
        self.assertEqual((answer["baseline"]["replayed_rank"], answer["baseline"]["ranks"]), (2, WORLD))
        gbps, latency = self.network(answer)
        self.assertAlmostEqual(gbps, 80, delta=0.1)
        self.assertAlmostEqual(latency, LATENCY_US, delta=0.1)
        alone = 3 * COMPUTING_US[2] / 1e3
        for got, want in zip(mids(answer), (alone, step_ms(4), step_ms(8), step_ms(16))):
            self.assertAlmostEqual(got / want, 1, delta=0.001)
        self.assertIn(
            "18 recorded collectives scaled from 4 to 8 GPUs, with this rank's waits for others as recorded",
            answer["points"][2]["why"],
        )

    def test_a_faster_network_does_not_end_waits(self):
        fast = ("--gpus", "4", "--bandwidth-gbps", "800", "--latency-us", "5")
        payload = 0.9415 * 800e3 / 8
        folder = self.job()
        self.assertAlmostEqual(mids(scale(folder, *fast))[0] / step_ms(4, payload), 1, delta=0.002)
        # The file of a single rank does not separate waits from transfers.
        self.assertLess(mids(scale(folder / "rank2.json.gz", *fast))[0], 0.9 * step_ms(4, payload))

    def test_a_rank_by_itself_misses_both(self):
        answer = scale(self.job() / "rank2.json.gz", "--gpus", "4,8")
        self.assertIsNone(answer["baseline"]["replayed_rank"])
        self.assertIsNone(answer["baseline"]["ranks"])
        # Each all-reduce of the single rank took 500 us longer, as if a message took 500 / 6 us longer.
        self.assertAlmostEqual(self.network(answer)[1], LATENCY_US + (SLOWEST_US - COMPUTING_US[2]) / 6, delta=1)
        self.assertGreater(mids(answer)[1], 1.05 * step_ms(8))
        self.assertIn("including their waits for the slowest rank", answer["points"][1]["why"])

    def test_two_files_and_a_stretch_of_their_steps(self):
        folder = self.job()
        answer = scale(
            folder / "rank3.json.gz", folder / "rank0.json.gz", "--gpus", "8", "--steps", "2:4", "--step-deviation", "0"
        )
        self.assertEqual((answer["baseline"]["replayed_rank"], answer["baseline"]["ranks"]), (0, 2))
        self.assertAlmostEqual(mids(answer)[0] / step_ms(8), 1, delta=0.002)
        self.assertIn("9 recorded collectives", answer["points"][0]["why"])
        self.assertEqual(answer["input"], f"{folder}/rank3.json.gz {folder}/rank0.json.gz")

    def test_changes_and_waits(self):
        """If all work of GPUs is twice as fast, including collectives, ranks wait half as long."""
        answer = scale(self.job(), "--gpus", "8", "--with", "gpu-speed:factor=2")
        self.assertAlmostEqual(mids(answer)[0] / step_ms(8), 0.5, delta=0.001)

    def test_text(self):
        outcome = support.headroom("scale", self.job(), "--gpus", "8", "--no-local-state")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("rank 2, the median by compute time, of 4 on one", outcome.text)
        self.assert_readable_text(outcome.text, outcome)

    def test_a_real_job(self):
        """Rank 1 is 1.5 ms late to each collective and never waits. Alone it shows the same network as both ranks
        together.
        """
        trace = ranks.load(support.data_file(REAL))
        folder = self.folder(
            *(
                ranks.make_rank(trace, r, 2, offset_us=5e8 * r, drift=20e-6 * r, late_us=1500 if r else 0)
                for r in range(2)
            )
        )
        both, early, late = (
            self.network(scale(path, "--gpus", "8"))
            for path in (folder, folder / "rank0.json.gz", folder / "rank1.json.gz")
        )
        self.assertAlmostEqual(both[0] / late[0], 1, delta=0.02)
        self.assertAlmostEqual(both[1], late[1], delta=1)
        self.assertGreater(early[1], 500)


class Files(MadeRanks):
    def ask(self, *arguments):
        return support.headroom("scale", *arguments, "--gpus", "8", "--no-local-state", "--json")

    def test_what_is_no_trace_is_left_out(self):
        folder = self.job()
        (folder / "broken.json.gz").write_bytes(b"\x1f\x8b\x08nothing")
        (folder / "notes.txt").write_text("mine")
        outcome = self.ask(folder)
        self.assertIn("left out: ", outcome.message)
        self.assertEqual(outcome.json()["baseline"]["ranks"], WORLD)
        self.assertEqual(self.ask(folder, "--quiet").message, "")
        self.assert_refused(self.ask(folder / "rank0.json.gz", folder / "broken.json.gz"), 3, "broken.json.gz")

    def test_one_file_in_a_folder_is_as_if_named(self):
        folder = self.folder(make_rank(2))
        named = self.ask(folder / "rank0.json.gz")
        self.assertEqual(mids(self.ask(folder).json()), mids(named.json()))
        (folder / "broken.json.gz").write_bytes(b"\x1f\x8b\x08nothing")
        answer = self.ask(folder).json()
        self.assertEqual(mids(answer), mids(named.json()))
        self.assertIsNone(answer["baseline"]["ranks"])

    def test_ranks_of_different_jobs(self):
        folder = self.folder(make_rank(0), make_rank(1, world=2))
        outcome = self.ask(folder)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("jobs of 2 and of 4 ranks; rank 0 is scaled alone", outcome.message)
        answer = outcome.json()
        self.assertEqual((answer["baseline"]["replayed_rank"], answer["baseline"]["ranks"]), (0, 1))
        self.assertEqual(mids(answer), mids(self.ask(folder / "rank0.json.gz").json()))

    def test_ranks_that_share_too_little(self):
        other = make_rank(1)
        other["traceEvents"] = [e for e in other["traceEvents"] if "Group size" not in e.get("args", {})]
        outcome = self.ask(self.folder(make_rank(2), other))
        self.assertEqual(outcome.message.count("\n"), 1, outcome)
        self.assertIn("match those of other ranks", outcome.message)
        self.assertEqual(outcome.json()["baseline"]["ranks"], 1)

    def test_a_rank_that_the_job_does_not_have(self):
        outcome = self.ask(
            self.folder(
                make_rank(0), make_rank(1), {**make_rank(2), "distributedInfo": {"rank": 9, "world_size": WORLD}}
            )
        )
        self.assertIn("belongs to rank 9, but the job has 4 ranks; files of such ranks", outcome.message)
        self.assertEqual(outcome.json()["baseline"]["ranks"], 2)

    def test_jobs_of_one_gpu(self):
        samples = (
            support.ROOT / "data/samples/resnet50_fp32_h200.json.gz",
            support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz",
        )
        self.assert_refused(self.ask(*samples), 2, "do not communicate", "give one of them")

    def test_one_rank_twice(self):
        folder = self.job()
        shutil.copy(folder / "rank0.json.gz", folder / "again.json.gz")
        self.assert_refused(self.ask(folder), 2, "rank 0")

    def test_no_input_is_overwritten(self):
        folder = self.job()
        for path in sorted(folder.iterdir()):
            self.assert_refused(self.ask(folder, "-o", path), 2, "-o", "an input trace")
            self.assertTrue(ranks.load(path)["traceEvents"])
