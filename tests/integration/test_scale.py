"""Tests `headroom scale`: the promised points, the laws that they obey, and refused inputs."""
import csv
import gzip
import itertools
import json
import pathlib
import tempfile

import jsonschema

from integration import support

RESNET = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
BERT = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"
LOCAL = "--no-local-state"
SCHEMA = json.loads((support.ROOT / "docs/schema/scale-1.json").read_text())


def scale(*arguments):
    outcome = support.headroom("scale", *arguments, LOCAL, "--json")
    assert outcome.code == 0, str(outcome)
    answer = outcome.json()
    jsonschema.validate(answer, SCHEMA)
    return answer


# Steps that do not vary, and computation that collectives do not slow down.
ALIKE = ("--step-deviation", "0", "--overlap-slowdown", "1")


def mids(answer):
    return [point["step_ms"]["mid"] for point in answer["points"]]


class Points(support.ProgramTest):
    def test_one_gpu_is_the_job_as_it_is(self):
        whatif = support.headroom("whatif", RESNET, "gpu-speed:factor=1", LOCAL, "--json").json()
        answer = scale(RESNET, "--gpus", "1")
        self.assertAlmostEqual(mids(answer)[0], whatif["baseline"]["corrected_step_ms"], places=6)
        self.assertAlmostEqual(answer["points"][0]["efficiency_pct"], 100)
        self.assertAlmostEqual(answer["baseline"]["gradient_bytes"], 102.2e6, delta=0.1e6)
        self.assertEqual(answer["baseline"]["samples_per_step"], 64)

    def test_saturates_where_the_bandwidth_says(self):
        """At 1 Gbit/s the 2 (n - 1) / n of 102.2 MB take 0.818 s of a step on two GPUs, and hardly more than twice that
        on many GPUs. The payload is 0.94 of a frame."""
        slow = scale(RESNET, "--gpus", "2,4,1024", "--bandwidth-gbps", "1", "--latency-us", "0")
        floor = [2 * (n - 1) / n * slow["baseline"]["gradient_bytes"] * 8 / 1e9 * 1e3 / 0.9415 for n in (2, 4, 1024)]
        for step, least in zip(mids(slow), floor):
            self.assertGreater(step, least)
            self.assertLess(step, least + slow["baseline"]["step_ms"]["mid"])
        self.assertEqual({point["limited_by"] for point in slow["points"]}, {"bandwidth"})
        fast = scale(RESNET, "--gpus", "2,4,1024", "--bandwidth-gbps", "100")
        self.assertTrue(all(point["efficiency_pct"] > 85 for point in fast["points"]))

    def test_a_faster_network_is_never_slower(self):
        answer = scale(RESNET, "--gpus", "2,8,64", "--bandwidth-gbps", "1,10,100,1000")
        steps = mids(answer)
        for n in range(3):
            by_bandwidth = steps[n::3]
            self.assertEqual(by_bandwidth, sorted(by_bandwidth, reverse=True))

    def test_many_gpus_of_slow_messages_are_limited_by_latency(self):
        answer = scale(RESNET, "--gpus", "4096", "--bandwidth-gbps", "10000", "--latency-us", "5000")
        self.assertEqual(answer["points"][0]["limited_by"], "latency")

    def test_p3_helps_most_at_low_bandwidth(self):
        """The paper's curves: no gain if communication is hidden, the largest gain if it is not."""

        def gain(gbps):
            common = (RESNET, "--gpus", "4", "--bandwidth-gbps", gbps)
            return mids(scale(*common))[0] / mids(scale(*common, "--schedule", "p3"))[0]

        self.assertGreater(gain("5"), 1.05)
        self.assertGreater(gain("5"), gain("100"))

    def test_blueconnect_helps_on_two_levels_only(self):
        def pair(*gpus):
            common = (RESNET, "--bandwidth-gbps", "10", "--gpus-per-node", "4", "--gpus", *gpus)
            return mids(scale(*common))[0], mids(scale(*common, "--schedule", "blueconnect"))[0]

        ring, staged = pair("4x4")
        self.assertLess(staged, ring)
        for flat in ("4", "4x1"):
            ring, staged = pair(flat)
            self.assertAlmostEqual(staged, ring, places=6)

    def test_dgc_sends_little(self):
        common = (RESNET, "--gpus", "4", "--bandwidth-gbps", "1")
        self.assertLess(mids(scale(*common, "--schedule", "dgc:ratio=270"))[0], 0.3 * mids(scale(*common))[0])

    def test_strong_shares_the_batch(self):
        answer = scale(RESNET, "--gpus", "1,2,4,128", "--strong", "--bandwidth-gbps", "100")
        steps = mids(answer)
        self.assertLess(steps[1], 0.7 * steps[0])
        self.assertLess(steps[2], steps[1])
        self.assertIsNone(steps[3])
        self.assertIn("fewer samples per step (64) than GPUs (128)", answer["points"][3]["why"])
        for point in answer["points"][:3]:
            self.assertAlmostEqual(point["throughput_per_s"], 64e3 / point["step_ms"]["mid"], places=6)

    def test_sharding_sends_what_its_stage_says(self):
        """Tests a ring of n GPUs. An all-reduce takes two passes of (n - 1) / n of the bytes. ZeRO stages 1 and 2 end
        with one more pass, of the parameters. ZeRO stage 3 gathers the parameters twice, except the last unit, and
        scatters the gradients once."""
        common = (RESNET, "--gpus", "4", "--bandwidth-gbps", "1", "--latency-us", "0")

        def transfers(schedule):
            return scale(*common, "--schedule", schedule)["points"][0]["communication_ms"]

        ddp = transfers("ddp")
        self.assertAlmostEqual(transfers("zero-1") / ddp, 1.5, delta=0.01)
        self.assertAlmostEqual(transfers("zero-2") / ddp, 1, delta=0.01)
        self.assertGreater(transfers("zero-3") / ddp, 1.3)
        self.assertLess(transfers("zero-3") / ddp, 1.5)
        self.assertEqual(transfers("fsdp"), transfers("zero-3"))

    def test_a_layer_whose_forward_is_not_known_goes_with_the_next(self):
        with gzip.open(RESNET) as file:
            trace = json.load(file)
        for event in trace["traceEvents"]:
            if event.get("name") in ("aten::linear", "aten::addmm", "aten::mm"):
                event["args"].pop("Sequence number", None)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.json.gz"
            with gzip.open(path, "wt", compresslevel=1) as file:
                json.dump(trace, file)
            less = scale(path, "--gpus", "4", "--bandwidth-gbps", "10", "--schedule", "fsdp")
        whole = scale(RESNET, "--gpus", "4", "--bandwidth-gbps", "10", "--schedule", "fsdp")
        self.assertAlmostEqual(mids(less)[0] / mids(whole)[0], 1, delta=0.1)

    def test_servers_share_the_load(self):
        common = (RESNET, "--gpus", "8", "--bandwidth-gbps", "5")
        steps = [mids(scale(*common, "--schedule", f"parameter-server:servers={n}"))[0] for n in (1, 2, 8, 64)]
        self.assertGreater(steps[0], 1.5 * steps[1])
        self.assertGreater(steps[1], 1.5 * steps[2])
        self.assertEqual(steps[2], steps[3])  # From here on, the workers' own links are the limit.

    def test_flags_that_say_nothing_are_refused(self):
        for arguments, reason in [
            (("--schedule", "fsdp", "--exchange-every", "4"), "communicates in each step"),
            (("--schedule", "dgc:ratio=0.5"), "does not compress"),
            (("--schedule", "parameter-server:servers=0"), "servers must be from 1"),
            (("--schedule", "zero-4"), "must be ddp, per-tensor"),
            (("--schedule", "fsdp:shard=1"), "shard must be from 2"),
            (("--schedule", "p3", "--gradient-dtype", "fp16"), "--gradient-dtype requires --schedule ddp"),
            (("--schedule", "fsdp", "--no-overlap"), "--no-overlap requires --schedule ddp"),
            (("--gradient-dtype", "fp8"), "--gradient-dtype"),
        ]:
            with self.subTest(arguments=arguments):
                refused = support.headroom("scale", RESNET, *arguments, LOCAL)
                self.assertEqual(refused.code, 2, str(refused))
                self.assertIn(reason, refused.message)

    def test_a_size_of_buckets_that_says_nothing_is_remarked_on(self):
        outcome = support.headroom("scale", RESNET, "--schedule", "p3", "--bucket-mb", "5", LOCAL)
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertIn("--bucket-mb has no effect: --schedule p3 sends no buckets", outcome.message)

    def test_a_number_of_gpus_counts_once(self):
        self.assertEqual([point["gpus"] for point in scale(RESNET, "--gpus", "2,4,2")["points"]], [2, 4])

    def test_the_limit_is_the_largest_loss_and_the_baseline_names_its_own(self):
        answer = scale(BERT, "--gpus", "1,2,8", "--cluster", "dgx-h100")
        self.assertEqual(answer["baseline"]["limited_by"], "host")
        self.assertEqual(answer["points"][0]["limited_by"], "host")
        for point in answer["points"][1:]:
            self.assertIn(point["limited_by"], ("straggler", "buckets"))
        # Without losses, the limit is that of one GPU.
        free = scale(RESNET, "--gpus", "2", "--bandwidth-gbps", "1e6", "--latency-us", "0", "--schedule", "p3", *ALIKE)
        self.assertEqual(free["points"][0]["limited_by"], "gpu")
        self.assertEqual(free["points"][0]["efficiency_pct"], 100)

    def test_half_the_bytes(self):
        common = (RESNET, "--gpus", "2", "--bandwidth-gbps", "1", "--latency-us", "0")
        whole, half = (scale(*common, *more) for more in ((), ("--gradient-dtype", "fp16")))
        self.assertAlmostEqual(half["baseline"]["gradient_bytes"], whole["baseline"]["gradient_bytes"] / 2)
        for schedule in ("ddp", "zero-1", "parameter-server"):
            sent = [
                scale(*common, "--schedule", schedule, "--gradient-dtype", dtype)["points"][0]["communication_ms"]
                for dtype in ("fp32", "bf16")
            ]
            # ZeRO also gathers parameters, whose type stays.
            self.assertAlmostEqual(sent[1] / sent[0], 2 / 3 if schedule == "zero-1" else 1 / 2, delta=0.01)

    def test_without_overlap_all_transfers_are_exposed(self):
        common = (RESNET, "--gpus", "4", "--bandwidth-gbps", "25", *ALIKE)
        hidden, exposed = (scale(*common, *more)["points"][0] for more in ((), ("--no-overlap",)))
        self.assertLess(hidden["exposed_communication_ms"], 0.9 * hidden["communication_ms"])
        self.assertGreater(exposed["exposed_communication_ms"], 0.9 * exposed["communication_ms"])
        self.assertAlmostEqual(exposed["communication_ms"], hidden["communication_ms"])

    def test_calls_for_buckets_cost_a_host_bound_job_their_time(self):
        def step(microseconds):
            return mids(scale(BERT, "--gpus", "2", "--cluster", "dgx-h100", "--bucket-host-us", microseconds, *ALIKE))[
                0
            ]

        # The head has a bucket, the table of words another (94 MB), and each of 12 layers (28 MB) one more.
        self.assertAlmostEqual(step("1000") - step("0"), 14, delta=1.5)

    def test_the_gpus_of_a_machine_share_its_cores(self):
        answer = scale(RESNET, "--gpus", "1,8,16", "--cluster", "dgx-h100", "--loader-samples-per-s", "2000")
        for point in answer["points"][1:]:
            self.assertAlmostEqual(point["throughput_per_s"], 2000 * point["nodes"])
            self.assertEqual(point["limited_by"], "loader")
        self.assertEqual(answer["points"][0]["loader_ms"], 0)

    def test_shards_inside_machines_cost_no_latency_between_them(self):
        common = (BERT, "--gpus", "1024", "--cluster", "dgx-h100", *ALIKE)
        flat, hybrid = (
            scale(*common, "--schedule", schedule)["points"][0]["efficiency_pct"]
            for schedule in ("fsdp", "fsdp:shard=8")
        )
        self.assertGreater(hybrid, flat)
        all_share = scale(BERT, "--gpus", "8", "--cluster", "dgx-h100", "--schedule", "fsdp:shard=8")
        self.assertEqual(
            mids(all_share), mids(scale(BERT, "--gpus", "8", "--cluster", "dgx-h100", "--schedule", "fsdp"))
        )

    def test_without_p2p_bytes_cost_more(self):
        common = (RESNET, "--gpus", "4", "--schedule", "per-tensor", *ALIKE)
        with_p2p = scale(*common, "--cluster", "workstation-4-pcie4")["points"][0]
        without = scale(*common, "--cluster", "geforce-8-pcie4")["points"][0]
        self.assertGreater(without["communication_ms"], 1.4 * with_p2p["communication_ms"])
        width = [point["efficiency_high_pct"] - point["efficiency_low_pct"] for point in (with_p2p, without)]
        self.assertLess(*width)

    def test_changes_come_before(self):
        answer = scale(BERT, "--gpus", "1", "--with", "host-speed:factor=2")
        self.assertLess(mids(answer)[0], 0.6 * mids(scale(BERT, "--gpus", "1"))[0])

    def test_a_larger_batch_is_counted(self):
        point = scale(RESNET, "--gpus", "2", "--with", "batch-size:n=128")["points"][0]
        self.assertAlmostEqual(point["throughput_per_s"], 2 * 128e3 / point["step_ms"]["mid"], places=6)
        # Uncertainty of the network widens only its own part.
        self.assertGreater(point["step_ms"]["low"], 0.75 * point["step_ms"]["mid"])

    def test_machines_times_gpus(self):
        answer = scale(RESNET, "--gpus", "16,4x2", "--cluster", "dgx-a100")
        self.assertEqual([(point["gpus"], point["nodes"]) for point in answer["points"]], [(16, 2), (8, 4)])

    def test_a_hundred_thousand_gpus(self):
        answer = scale(RESNET, "--gpus", "8,100000")
        self.assertLess(mids(answer)[0], mids(answer)[1])

    def test_a_trace_of_two_gpus(self):
        trace = support.data_file("public-traces/hta__nccl_parser_config__nccl_data.json.gz")
        answer = scale(trace, "--gpus", "1,2,8", "--bandwidth-gbps", "10")
        self.assertEqual(answer["baseline"]["recorded_gpus"], 2)
        self.assertRegex(answer["baseline"]["recorded_network"], r"^[0-9.]+ Gbit/s and [0-9.]+ us per message")
        overlap = answer["baseline"]["overlap_slowdown"]
        self.assertGreater(overlap["kernels"], 20)
        self.assertTrue(1 < overlap["low"] < overlap["mid"] < overlap["high"] < 1.2, overlap)
        # The job ran over its own network, for any requested networks and in any order.
        by_bandwidth = [
            {
                point["bandwidth_gbps"]: point["step_ms"]["mid"]
                for point in scale(trace, "--gpus", "8", "--bandwidth-gbps", gbps)["points"]
            }
            for gbps in ("100,1", "1,100")
        ]
        self.assertEqual(*by_bandwidth)
        self.assertGreater(by_bandwidth[0][1], by_bandwidth[0][100])
        same = scale(trace, "--gpus", "2")
        self.assertIsNone(same["points"][0]["bandwidth_gbps"])
        self.assertIn("recorded collectives scaled from 2 to 8", answer["points"][2]["why"])

    def test_text(self):
        outcome = support.headroom("scale", RESNET, "--gpus", "1,2,8", "--bandwidth-gbps", "10,100", LOCAL)
        self.assertEqual(outcome.code, 0, str(outcome))
        for part in ("One GPU", "Weak scaling", "10 Gbit/s", "efficiency", "limit", "bandwidth"):
            self.assertIn(part, outcome.text)
        self.assertLessEqual(max(map(len, outcome.text.splitlines())), 100)


