"""A client of the Model Context Protocol over stdio, for tests. Follows the published specification."""
import json
import os
import selectors
import subprocess
import time

import jsonschema

from integration import support


class McpError(Exception):
    """The server returned a JSON-RPC error."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]


class Client:
    """A conversation with `headroom mcp ARGS`. Use it as a context manager: leaving it closes stdin and waits until the
    server ends.
    """

    def __init__(self, *args, cwd=None, version="2025-06-18"):
        self.version = version
        self.process = subprocess.Popen(
            [str(support.BINARY), "mcp", *map(str, args)],
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": "/nonexistent"},
        )
        self.ids = 0
        self.schemas = None
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
        self.process.stdin.close()
        self.code = self.process.wait(30)
        self.rest = self.buffer + self.process.stdout.read()
        self.stderr = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method, **params):
        """Sends a request. Returns its id."""
        self.ids += 1
        self.send({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params})
        return self.ids

    def receive(self, seconds=60):
        """Returns the next message, which must be one line of JSON-RPC."""
        end = time.monotonic() + (seconds * 10 if support.sanitized() else seconds)
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                if not selector.select(max(0, end - time.monotonic())):
                    raise AssertionError(f"no answer after {seconds} s")
                piece = os.read(self.process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise AssertionError(f"the server has ended: {self.buffer!r}")
                self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line.decode("utf-8"))

    def request(self, method, **params):
        """Returns the result of a request."""
        number = self.start(method, **params)
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == number, answer
        if "error" in answer:
            raise McpError(answer["error"])
        return answer["result"]

    def initialize(self):
        result = self.request(
            "initialize", protocolVersion=self.version, capabilities={}, clientInfo={"name": "test", "version": "0"}
        )
        self.notify("notifications/initialized")
        return result

    def call(self, tool, **arguments):
        """Calls a tool. Requires that its content keeps to the tool's output schema, as clients do."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        if "structuredContent" in result:
            if self.schemas is None:
                self.schemas = {one["name"]: one.get("outputSchema") for one in self.request("tools/list")["tools"]}
            if self.schemas[tool] is not None:
                jsonschema.validate(result["structuredContent"], self.schemas[tool])
        return result
