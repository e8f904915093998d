"""Tests `headroom mcp`: the Model Context Protocol from a client's side, and the limits of the server."""
import json
import os
import re
import unittest

from integration import support
from integration.mcp_client import Client, McpError

SAMPLES = support.ROOT / "data/samples"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # Conversations that begin with `initialize`.
STATELESS = "2026-07-28"


def a_trace(events=1, name="k"):
    """Returns a trace of one step with `count` kernels, each with a unique name."""
    rows = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "ProfilerStep#0",
            "pid": 1,
            "tid": 1,
            "ts": 0,
            "dur": 10 * events + 10,
        }
    ]
    for i in range(events):
        rows += [
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": 1,
                "tid": 1,
                "ts": 1 + 10 * i,
                "dur": 2,
                "args": {"correlation": i + 1},
            },
            {
                "ph": "X",
                "cat": "kernel",
                "name": f"{name}{i}",
                "pid": 0,
                "tid": 7,
                "ts": 4 + 10 * i,
                "dur": 5,
                "args": {"correlation": i + 1, "device": 0, "stream": 7},
            },
        ]
    return json.dumps({"traceEvents": rows})


class McpTest(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.trace = self.write("t.json", a_trace())

    def client(self, *args, **kwargs):
        return Client("--root", self.scratch, *args, **kwargs)


class Protocol(McpTest):
    def test_versions_are_negotiated(self):
        for asked, given in [
            *((v, v) for v in VERSIONS),
            (STATELESS, VERSIONS[-1]),
            ("2099-01-01", VERSIONS[-1]),
            ("", VERSIONS[-1]),
        ]:
            with self.subTest(asked), self.client(version=asked) as client:
                result = client.initialize()
                self.assertEqual(result["protocolVersion"], given)
                self.assertEqual(result["capabilities"], {"tools": {}})
                self.assertEqual(result["serverInfo"]["name"], "headroom")
                self.assertIn(str(self.scratch.resolve()), result["instructions"])
            self.assertEqual((client.code, client.rest, client.stderr), (0, b"", ""))

    def test_nothing_but_ping_before_initialize(self):
        with self.client() as client:
            self.assertEqual(client.request("ping"), {})
            with self.assertRaises(McpError) as caught:
                client.request("tools/list")
            self.assertEqual(caught.exception.code, -32600)
            client.initialize()
            self.assertEqual(client.request("ping"), {})

    def test_wrong_lines_are_answered_and_the_server_goes_on(self):
        cases = {
            b"{": (-32700, None),
            b"\xff\xfe": (-32700, None),
            b"[]": (-32600, None),
            b"17": (-32600, None),
            b'{"jsonrpc":"2.0","id":5,"method":"no/such"}': (-32601, 5),
            b'{"jsonrpc":"2.0","id":"x","method":7}': (-32600, "x"),
            b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":[]}': (-32602, 6),
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rm"}}': (-32602, 7),
            b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"report","arguments":3}}': (-32602, 8),
            b'{"jsonrpc":"2.0","id":9,"method":"tools/call"}': (-32602, 9),
            b'{"jsonrpc":"2.0","id":10,"method":"resources/list"}': (-32601, 10),
            b"[" * 100_000: (-32600, None),
            b'{"x":"' + b"a" * (5 << 20) + b'"}': (-32600, None),
        }
        with self.client() as client:
            client.initialize()
            for line, (code, number) in cases.items():
                with self.subTest(line[:60]):
                    client.send_bytes(line + b"\n")
                    answer = client.receive()
                    self.assertEqual((answer["error"]["code"], answer["id"]), (code, number), answer)
                    self.assertEqual(client.request("ping"), {})
            client.notify("no/such/notice")
            client.send_bytes(b"\n\r\n")
            client.send({"jsonrpc": "2.0", "id": 99, "result": {}})  # An answer without a request.
            self.assertEqual(client.request("ping"), {})

    def test_batches_are_those_of_the_version(self):
        ping, notice = {"jsonrpc": "2.0", "id": 50, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}
        call = {
            "jsonrpc": "2.0",
            "id": 51,
            "method": "tools/call",
            "params": {"name": "report", "arguments": {"trace": ["t.json"]}},
        }
        for version in VERSIONS:
            with self.subTest(version), self.client(version=version) as client:
                client.initialize()
                client.send([ping, notice, call, 3])
                answer = client.receive()
                if version > "2025-03-26":
                    self.assertEqual(answer["error"]["code"], -32600)
                    continue
                self.assertEqual(
                    {str(one["id"]): "result" in one for one in answer}, {"50": True, "51": True, "None": False}
                )
                client.send([notice])
                self.assertEqual(client.request("ping"), {})  # No message came for the batch.

    def test_without_initialize_each_request_says_its_version(self):
        def meta(version=STATELESS, **more):
            return {
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
                **more,
            }

        def assert_stateless(result):
            self.assertEqual(
                (result["resultType"], result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]),
                ("complete", "headroom"),
            )

        with self.client() as client:
            found = client.request("server/discover", _meta=meta())
            assert_stateless(found)
            self.assertEqual(found["supportedVersions"], [STATELESS, *reversed(VERSIONS)])
            self.assertEqual(found["capabilities"], {"tools": {}})
            listed = client.request(
                "tools/list", _meta=meta(traceparent="00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01")
            )
            assert_stateless(listed)
            self.assertEqual((listed["cacheScope"], listed["ttlMs"] >= 0), ("private", True))
            self.assertTrue(all(tool["title"] and tool["annotations"]["readOnlyHint"] for tool in listed["tools"]))
            called = client.request("tools/call", _meta=meta(), name="report", arguments={"trace": ["t.json"]})
            assert_stateless(called)
            self.assertFalse(called["isError"])
            wrong = client.request("tools/call", _meta=meta(), name="report", arguments={"trace": ["../x"]})
            assert_stateless(wrong)
            self.assertTrue(wrong["isError"])
            # Messages of another version or incomplete messages get the error code that clients expect.
            for code, method, params in (
                (-32022, "tools/list", {"_meta": meta("2099-01-01")}),
                (-32022, "tools/list", {"_meta": meta(VERSIONS[-1])}),
                (-32602, "tools/list", {"_meta": meta(7)}),
                (-32602, "server/discover", {}),
                (-32602, "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS}}),
                (-32601, "ping", {"_meta": meta()}),
                (-32601, "resources/list", {"_meta": meta()}),
                (-32600, "tools/list", {}),
                (-32600, "tools/list", {"_meta": 3}),
            ):
                with self.subTest(code=code, method=method), self.assertRaises(McpError) as caught:
                    client.request(method, **params)
                self.assertEqual(caught.exception.code, code)
            number = client.start("tools/list", _meta=meta("2099-01-01"))
            error = client.receive()
            self.assertEqual(
                (error["id"], error["error"]["data"]),
                (number, {"supported": found["supportedVersions"], "requested": "2099-01-01"}),
            )
            client.send([{"jsonrpc": "2.0", "id": 80, "method": "tools/list", "params": {"_meta": meta()}}])
            self.assertEqual([one["error"]["code"] for one in client.receive()], [-32600])
            # A client of the other version on the same pipe is served by its version's rules.
            client.initialize()
            self.assertNotIn("resultType", client.request("tools/list"))
            assert_stateless(client.request("tools/list", _meta=meta()))

    def test_a_line_in_pieces_and_several_at_once(self):
        with self.client() as client:
            client.initialize()
            line = b'{"jsonrpc":"2.0","id":60,"method":"ping"}\n'
            for byte in line:
                client.send_bytes(bytes([byte]))
            self.assertEqual(client.receive()["id"], 60)
            client.send_bytes(line * 50)
            for _ in range(50):
                self.assertEqual(client.receive()["id"], 60)

    def test_what_was_asked_is_answered_after_stdin_has_ended(self):
        with self.client() as client:
            client.initialize()
            for _ in range(6):
                client.start("tools/call", name="report", arguments={"trace": ["t.json"]})
        answers = [json.loads(line) for line in client.rest.splitlines()]
        self.assertEqual(sorted(a["id"] for a in answers), [2, 3, 4, 5, 6, 7])
        self.assertTrue(all(a["result"]["isError"] is False for a in answers))
        self.assertEqual(client.code, 0)

    def test_usage(self):
        for args, words in (
            (("--root", "/nonexistent"), "--root /nonexistent"),
            (("--root", self.trace), "t.json"),
            (("--max-bytes", "10"), "10 is not"),
            (("--timeout", "0"), "0 is not"),
            (("more",), "more"),
        ):
            with self.subTest(args):
                self.assert_refused(support.headroom("mcp", *args), 2, words)


class Calls(McpTest):
    def test_tools_say_what_they_take(self):
        with self.client() as client:
            client.initialize()
            tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
        table = re.findall(
            r"^\| `(\w+)` \|", (support.ROOT / "docs/mcp.md").read_text().split("## Tools")[1], re.MULTILINE
        )
        self.assertEqual(list(tools), table)
        for name, tool in tools.items():
            helped = support.headroom(name, "--help").text
            for key, schema in tool["inputSchema"]["properties"].items():
                self.assertTrue(schema["description"], (name, key))
                flag = "--" + key.replace("_", "-")
                self.assertTrue(key in ("select", "from") or flag in helped or key.upper() in helped, (name, key))
            taken = set(tool["inputSchema"]["properties"])
            # No tool writes a file.
            self.assertFalse(
                taken & {"output", "out", "html", "csv", "save", "write_trace", "dump_graph", "threads"}, name
            )
            self.assertTrue(tool["annotations"]["readOnlyHint"])
            # One type in every tool.
            if "trace" in taken:
                self.assertEqual(tool["inputSchema"]["properties"]["trace"]["type"], "array")
            self.assertLessEqual({"schema", "left_out"}, set(tool["outputSchema"]["properties"]))
        self.assertEqual(tools["report"]["inputSchema"]["required"], ["trace"])
        self.assertEqual(tools["report"]["inputSchema"]["properties"]["measured_step_ms"]["type"], "number")
        self.assertEqual(tools["scale"]["inputSchema"]["properties"]["strong"]["type"], "boolean")

    def test_an_answer_is_the_commands(self):
        with self.client() as client:
            client.initialize()
            path = str(self.trace.resolve())
            for tool, arguments, command in (
                ("report", {"trace": ["t.json"], "top": 3}, ["report", path, "--top", "3", "--json"]),
                (
                    "whatif",
                    {"trace": "t.json", "scenario": ["gpu-speed:factor=2"]},
                    ["whatif", path, "gpu-speed:factor=2", "--json"],
                ),
                (
                    "predict",
                    {"trace": ["t.json"], "gpu": ["L4", "H100"]},
                    ["predict", path, "--gpu", "L4,H100", "--json"],
                ),
                (
                    "scale",
                    {"trace": ["t.json"], "gpus": ["1,2"], "strong": True},
                    ["scale", path, "--gpus", "1,2", "--strong", "--json"],
                ),
                ("diff", {"a": "t.json", "b": "t.json", "top": 2}, ["diff", path, path, "--top", "2", "--json"]),
                (
                    "query",
                    {"trace": ["t.json"], "sql": "select name, duration_ns from gpu_tasks"},
                    ["query", path, "select name, duration_ns from gpu_tasks", "--json"],
                ),
            ):
                with self.subTest(tool):
                    result = client.call(tool, **arguments)
                    direct = support.headroom(*command)
                    self.assertEqual(direct.code != 0, result["isError"], direct)
                    if result["isError"]:
                        self.assertEqual(result["content"][0]["text"], direct.message.rstrip())
                    else:
                        self.assertEqual(result["structuredContent"], direct.json())
                        self.assertTrue(result["content"][0]["text"])
            scenarios = client.call("whatif", list=True)
            self.assertIn("fused-optimizer", scenarios["content"][0]["text"])

    def test_failures_have_the_message_of_the_command_line(self):
        broken = self.write("broken.json", "no trace")
        with self.client() as client:
            client.initialize()
            for tool, arguments, command in (
                ("report", {"trace": ["broken.json"]}, ["report", broken.resolve(), "--json"]),
                (
                    "report",
                    {"trace": ["t.json"], "steps": "x"},
                    ["report", self.trace.resolve(), "--steps=x", "--json"],
                ),
                (
                    "whatif",
                    {"trace": "t.json", "scenario": ["nonsense"]},
                    ["whatif", self.trace.resolve(), "nonsense", "--json"],
                ),
                (
                    "query",
                    {"trace": "t.json", "sql": "delete from steps"},
                    ["query", self.trace.resolve(), "delete from steps", "--json"],
                ),
                (
                    "query",
                    {"trace": "t.json", "sql": "select nothing"},
                    ["query", self.trace.resolve(), "select nothing", "--json"],
                ),
                ("data", {"trace": "t.json"}, ["data", self.trace.resolve(), "--json"]),
            ):
                with self.subTest(tool=tool, arguments=arguments):
                    result = client.call(tool, **arguments)
                    self.assertTrue(result["isError"])
                    # Remarks are left out (--quiet).
                    self.assertEqual(
                        result["content"][0]["text"],
                        "headroom: " + support.headroom(*command).message.rstrip().rpartition("headroom: ")[2],
                    )
            for arguments, words in (
                ({"trace": [3.5, None]}, "no such file"),
                ({"trace": [[]]}, "must be a string or a number"),
                ({"nonsense": 1}, "nonsense"),
                ({"trace": ["t.json"], "no_local_state": "yes"}, "true or false"),
                ({"trace": ["a\0b"]}, "NUL"),
                ({"trace": ["t.json"], "output": "x"}, "output"),
                ({}, "trace: this tool requires it"),
                ({"trace": []}, "trace: this tool requires it"),
                ({"trace": ["t.json"], "steps": ["1", "2"]}, "one value"),
                ({"trace": ["x" * 5000]}, "4096"),
            ):
                with self.subTest(arguments=arguments):
                    result = client.call("report", **arguments)
                    self.assertTrue(result["isError"])
                    self.assertIn(words.lower(), result["content"][0]["text"].lower())
            two = client.call("query", trace=["t.json", "t.json"], sql="select 1")
            self.assertIn("trace: must be one value", two["content"][0]["text"])

    def test_a_query_is_bounded(self):
        self.write("many.json", a_trace(2000))
        with self.client("--max-bytes", "200000") as client:
            client.initialize()
            answer = client.call("query", trace="many.json", sql="select id from gpu_tasks")["structuredContent"]
            self.assertEqual((len(answer["rows"]), answer["cut"]), (1000, True))
            for arguments, words in (
                ({"trace": "many.json"}, "sql"),
                ({"trace": "many.json", "sql": "select 1; select 2"}, "one statement"),
                ({"trace": "many.json", "sql": "attach '/tmp/x' as x"}, "select"),
            ):
                with self.subTest(arguments):
                    result = client.call("query", **arguments)
                    self.assertTrue(result["isError"])
                    self.assertIn(words, result["content"][0]["text"].lower())

    def test_a_value_is_never_a_flag(self):
        target = self.scratch / "written"
        with self.client() as client:
            client.initialize()
            for arguments in (
                {"trace": "t.json", "scenario": ["--save"]},
                {"trace": "t.json", "scenario": [f"--output={target}"]},
                {"trace": "t.json", "scenario": ["-o", str(target)]},
                {"trace": "t.json", "step_marker": f"x --output={target}"},
            ):
                client.call("whatif", **arguments)
            client.call("report", trace=["--html=" + str(target)])
        self.assertEqual(sorted(os.listdir(self.scratch)), ["t.json"])

    def test_answers_fit_and_every_row_can_be_seen(self):
        self.write("many.json", a_trace(400, "a_kernel_with_a_rather_long_name_" * 8))
        with self.client("--max-bytes", "6000") as client:
            client.initialize()
            result = client.call("report", trace=["many.json"])
            size = len(result["content"][0]["text"].encode()) + len(
                json.dumps(result["structuredContent"], separators=(",", ":"), ensure_ascii=False).encode()
            )
            self.assertLessEqual(size, 6000)
            cut = {row["select"]: row for row in result["structuredContent"]["left_out"]}
            self.assertIn("/kernels", cut)
            names, start = [row["name"] for row in result["structuredContent"]["kernels"]], cut["/kernels"]["from"]
            self.assertEqual(start + cut["/kernels"]["rows"], 400)
            rows, start = [], 0
            while start is not None:
                part = client.call("report", trace=["many.json"], select="/kernels", **{"from": start})
                self.assertEqual(json.loads(part["content"][0]["text"]), part["structuredContent"])
                self.assertLessEqual(2 * len(part["content"][0]["text"].encode()), 6000)
                rows += part["structuredContent"]["value"]
                start = part["structuredContent"].get("next")
            self.assertEqual(rows, self.report(self.scratch / "many.json")["kernels"])
            self.assertLessEqual(len(names), 400)
            for select in ("/nonsense", "kernels", "/kernels/x"):
                self.assertTrue(client.call("report", trace=["many.json"], select=select)["isError"], select)


class Files(McpTest):
    def test_only_files_below_the_roots_are_opened(self):
        inside = self.scratch / "inside"
        outside = self.scratch / "outside"
        (inside / "rank").mkdir(parents=True)
        outside.mkdir()
        (inside / "t.json").write_text(a_trace())
        (inside / "here.json").symlink_to("t.json")
        (outside / "secret.json").write_text(a_trace())
        (inside / "out.json").symlink_to(outside / "secret.json")
        (inside / "rank" / "r0.json").symlink_to(outside / "secret.json")
        (inside / "folder").symlink_to(outside)
        (self.scratch / "inside2").mkdir()  # A name that begins with the root's name.
        (self.scratch / "inside2" / "t.json").write_text(a_trace())
        with Client("--root", inside) as client:
            client.initialize()
            for path in ("t.json", str(inside / "t.json"), "here.json", "./rank/../t.json"):
                with self.subTest(path):
                    self.assertFalse(client.call("report", trace=[path])["isError"])
            for path in (
                "../outside/secret.json",
                str(outside / "secret.json"),
                "out.json",
                "rank",
                "folder",
                "folder/secret.json",
                "../inside2/t.json",
                "/etc/passwd",
                "/nonexistent",
                "/proc/self/environ",
                "..",
            ):
                with self.subTest(path):
                    result = client.call("report", trace=[path])
                    self.assertTrue(result["isError"])
                    self.assertIn("not below", result["content"][0]["text"])
            for tool, arguments in (
                ("report", {"trace": ["t.json"], "calibration": "/etc/passwd"}),
                ("predict", {"ops": "/etc/passwd"}),
                ("predict", {"trace": ["t.json"], "gpu_file": ["/etc/passwd"]}),
                ("predict", {"trace": ["t.json"], "memory_timeline": "out.json"}),
                ("scale", {"trace": ["t.json"], "cluster": "/etc/passwd"}),
                ("scale", {"trace": ["t.json"], "cluster": "../outside/secret.json"}),
                ("diff", {"a": "t.json", "b": "../outside/secret.json"}),
                ("diff", {"a": "out.json", "b": "t.json"}),
                ("diff", {"a": "t.json", "b": "t.json", "also_a": ["folder/secret.json"]}),
                ("query", {"trace": "out.json", "sql": "select 1"}),
            ):
                with self.subTest(tool=tool, arguments=arguments):
                    result = client.call(tool, **arguments)
                    self.assertTrue(result["isError"])
                    self.assertIn("not below", result["content"][0]["text"])
        with Client("--root", inside, "--root", outside) as client:
            client.initialize()
            self.assertFalse(client.call("report", trace=["out.json"])["isError"])

    def test_the_current_folder_is_the_default(self):
        with Client(cwd=self.scratch) as client:
            client.initialize()
            self.assertFalse(client.call("report", trace=["t.json"])["isError"])
            self.assertTrue(client.call("report", trace=["/etc/hostname"])["isError"])


class Time(McpTest):
    """A FIFO is a trace that never arrives."""

    def setUp(self):
        super().setUp()
        os.mkfifo(self.scratch / "never.json")

    def children(self, client):
        return (
            (support.pathlib.Path(f"/proc/{client.process.pid}/task/{client.process.pid}/children")).read_text().split()
        )

    def test_a_call_that_takes_too_long_is_ended(self):
        with self.client("--timeout", "0.5") as client:
            client.initialize()
            result = client.call("report", trace=["never.json"])
            self.assertTrue(result["isError"])
            self.assertIn("0.5 s", result["content"][0]["text"])
            self.assertEqual(self.children(client), [])

    def test_a_cancelled_call_has_no_answer(self):
        with self.client() as client:
            client.initialize()
            number = client.start("tools/call", name="report", arguments={"trace": ["never.json"]})
            self.assertEqual(client.request("ping"), {})  # Other requests are answered in the meantime.
            self.assertFalse(client.call("report", trace=["t.json"])["isError"])
            with self.assertRaises(McpError):  # The same id again.
                client.ids = number - 1
                client.call("report", trace=["t.json"])
            client.ids = number + 10
            client.notify("notifications/cancelled", requestId=number, reason="enough")
            client.notify("notifications/cancelled", requestId=12345)
            client.notify("notifications/cancelled")
            self.assertEqual(client.request("ping"), {})
            self.assertEqual(self.children(client), [])
        self.assertEqual((client.code, client.rest), (0, b""))

    def test_more_calls_than_run_at_once(self):
        with self.client() as client:
            client.initialize()
            stuck = [client.start("tools/call", name="report", arguments={"trace": ["never.json"]}) for _ in range(4)]
            waiting = client.start("tools/call", name="report", arguments={"trace": ["t.json"]})
            client.notify("notifications/cancelled", requestId=stuck[0])
            self.assertEqual(client.receive()["id"], waiting)
            for number in stuck[1:]:
                client.notify("notifications/cancelled", requestId=number)
        self.assertEqual((client.code, client.rest), (0, b""))

    def test_it_ends_with_its_client(self):
        client = self.client()
        client.initialize()
        client.start("tools/call", name="report", arguments={"trace": ["never.json"]})
        self.assertEqual(client.request("ping"), {})
        client.process.stdout.close()
        self.assertEqual(client.process.wait(30), 0)
        client.process.stdin.close()
        client.process.stderr.close()


if __name__ == "__main__":
    unittest.main()