class SharedLayers(support.ProgramTest):
    """Tensor and pipeline parallelism of the recorded transformers."""

    TRACE = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"

    def test_layers_shared_out(self):
        """The GPU's work shrinks to the part that is not shared. A slow link costs more than the sharing saves."""
        one = scale(self.TRACE, "--gpus", "1")["points"][0]
        answer = scale(self.TRACE, "--gpus", "2,8", "--cluster", "dgx-h100", "--tensor-parallel", "2")
        self.assertEqual(
            (answer["tensor_parallel"], answer["pipeline_parallel"], answer["micro_batches"], answer["experimental"]),
            (2, 1, 1, True),
        )
        two, eight = answer["points"]
        self.assertIn("12 layers split over 2 GPUs", two["why"])
        # Two GPUs share the batch of one.
        self.assertAlmostEqual(
            two["throughput_per_s"] * two["step_ms"]["mid"], one["throughput_per_s"] * one["step_ms"]["mid"], delta=0.01
        )
        self.assertAlmostEqual(
            eight["throughput_per_s"] * eight["step_ms"]["mid"],
            4 * one["throughput_per_s"] * one["step_ms"]["mid"],
            delta=0.01,
        )
        slow = scale(self.TRACE, "--gpus", "2", "--bandwidth-gbps", "10", "--tensor-parallel", "2")["points"][0]
        self.assertGreater(slow["step_ms"]["mid"], one["step_ms"]["mid"])
        self.assertEqual(slow["limited_by"], "bandwidth")

    def test_stages_exchange_what_each_has(self):
        """One message per gradient or one per bucket: the bytes are the same, but more messages take longer."""

        def step(*flags):
            return mids(
                scale(
                    self.TRACE,
                    "--gpus",
                    "8",
                    "--bandwidth-gbps",
                    "10",
                    "--pipeline-parallel",
                    "4",
                    "--micro-batches",
                    "8",
                    *flags,
                )
            )[0]

        buckets, tensors = step(), step("--schedule", "per-tensor")
        self.assertLess(buckets, tensors)
        self.assertLess(tensors, 1.2 * buckets)

    def test_what_stages_send_follows_the_changes(self):
        def exposed(*flags):
            point = scale(self.TRACE, "--gpus", "4", "--bandwidth-gbps", "0.1", "--pipeline-parallel", "4", *flags)[
                "points"
            ][0]
            return point["exposed_communication_ms"]

        alone = exposed()
        batch = scale(self.TRACE, "--gpus", "1")["baseline"]["samples_per_step"]
        self.assertAlmostEqual(exposed("--with", f"batch-size:n={2 * batch}") / alone, 2, delta=0.05)
        self.assertAlmostEqual(exposed("--strong") / alone, 1, delta=0.05)

    def test_stages_on_several_machines(self):
        """Only the border between machines costs the slow link's time; the two other borders between stages do not."""

        def exposed(machines):
            return scale(
                self.TRACE, "--gpus", f"{machines}x{4 // machines}", "--bandwidth-gbps", "1", "--pipeline-parallel", "4"
            )["points"][0]["exposed_communication_ms"]

        self.assertAlmostEqual(exposed(4) / exposed(2), 3, delta=0.3)

    def test_groups_that_lie_across_machines(self):
        point = scale(self.TRACE, "--gpus", "3x8", "--bandwidth-gbps", "10", "--tensor-parallel", "3")["points"][0]
        self.assertIn("do not fill machines of 8", point["why"])

    def test_half_of_the_gradients_are_left(self):
        whole = scale(self.TRACE, "--gpus", "2")["baseline"]["gradient_bytes"]
        shared = scale(self.TRACE, "--gpus", "4", "--tensor-parallel", "2")["points"][0]["why"]
        left = float(shared.split(" MB of gradients")[0].rsplit(" ", 1)[1]) * 1e6
        self.assertGreater(left, whole / 2)
        self.assertLess(left, 0.52 * whole)

    def test_whole_replicas(self):
        point, whole = scale(self.TRACE, "--gpus", "6,8", "--tensor-parallel", "2", "--pipeline-parallel", "2")[
            "points"
        ]
        self.assertIn("6 is not a multiple of 4", point["why"])
        self.assertIsNone(point["step_ms"]["mid"])
        self.assertIsNotNone(whole["step_ms"]["mid"])

    def test_text_says_experimental(self):
        text = support.headroom(
            "scale", self.TRACE, "--gpus", "4", "--pipeline-parallel", "4", "--micro-batches", "8", LOCAL
        ).text
        self.assertIn("4 stages through which 8 micro-batches go per step", text)
        self.assertIn("Experimental", text)
        self.assertIn("pipeline", text)

    def test_what_cannot_be_told(self):
        self.assertIn("transformer layers", scale(RESNET, "--tensor-parallel", "2")["why"])
        self.assertIn("width 768", scale(self.TRACE, "--gpus", "5", "--tensor-parallel", "5")["why"])
        self.assertIn("13 stages for 12 layers", scale(self.TRACE, "--gpus", "13", "--pipeline-parallel", "13")["why"])

    def test_refused(self):
        for flags, word in (
            (["--micro-batches", "4"], "--pipeline-parallel"),
            (["--tensor-parallel", "2", "--schedule", "fsdp"], "ddp"),
            (["--pipeline-parallel", "2", "--exchange-every", "4"], "--exchange-every"),
            (["--tensor-parallel", "0"], "--tensor-parallel"),
        ):
            self.assert_refused(support.headroom("scale", self.TRACE, *flags), 2, word)


