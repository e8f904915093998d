"""Tests `headroom ui`: the requests of the page, and which clients may make them."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.parse

from integration import support

TRACE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
LOCAL = "--no-local-state"


class Ui(support.ProgramTest):
    """Uses one server for all tests."""

    server: subprocess.Popen
    link: urllib.parse.SplitResult
    token: str
    cookie: dict
    code: int

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = subprocess.Popen([support.BINARY, "ui", TRACE, LOCAL, "-q"], stdout=subprocess.PIPE, text=True)
        cls.link = urllib.parse.urlsplit(cls.server.stdout.readline().strip())
        cls.token = urllib.parse.parse_qs(cls.link.query)["token"][0]
        cls.cookie = {"Cookie": f"headroom-{cls.link.port}={cls.token}"}

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.code = cls.server.wait(60)
        cls.server.stdout.close()
        assert cls.code == 0, f"ended by SIGTERM with {cls.code}"
        super().tearDownClass()

    def ask(self, path, headers=None, method="GET", host=None):
        """Returns status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.link.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True)
            if host != "":
                connection.putheader("Host", host or self.link.netloc)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def test_the_link_opens_the_page_and_gives_the_cookie(self):
        status, headers, body = self.ask(f"/?token={self.token}")
        self.assertEqual(status, 200)
        self.assertIn(b"<title>Headroom</title>", body)
        cookie = headers["Set-Cookie"]
        self.assertTrue(cookie.startswith(f"headroom-{self.link.port}={self.token};"))
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(word, cookie)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual(
            (headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["Cache-Control"]),
            ("nosniff", "no-referrer", "no-store"),
        )
        for name, kind in (("app.js", "text/javascript"), ("app.css", "text/css")):
            status, headers, body = self.ask(f"/{name}", {**self.cookie, "Accept-Encoding": "gzip, deflate, br"})
            self.assertEqual((status, headers["Content-Type"].split(";")[0]), (200, kind))
            self.assertNotIn("Set-Cookie", headers)
            # Compressing it would delay the answer by 0.4 s.
            self.assertEqual(body, (support.ROOT / "ui/dist" / name).read_bytes())

    def test_answers_are_those_of_the_command_line(self):
        report = json.loads(self.ask("/api/v1/report", self.cookie)[2])
        self.assertEqual(report, support.headroom("report", TRACE, "--json", LOCAL).json())
        ranking = json.loads(self.ask("/api/v1/whatif", self.cookie)[2])
        self.assertEqual(ranking, support.headroom("whatif", TRACE, "--json", LOCAL).json())
        scenarios = ["amp:dtype=bf16+cuda-graph", "scale:match=.*gemm.*,factor=0.5"]
        query = urllib.parse.urlencode([("scenario", scenario) for scenario in scenarios])
        asked = json.loads(self.ask(f"/api/v1/whatif?{query}", self.cookie)[2])
        self.assertEqual(asked, support.headroom("whatif", TRACE, *scenarios, "--json", LOCAL).json())

    def test_the_catalogue(self):
        answer = json.loads(self.ask("/api/v1/scenarios", self.cookie)[2])
        self.assertEqual((answer["schema"], support.answer_violations(answer)), ("headroom.scenarios/1", []))
        listed = support.headroom("whatif", "--list").text
        for scenario in answer["scenarios"]:
            self.assertIn(scenario["name"], listed)
        amp = next(one for one in answer["scenarios"] if one["name"] == "amp")
        self.assertEqual(amp["keys"][0]["choices"], "fp16|bf16")

    def test_a_wrong_question_is_told_why(self):
        for path, wanted, word in (
            ("whatif?scenario=ampp", 400, "amp"),
            ("whatif?scenario=", 400, "scenario"),
            ("no-such", 404, "not found"),
            ("", 404, "not found"),
        ):
            with self.subTest(path):
                status, _, body = self.ask(f"/api/v1/{path}", self.cookie)
                answer = json.loads(body)
                self.assertEqual(
                    (status, answer["schema"], support.answer_violations(answer)), (wanted, "headroom.error/1", [])
                )
                self.assertIn(word, answer["error"])

    def test_nobody_else_gets_an_answer(self):
        page = f"http://{self.link.netloc}"
        refused = [
            ({}, None),
            ({"Cookie": f"headroom-{self.link.port}=0"}, None),
            (self.cookie, "evil.example"),
            (self.cookie, f"evil.example:{self.link.port}"),
            (self.cookie, ""),
            ({**self.cookie, "Origin": "http://evil.example"}, None),
            ({**self.cookie, "Origin": "null"}, None),
            ({**self.cookie, "Origin": f"http://127.0.0.1:{self.link.port + 1}"}, None),
        ]
        for path in ("/", "/api/v1/report", "/app.js", "/api/v1/whatif?scenario=amp"):
            for headers, host in refused:
                with self.subTest(path=path, headers=headers, host=host):
                    status, answered, body = self.ask(path, headers, host=host)
                    self.assertIn(status, (400, 403))
                    self.assertNotIn("Set-Cookie", answered)
                    self.assertLess(len(body), 200)
        self.assertEqual(self.ask("/api/v1/scenarios", {**self.cookie, "Origin": page})[0], 200)
        # At the other end of a tunnel, the port may differ.
        self.assertEqual(self.ask("/api/v1/scenarios", self.cookie, host="localhost:9999")[0], 200)

    def test_paths_lead_nowhere_else(self):
        for path in (
            "/../etc/passwd",
            "/..%2f..%2fetc%2fpasswd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/app.js/../../etc/passwd",
            "/api/v2/report",
            "/index.html%00",
            "//etc/passwd",
        ):
            with self.subTest(path):
                status, _, body = self.ask(path, self.cookie)
                self.assertIn(status, (400, 404))
                self.assertNotIn(b"root:", body)
        for method in ("POST", "PUT", "DELETE"):
            self.assertIn(self.ask("/api/v1/report", self.cookie, method=method)[0], (400, 404, 405, 413))

    def test_a_thousand_at_once_and_a_slow_one(self):
        slow = socket.create_connection(("127.0.0.1", self.link.port))
        self.addCleanup(slow.close)
        slow.sendall(b"GET /api/v1/report HTTP/1.1\r\nHost: ")  # No further bytes follow.
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            answers = list(pool.map(lambda _: self.ask("/api/v1/scenarios", self.cookie)[0], range(1000)))
        self.assertEqual(set(answers), {200})

    def test_questions_at_once_are_answered_alike(self):
        one = self.ask("/api/v1/whatif?scenario=amp", self.cookie)[2]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: self.ask("/api/v1/whatif?scenario=amp", self.cookie)[2], range(32)))
        self.assertEqual(set(answers), {one})

    def test_only_loopback_listens(self):
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = [row[1] for row in rows if row[3] == "0A"]
        ours = [address for address in listening if address.endswith(f":{self.link.port:04X}")]
        self.assertEqual(ours, [f"0100007F:{self.link.port:04X}"])

    def test_a_port_that_is_taken(self):
        self.assert_refused(
            support.headroom("ui", TRACE, "--port", str(self.link.port)), 2, "cannot listen", "another port"
        )


