"""Tests the timeline of `headroom ui`: its tiles and answers agree with the report."""
import json
import math
import struct

import jsonschema

from integration import support
from integration.page_server import Server

TRACE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
COLUMNS = ["begin", "end", "fill", "lane", "row", "name", "style", "count"]
KERNEL, COMMUNICATION, COPY = 6, 7, 8


def decode(data):
    """Returns a tile's columns by name, and its labels by number of name (src/serve/tile_bytes.h)."""
    form, size, names, _ = struct.unpack_from("<4I", data)
    assert form == 1 and len(data) == 16 + 4 * len(COLUMNS) * size + names
    tile = {
        name: struct.unpack_from(f"<{size}{'f' if i < 3 else 'I'}", data, 16 + 4 * size * i)
        for i, name in enumerate(COLUMNS)
    }
    return tile, json.loads(data[16 + 4 * len(COLUMNS) * size :])


class Timeline(support.ProgramTest):
    server: Server
    tracks: dict

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(TRACE)
        status, cls.tracks = cls.server.ask("timeline")
        assert status == 200

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        super().tearDownClass()

    def ask(self, question, schema, **parameters):
        status, answer = self.server.ask(question, **parameters)
        self.assertEqual(status, 200, answer)
        jsonschema.validate(answer, json.loads((support.ROOT / f"docs/schema/{schema}-1.json").read_text()))
        return answer

    def tiles(self, level, tracks, **more):
        """Returns all tiles of a level."""
        buckets = self.tracks["tile_buckets"]
        for index in range((self.tracks["length_ns"] >> level) // buckets + 1):
            yield index, *decode(
                self.server.ask_bytes("timeline/tile", level=level, index=index, tracks=tracks, **more)
            )

    def stream(self):
        return next(track for track in self.tracks["tracks"] if track["kind"] == "stream")

    def test_tracks(self):
        self.ask("timeline", "timeline")
        kinds = [track["kind"] for track in self.tracks["tracks"]]
        self.assertEqual(kinds[:2], ["critical-path", "stream"])
        self.assertIn("thread", kinds)
        report = support.headroom("report", TRACE, "--json").json()
        steps = report["steps"]["list"]
        self.assertEqual([step["index"] for step in self.tracks["steps"]], [step["index"] for step in steps])
        for step, shown in zip(steps, self.tracks["steps"]):
            self.assertAlmostEqual(step["wall_ms"], shown["wall_ns"] / 1e6, places=6)

    def test_tiles_hold_every_gpu_task_once_at_any_level(self):
        report = support.headroom("report", TRACE, "--json").json()
        tasks = sum(row["count"] for row in report["kernels"])
        streams = ",".join(str(track["id"]) for track in self.tracks["tracks"] if track["kind"] == "stream")
        coarsest = math.ceil(math.log2(self.tracks["length_ns"] / self.tracks["tile_buckets"]))
        for level in (coarsest, coarsest - 3):
            kernels = 0
            busy = 0.0
            for _, tile, _ in self.tiles(level, streams):
                for begin, end, fill, style, count in zip(
                    *(tile[name] for name in ("begin", "end", "fill", "style", "count"))
                ):
                    if begin < 0 or style & 0xFF not in (KERNEL, COMMUNICATION, COPY):
                        continue  # The span begins in the previous tile, or is not work.
                    kernels += count
                    busy += (end - begin) * fill * 2**level
            self.assertEqual(kernels, tasks)
            self.assertAlmostEqual(busy / 1e3 / sum(row["total_us"] for row in report["kernels"]), 1, delta=0.001)

    def test_labels_are_names(self):
        labels = {label for _, _, names in self.tiles(8, self.stream()["id"]) for label in names.values()}
        self.assertTrue(any("conv" in label or "gemm" in label for label in labels), labels)

    def test_a_range_sums_up_as_the_report_does(self):
        answer = self.ask("timeline/range", "range", **{"from": 0, "to": self.tracks["length_ns"]})
        report = support.headroom("report", TRACE, "--json").json()
        busy = sum(stream["busy_ns"] for stream in answer["streams"])
        self.assertGreaterEqual(busy / 1e6, report["gpu_time"][0]["busy_ms"] - 1e-6)  # Streams overlap.
        self.assertEqual(len(answer["streams"]), len(report["idle"]))
        for stream, idle in zip(answer["streams"], report["idle"]):
            parts = sum(ns for name, ns in stream.items() if name.startswith("idle_"))
            self.assertAlmostEqual(
                parts / 1e6, idle["host_wait_ms"] + idle["kernel_wait_ms"] + idle["other_ms"], places=6
            )
        self.assertAlmostEqual(answer["gpu"][0]["total_ns"] / 1e3, report["kernels"][0]["total_us"], places=3)

    def test_another_open_trace_has_its_own_timeline(self):
        other = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"
        both, alone = Server(TRACE, other), Server(other)
        for server in (both, alone):
            self.addCleanup(server.stop)
        self.assertEqual(both.ask("timeline", trace=1), both.ask("timeline"))
        timeline = alone.ask("timeline")
        self.assertEqual(both.ask("timeline", trace=2), timeline)
        self.assertNotEqual(both.ask("timeline"), timeline)
        tile = {"level": 16, "index": 0, "tracks": "0,1"}
        self.assertEqual(both.ask_bytes("timeline/tile", trace=2, **tile), alone.ask_bytes("timeline/tile", **tile))
        for parameters, why in (
            ({"trace": 3}, "trace 3: must be from 1 to 2"),
            ({"trace": 2, "rank": 0}, "choose one"),
        ):
            status, answer = both.ask("timeline", **parameters)
            self.assertEqual(status, 400)
            self.assertIn(why, answer["error"])

    def test_rows_of_sql_have_their_place(self):
        """The trace's times count from 1970, in ns beyond 2^53, which JavaScript would round."""
        trace = json.loads((support.ROOT / "tests/golden/idle-causes/trace.json").read_text())
        for event in trace["traceEvents"]:
            if "ts" in event:
                event["ts"] = event["ts"] + 1_700_000_000_000_000
        path = self.scratch / "epoch.json"
        path.write_text(json.dumps(trace))
        server = Server(path)
        self.addCleanup(server.stop)
        _, tracks = server.ask("timeline")
        _, found = server.ask("query", sql="select name, start_ns, duration_ns from kernels order by start_ns")
        self.assertGreater(len(found["rows"]), 2)
        for name, start, length in found["rows"]:
            self.assertIsInstance(start, str)
            status, place = server.ask("timeline/place", start=start, duration=length)
            self.assertEqual((status, support.answer_violations(place)), (200, []))
            span = place["span"]
            self.assertEqual((span["label"], span["duration_ns"]), (name, length))
            self.assertEqual(tracks["first_ns"] + span["start_ns"], int(start))
        for start in (int(start) + 1, -(1 << 63), (1 << 63) - 1):
            _, place = server.ask("timeline/place", start=start, duration=(1 << 63) - 1)
            self.assertIsNone(place["span"])
            self.assertLessEqual(place["start_ns"] + place["duration_ns"], tracks["length_ns"])

    def streams_of(self, golden):
        """Returns each stream's times in a whole golden trace, and the rows of its report."""
        trace = support.ROOT / "tests/golden" / golden / "trace.json"
        server = Server(trace)
        self.addCleanup(server.stop)
        _, tracks = server.ask("timeline")
        _, answer = server.ask("timeline/range", **{"from": 0, "to": tracks["length_ns"]})
        return answer["streams"], support.headroom("report", trace, "--json").json()["idle"]

    def test_idle_time_of_a_single_stream_has_the_reports_causes(self):
        (stream,), (idle,) = self.streams_of("idle-causes")
        for ours, reports in (
            ("idle_for_host_ns", "host_wait_ms"),
            ("idle_for_others_ns", "kernel_wait_ms"),
            ("idle_unknown_ns", "other_ms"),
        ):
            self.assertGreater(stream[ours], 0)
            self.assertAlmostEqual(stream[ours] / 1e6, idle[reports], places=6)
        self.assertEqual(stream["idle_others_work_ns"], 0)

    def test_idle_time_beside_another_streams_work_has_no_cause(self):
        streams, _ = self.streams_of("communication-exposed-and-hidden")
        # Stream 7 idles from 1400 to 1600 us, while stream 20 works; stream 20 from 1300 to 1350, while stream 7 works.
        self.assertEqual([stream["idle_others_work_ns"] for stream in streams], [200_000, 50_000])
        self.assertEqual(
            [
                stream["idle_for_others_ns"] + stream["idle_for_host_ns"] + stream["idle_unknown_ns"]
                for stream in streams
            ],
            [0, 0],
        )

    def test_far_outside_lies_nothing(self):
        whole = self.ask("timeline/range", "range", **{"from": -(1 << 63), "to": (1 << 63) - 1})
        self.assertEqual(
            whole["gpu"], self.ask("timeline/range", "range", **{"from": 0, "to": self.tracks["length_ns"]})["gpu"]
        )
        beyond = self.ask("timeline/range", "range", **{"from": (1 << 63) - 2, "to": (1 << 63) - 1})
        self.assertEqual((beyond["gpu"], beyond["host"]), ([], []))

    def test_search_leads_to_spans_and_their_links(self):
        found = self.ask("timeline/search", "search", text="LAUNCHKERNEL")
        self.assertGreater(found["count"], 100)
        self.assertEqual(len(found["hits"]), min(1000, found["count"]))
        starts = [hit["start_ns"] for hit in found["hits"]]
        self.assertEqual(starts, sorted(starts))
        hit = found["hits"][len(found["hits"]) // 2]
        span = self.ask("timeline/span", "span", lane=hit["lane"], row=hit["row"])
        self.assertIn("LaunchKernel", span["name"])
        launched = [link for link in span["links"] if link["relation"] == "launches"]
        self.assertEqual(len(launched), 1)
        kernel = self.ask("timeline/span", "span", lane=launched[0]["lane"], row=launched[0]["row"])
        self.assertIn({"relation": "launched by", **hit}, kernel["links"])
        self.assertEqual(self.ask("timeline/search", "search", text="no such name")["hits"], [])
        self.assertEqual(self.ask("timeline/search", "search", text="")["count"], 0)

    def test_a_forecast_has_a_timeline_of_its_own(self):
        answer = self.ask("timeline", "timeline", scenario="gpu-speed:factor=2")
        recorded = self.tracks["steps"]
        self.assertLess(answer["steps"][0]["wall_ns"], recorded[-1]["wall_ns"])
        tile, _ = decode(
            self.server.ask_bytes("timeline/tile", level=16, index=0, tracks=0, scenario="gpu-speed:factor=2")
        )
        self.assertGreater(len(tile["begin"]), 100)
        changed = 0x100
        self.assertTrue(any(style & changed for style in tile["style"]))

    def test_what_is_wrong_with_a_question_is_said(self):
        cases: list[tuple[str, dict, str]] = [
            ("timeline/tile", {}, "level is required"),
            ("timeline/tile", {"level": 3, "index": -1, "tracks": 0}, "index must be from 0 to"),
            ("timeline/tile", {"level": 3, "index": 1 << 60, "tracks": 0}, "index must be from 0 to"),
            ("timeline/tile", {"level": 64, "index": 0, "tracks": 0}, "level must be from 0 to 48"),
            ("timeline/tile", {"level": 3, "index": 0, "tracks": "0,999"}, "there is no track 999"),
            ("timeline/tile", {"level": 3, "index": 0, "tracks": "-1"}, "there is no track -1"),
            ("timeline/tile", {"level": "x", "index": 0, "tracks": 0}, "'x' is not an integer"),
            ("timeline/tile", {"level": 3, "index": 0, "tracks": "1,0,1"}, "track 1 is given more than once"),
            ("timeline/span", {"lane": 0, "row": -1}, "no such row"),
            ("timeline/span", {"lane": 1 << 40, "row": 0}, "no such lane"),
            ("timeline/range", {"from": 0}, "to is required"),
            ("timeline/range", {"from": 5, "to": 4}, "`to` is before `from`"),
            ("whatif", {"scenarios": "amp"}, "'scenarios' is not a parameter of this request"),
            ("timeline/search", {"txt": "x"}, "'txt' is not a parameter of this request"),
            ("timeline", {"scenario": "nonsense"}, "nonsense"),
        ]
        for question, parameters, part in cases:
            with self.subTest(question=question, parameters=parameters):
                status, answer = self.server.ask(question, **parameters)
                self.assertEqual(status, 400)
                self.assertIn(part, answer["error"])


class WithoutGpu(support.ProgramTest):
    def test_threads_alone_and_no_forecast(self):
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
        _, tracks = server.ask("timeline")
        self.assertEqual([track["kind"] for track in tracks["tracks"]], ["thread"])
        self.assertEqual(tracks["length_ns"], 5000)
        status, answer = server.ask("timeline", scenario="amp")
        self.assertEqual(status, 400)
        self.assertIn("this trace cannot be replayed", answer["error"])