class NoScheduleBeatsIndependentGpus(support.ProgramTest):
    """Tests every schedule on every recording of training in the samples and the public traces."""

    SCHEDULES = (
        "ddp",
        "per-tensor",
        "p3",
        "dgc",
        "blueconnect",
        "parameter-server:servers=8",
        "zero-1",
        "zero-2",
        "zero-3",
        "fsdp:shard=2",
        "local-sgd",
    )

    def test_at_most_the_throughput_of_as_many_gpus(self):
        answered = 0
        public = support.data_file("public-traces/README.md").parent
        traces = [*sorted((support.ROOT / "data/samples").glob("*.json.gz")), *sorted(public.glob("*.json.gz"))]
        for trace, schedule in support.some(itertools.product(traces, self.SCHEDULES), every=4):
            with self.subTest(trace=trace.name, schedule=schedule):
                more = ("--exchange-every", "4") if schedule == "local-sgd" else ()
                flags = ("--gpus", "1,8", "--bandwidth-gbps", "1e6", "--latency-us", "0", *ALIKE, *more)
                outcome = support.headroom("scale", trace, "--schedule", schedule, *flags, LOCAL, "--json", "-q")
                if outcome.code != 0:
                    continue
                one, *others = outcome.json()["points"] or [{"step_ms": {"mid": None}}]
                if one["step_ms"]["mid"] is None:
                    continue
                for point in others:
                    if point["step_ms"]["mid"] is None:
                        continue
                    answered += 1
                    self.assertLessEqual(point["efficiency_high_pct"], 100)
                    self.assertGreaterEqual(point["step_ms"]["mid"], one["step_ms"]["mid"] * (1 - 1e-9))
        self.assertGreater(answered, 20 if support.FULL else 5)