class NothingToReplay(support.ProgramTest):
    def test_every_scenario_abstains_as_on_the_command_line(self):
        trace = self.write(
            "gpu.json",
            json.dumps(
                {
                    "traceEvents": [
                        {
                            "ph": "X",
                            "cat": "kernel",
                            "name": "sgemm",
                            "pid": 0,
                            "tid": 7,
                            "ts": 1,
                            "dur": 5,
                            "args": {"device": 0, "stream": 7},
                        }
                    ]
                }
            ),
        )
        answers = []
        with subprocess.Popen([support.BINARY, "ui", trace, LOCAL, "-q"], stdout=subprocess.PIPE, text=True) as server:
            self.addCleanup(server.kill)
            link = urllib.parse.urlsplit(server.stdout.readline().strip())
            for query in ("", "&scenario=amp&scenario=tf32"):
                connection = http.client.HTTPConnection("127.0.0.1", link.port, timeout=30)
                connection.request("GET", f"/api/v1/whatif?{link.query}{query}")
                answers.append(json.loads(connection.getresponse().read()))
                connection.close()
            server.send_signal(signal.SIGINT)
            self.assertEqual(server.wait(60), 0)
        # After the server has ended: a failure inside the block would wait for it.
        for answer, scenarios in zip(answers, ((), ("amp", "tf32"))):
            self.assertEqual(answer, support.headroom("whatif", trace, *scenarios, "--json", LOCAL).json())