class CannotBeTold(support.ProgramTest):
    def why(self, *arguments):
        answer = scale(*arguments)
        self.assertEqual(answer["points"], [])
        self.assertIsNone(answer["baseline"]["step_ms"]["mid"])
        return answer["why"]

    def test_without_gpu_work(self):
        trace = support.data_file("public-traces/hta__cpu_only__rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz")
        self.assertIn("profile_loop", self.why(trace))

    def test_inference_has_no_gradients(self):
        trace = support.data_file("public-traces/tracelens__h100__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz")
        points = scale(trace, "--gpus", "2")
        said = points["why"] or points["points"][0]["why"]
        self.assertIn("backward", said)


class Refused(support.ProgramTest):
    CASES = (
        ([RESNET, "--gpus", "0"], "--gpus 0"),
        ([RESNET, "--gpus", "4x"], "--gpus 4x"),
        ([RESNET, "--gpus", "99999999999999999999"], "--gpus"),
        ([RESNET, "--gpus", "two"], "--gpus two"),
        ([RESNET, "--bandwidth-gbps", "0"], "--bandwidth-gbps"),
        ([RESNET, "--bandwidth-gbps", "1e-12"], "--bandwidth-gbps"),
        ([RESNET, "--gpus-per-node", "9223372036854775807"], "--gpus-per-node"),
        ([RESNET, "--bandwidth-gbps", "nan"], "--bandwidth-gbps"),
        ([RESNET, "--latency-us", "-1"], "--latency-us"),
        ([RESNET, "--gpus-per-node", "0"], "--gpus-per-node"),
        ([RESNET, "--cluster", "dgx-a1000"], "dgx-a100"),
        ([RESNET, "--cluster", "dgx-a100", "--latency-us", "3"], "--latency-us"),
        ([RESNET, "--cluster", "dgx-a100", "--gpus", "1x9"], "have 8 GPUs"),
        ([RESNET, "--cluster", "workstation-4-pcie4", "--gpus", "8"], "1 at most"),
        ([RESNET, "--schedule", "amp"], "--schedule amp"),
        ([RESNET, "--with", "data-parallel:gpus=2"], "data-parallel"),
        ([RESNET, "--with", "nonsense"], "nonsense"),
        ([RESNET, "--strong", "--with", "batch-size:n=4"], "batch-size"),
        ([RESNET, "--bucket-mb", "0"], "--bucket-mb"),
        ([], "TRACE is missing"),
    )

    def test_usage(self):
        for arguments, named in self.CASES:
            with self.subTest(arguments=arguments[1:]):
                outcome = support.headroom("scale", *arguments)
                self.assertEqual((outcome.code, outcome.out), (2, b""), str(outcome))
                self.assertIn(named, outcome.message)

    def test_cluster_files(self):
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
            path = pathlib.Path(folder) / "mine.toml"
            path.write_text(
                'name = "mine"\n'
                "gpus_per_node = 2\n"
                'source = "s"\n'
                "[inside]\n"
                'kind = "pcie"\n'
                "gbps = 100\n"
                "[between]\n"
                'kind = "network"\n'
                "gbps = -4\n"
            )
            outcome = support.headroom("scale", RESNET, "--cluster", path)
            self.assertEqual(outcome.code, 3, str(outcome))
            self.assertIn("mine.toml, line 9", outcome.message)
            path.write_text(path.read_text().replace("-4", "25"))
            self.assertEqual(scale(RESNET, "--cluster", path, "--gpus", "4")["points"][0]["nodes"], 2)

    def test_list_names_all(self):
        listed = support.headroom("scale", "--list").text
        for path in (support.ROOT / "data/clusters").glob("*.toml"):
            self.assertIn(path.stem, listed)


class KeptRecordings(support.ProgramTest):
    """Tests the forecasts that docs/accuracy/more-gpus.md publishes, from their original recordings."""

    def test_mean_error(self):
        folder = support.ROOT / "bench/network_scaling/measured"
        errors = []
        for row in json.loads((folder / "measured.json").read_text()):
            answer = scale(
                folder / row["recording"],
                "--gpus",
                "2",
                "--bandwidth-gbps",
                str(row["gbps"]),
                "--latency-us",
                "50",
                "--bucket-mb",
                str(row["bucket_mb"]),
                "--schedule",
                row["schedule"],
                "--exchange-every",
                str(row["every"]),
            )
            self.assertEqual(answer["baseline"]["source"], "loop")
            errors.append(abs(mids(answer)[0] / row["measured_ms"] - 1))
        self.assertEqual(len(errors), 24)
        self.assertLess(sum(errors) / len(errors), 0.1)


class ByOperators(support.ProgramTest):
    """Tests lists of operators instead of a trace."""

    LINEAR = (
        '{"op": "Linear", "batch": 8, "repeat": %d, "fw": [["Linear", [512, 1024, 1024]]], "bw": [["Linear", [512, '
        '1024, 1024]], ["Linear", [1024, 512, 1024]]], "acc": [["VECadd", [1, 1048576]]]}'
    )

    def published(self, batch):
        """Returns the list of operators of one GPU's step of gpt2_large."""
        with gzip.open(support.data_file("gpu-latency/opgraph.csv.gz"), "rt") as file:
            lines = file.read().splitlines()
        return self.write(
            f"ops{batch}.csv",
            "\n".join(
                [lines[0], *(line for line in lines if line.startswith(f"gpt2_large,train,1024,{batch},single,"))]
            ),
        )

    def test_published_steps_of_four_gpus(self):
        """gpt2_large on four A100-SXM-40, 4 samples in total: at most 12 % off, and inside the interval
        (docs/accuracy/more-gpus.md).
        """
        with support.data_file("gpu-latency/e2e.csv").open() as file:
            true = {
                row["parallelism"]: float(row["e2e_ms"])
                for row in csv.DictReader(file)
                if row["parallelism"] != "single"
            }
        # Data-parallel GPUs have one sample each, others share all four.
        for how, batch, flags in (
            ("dp4", 1, ()),
            ("tp4", 4, ("--tensor-parallel", "4")),
            ("pp4", 4, ("--pipeline-parallel", "4")),
        ):
            with self.subTest(how):
                answer = scale(
                    "--ops",
                    self.published(batch),
                    "--gpu",
                    "A100-SXM-40",
                    "--gpus",
                    "4",
                    "--cluster",
                    "aws-p4d.24xlarge",
                    *flags,
                )
                step = answer["points"][0]["step_ms"]
                self.assertLess(abs(step["mid"] / true[how] - 1), 0.12)
                self.assertLessEqual(step["low"], true[how])
                self.assertGreaterEqual(step["high"], true[how])
                self.assertEqual(
                    (answer["baseline"]["source"], answer["baseline"]["gpu"]), ("operators", "A100-SXM-40")
                )
                self.assertEqual(answer["experimental"], how != "dp4")

    def test_stages_take_turns(self):
        """More batches fill the pipeline. Its efficiency rises from one in four towards the limit of the longest
        stage.
        """
        listed = self.published(4)
        points = {
            m: scale(
                "--ops",
                listed,
                "--gpu",
                "A100-SXM-40",
                "--gpus",
                "4",
                "--cluster",
                "aws-p4d.24xlarge",
                "--pipeline-parallel",
                "4",
                "--micro-batches",
                str(m),
                *ALIKE,
            )["points"][0]
            for m in (1, 4, 64)
        }
        self.assertAlmostEqual(points[1]["efficiency_pct"], 25, delta=0.1)
        self.assertLess(points[1]["efficiency_pct"], points[4]["efficiency_pct"])
        self.assertGreater(points[64]["efficiency_pct"], 90)
        self.assertEqual([points[m]["limited_by"] for m in (1, 4, 64)], ["pipeline", "pipeline", "gpu"])
        # Each further batch takes the time of the longest stage. The bubble is the other stages' time for one batch.
        stage = (points[64]["step_ms"]["mid"] - points[4]["step_ms"]["mid"]) / 60
        self.assertAlmostEqual(
            points[4]["bubble_ms"],
            points[1]["step_ms"]["mid"] - points[1]["exposed_communication_ms"] - stage,
            delta=0.5,
        )

    def test_one_gpu_takes_what_predict_says(self):
        listed = self.write("ops.json", f"[{self.LINEAR % 6}]")
        answer = scale("--ops", listed, "--gpu", "V100", "--gpus", "1,8", "--bandwidth-gbps", "1,100000")
        predicted = support.headroom("predict", "--ops", listed, "--gpu", "V100", "--json", LOCAL).json()["targets"][0][
            "step_ms"
        ]
        for bound in ("low", "mid", "high"):
            self.assertAlmostEqual(answer["points"][0]["step_ms"][bound], predicted[bound], places=4)
        self.assertEqual(answer["baseline"]["gradient_bytes"], 6 * 4 * 1048576)
        self.assertEqual(answer["baseline"]["samples_per_step"], 8)
        self.assertEqual([point["limited_by"] for point in answer["points"]], ["gpu", "bandwidth", "gpu", "latency"])

    def test_what_it_refuses(self):
        listed = self.write("ops.json", f"[{self.LINEAR % 6}]")
        self.assert_refused(support.headroom("scale", "--ops", listed), 2, "one --gpu")
        self.assert_refused(support.headroom("scale", "--ops", listed, "--gpu", "V100,T4"), 2, "one --gpu")
        self.assert_refused(support.headroom("scale", RESNET, "--gpu", "V100"), 2, "--ops", "predict")
        self.assert_refused(support.headroom("scale", RESNET, "--ops", listed), 2, "one input")
        self.assert_refused(support.headroom("scale", "--ops", listed, "--gpu", "V100", "--steps", "1:2"), 2, "--steps")
        self.assert_refused(support.headroom("scale", "--ops", listed, "--gpu", "V100", "-o", listed), 2, "-o")
        two = self.write("two.json", f'[{self.LINEAR % 6}, {(self.LINEAR % 6).replace("8", "16", 1)}]')
        self.assert_refused(support.headroom("scale", "--ops", two, "--gpu", "V100"), 2, "2 steps")

    def test_exchanging_less_often(self):
        """Tests exchanges in every step, in every tenth, and never. A tenth of the exchanges waits a tenth of the
        time."""
        often, rarely, never = (
            mids(scale(RESNET, "--gpus", "8", "--bandwidth-gbps", "1", "--exchange-every", every, *ALIKE))[0]
            for every in ("1", "10", "1000000")
        )
        alone = mids(scale(RESNET, "--gpus", "1"))[0]
        self.assertAlmostEqual(rarely - alone, (often - alone) / 10, delta=1e-6 * often)
        self.assertAlmostEqual(never, alone, delta=0.01)
        local = scale(
            RESNET, "--gpus", "8", "--bandwidth-gbps", "1", "--schedule", "local-sgd", "--exchange-every", "10"
        )
        self.assertGreater(mids(local)[0], alone)
        self.assertEqual((local["schedule"], local["exchange_every"]), ("local-sgd", 10))
        self.assert_refused(support.headroom("scale", RESNET, "--schedule", "local-sgd"), 2, "--exchange-every")
        self.assert_refused(support.headroom("scale", RESNET, "--exchange-every", "0"), 2, "--exchange-every")

    def test_what_cannot_be_told(self):
        listed = self.write("ops.json", '[{"op": "Linear", "fw": [["Linear", [512, 1024, 1024]]]}]')
        self.assertIn("no gradients", scale("--ops", listed, "--gpu", "V100")["why"])
        training = self.write("training.json", f"[{self.LINEAR % 6}]")
        self.assert_refused(
            support.headroom("scale", "--ops", training, "--gpu", "V100", "--schedule", "p3"),
            2,
            "only --schedule ddp, per-tensor",
        )
        strong = scale("--ops", training, "--gpu", "V100", "--gpus", "4", "--strong")
        self.assertIn("one batch", strong["points"][0]["why"])