class Opener(support.ProgramTest):
    """Tests `--open`, with a desktop opener that writes its arguments to a file."""

    def start(self, opener, **environment):
        """Starts `headroom ui --open` with that shell script as its opener. Returns the printed link."""
        self.write("xdg-open", f"#!/bin/sh\n{opener}\nmv told opened\n").chmod(0o755)
        server = subprocess.Popen(
            [support.BINARY, "ui", TRACE, LOCAL, "-q", "--open"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.scratch,
            env={**os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}", **environment},
        )
        return server, server.stdout.readline().strip()

    def opened(self, server):
        """Returns the opener's output, after it has exited."""
        children = pathlib.Path(f"/proc/{server.pid}/task")
        until = time.monotonic() + 30

        def left():
            return [child for task in children.glob("*/children") for child in task.read_text().split()]

        while (left() or not (self.scratch / "opened").exists()) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(left(), [], "the opener is not waited for")
        return (self.scratch / "opened").read_text().split()

    def end(self, server):
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(60), 0)

    def test_the_opener_gets_nothing_of_the_server(self):
        server, _ = self.start("ls /proc/self/fd | wc -l >told")
        with server:
            # stdin, stdout, stderr and the folder that ls reads, but no socket.
            self.assertEqual(self.opened(server), ["4"])
            self.end(server)

    def test_no_other_user_sees_the_token(self):
        for runtime in (self.scratch, self.scratch / "missing"):
            with self.subTest(runtime):
                (self.scratch / "opened").unlink(missing_ok=True)
                server, link = self.start(
                    "tr '\\0' ' ' </proc/$$/cmdline >told", XDG_RUNTIME_DIR=str(runtime), TMPDIR=str(self.scratch)
                )
                with server:
                    arguments = self.opened(server)
                    token = link.split("token=")[1]
                    self.assertNotIn(token, " ".join(arguments))
                    page = pathlib.Path(arguments[-1])
                    self.assertEqual(page.parent.parent, self.scratch)
                    self.assertEqual((page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777), (0o600, 0o700))
                    self.assertIn(f'content="0; url={link}"', page.read_text())
                    self.end(server)
                self.assertFalse(page.parent.exists(), "the file is left behind")

    def test_where_no_file_can_be_written_one_opens_the_link_by_hand(self):
        missing = str(self.scratch / "missing")
        server = subprocess.Popen(
            [support.BINARY, "ui", TRACE, LOCAL, "-q", "--open"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_RUNTIME_DIR": missing, "TMPDIR": missing},
        )
        with server:
            self.assertIn("token=", server.stdout.readline())
            self.assertIn("open the link by hand", server.stderr.readline())
            self.end(server)


class NoPage(support.ProgramTest):
    def test_what_is_no_trace(self):
        self.assert_refused(support.headroom("ui", self.write("no.json", "{}")), 3, "no.json")
        self.assert_refused(support.headroom("ui"), 2, "TRACE")
        self.assert_refused(support.headroom("ui", TRACE, "--port", "99999"), 2, "--port")
