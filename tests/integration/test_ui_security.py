"""Tests `headroom ui` with faulty, slow, many or hostile clients: it keeps running and answers the others."""
import concurrent.futures
import contextlib
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

TRACE = support.GOLDEN / "host-bound-two-steps/trace.json"
THREADS, LIMIT_S = 64, 5  # The server's threads and its time limit for a client (docs/ui.md).
PATIENCE_S = 60  # Only a server that hangs takes this long.


class Server:
    """Starts `headroom ui` on a small trace."""

    def __init__(self, *args, trace=TRACE):
        self.process = subprocess.Popen(
            [support.BINARY, "ui", trace, "--no-local-state", "-q", *args], stdout=subprocess.PIPE, text=True
        )
        link = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.port, self.host = link.port, link.netloc
        self.cookie = f"headroom-{link.port}={urllib.parse.parse_qs(link.query)['token'][0]}"

    def end(self, number=signal.SIGTERM):
        """Returns the exit code, and the time until the end."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stdout.close()
        return code, time.monotonic() - began

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def peak_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def processor_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def head(self, path="/api/v1/scenarios", method="GET", more=""):
        """Returns a whole request, as text."""
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nCookie: {self.cookie}\r\nConnection: close\r\n{more}\r\n"
        )

    def raw(self, request):
        """Returns status and body of the answer to any bytes; (None, b"") if the server closed the connection."""
        with self.connect() as connection:
            # The server may answer or close before all of a too large request is sent.
            with contextlib.suppress(ConnectionError):
                connection.sendall(request if isinstance(request, bytes) else request.encode("latin-1"))
            return read_answer(connection)

    def ask(self, path="/api/v1/scenarios"):
        """Returns the status of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()


def is_open(connection):
    """Returns whether the server has neither answered nor closed the connection. Makes it non-blocking."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    return False


def read_answer(connection):
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    return (int(head.split()[1]), body) if head.startswith(b"HTTP/1.1 ") else (None, b"")


class UiServer(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.end)

    def end(self):
        if self.server.process.poll() is None:
            self.assertEqual(self.server.end()[0], 0)

    def assert_settles(self, descriptors):
        """Requires that no connection remains."""
        deadline = time.monotonic() + PATIENCE_S
        while self.server.descriptors() > descriptors and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertLessEqual(self.server.descriptors(), descriptors)


class Requests(UiServer):
    def test_paths_lead_nowhere_else(self):
        up = (
            "../",
            "..%2f",
            "%2e%2e/",
            "%2e%2e%2f",
            "..%252f",
            "%252e%252e%252f",
            "..\\",
            "..%5c",
            "%2e%2e%5c",
            "..%c0%af",
            "....//",
            "..;/",
            ".%00./",
        )
        for step in up:
            for start in ("/", "/api/v1/", "/app.js/", "/./"):
                path = f"{start}{step * 8}etc/passwd"
                with self.subTest(path):
                    status, body = self.server.raw(self.server.head(path))
                    self.assertIn(status, (400, 404, None))
                    self.assertNotIn(b"root:", body)

    def test_odd_paths(self):
        for path in (
            "/app.js%00.css",
            "/%00",
            "/app.js\0",
            "//app.js",
            "/api/v1",
            "/api/v1/",
            "/api/v1/report/",
            "/API/V1/report",
            "http://evil.example/",
            "*",
            "evil.example:80",
            "",
        ):
            with self.subTest(path):
                status, body = self.server.raw(self.server.head(path))
                # A request for another server's page, as proxies get them, may contain this server's cookie.
                self.assertIn(status, (400, 403, 404, None))
        self.assertEqual(self.server.ask(), 200)

    def test_methods(self):
        status, body = self.server.raw(self.server.head(method="HEAD"))
        self.assertEqual((status, body), (200, b""))
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "G\0T"):
            with self.subTest(method):
                status, _ = self.server.raw(self.server.head(method=method, more="Content-Length: 0\r\n"))
                self.assertIn(status, (400, 404, 405, 413, None))
        body = "Content-Length: 5\r\n\r\nhello"
        self.assertIn(self.server.raw(self.server.head(method="POST", more=body))[0], (400, 404, 405, 413))
        self.assertEqual(self.server.ask(), 200)

    def test_a_method_in_other_words_is_still_a_get(self):
        more = "X-HTTP-Method-Override: DELETE\r\n"
        self.assertEqual(self.server.raw(self.server.head(more=more))[0], 200)

    def test_large_requests(self):
        large = "x" * 1_000_000
        before = self.server.descriptors()
        requests = {
            "address": self.server.head(f"/{large}"),
            "query": self.server.head(f"/api/v1/whatif?scenario={large}"),
            "method": self.server.head(method=large),
            "header": self.server.head(more=f"X: {large}\r\n"),
            "cookie": self.server.head(more=f"Cookie: {large}\r\n"),
            "headers": self.server.head(more="X: y\r\n" * 100_000),
            "no line": large,
            "bytes": bytes(range(256)) * 4000,
        }
        for name, request in requests.items():
            with self.subTest(name):
                self.assertIn(self.server.raw(request)[0], (400, 403, 404, 414, 431, None))
        self.assertEqual(self.server.ask(), 200)
        self.assert_settles(before)

    def test_headers_without_end(self):
        before = self.server.peak_mb()
        deadline = time.monotonic() + PATIENCE_S
        with self.server.connect() as connection:
            connection.sendall(self.server.head()[:-2].encode())
            with self.assertRaises(ConnectionError):
                while time.monotonic() < deadline:
                    connection.sendall(b"X: y\r\n" * 10_000)
        self.assertLess(self.server.peak_mb(), before + 20)
        self.assertEqual(self.server.ask(), 200)

    def test_a_body_that_never_comes(self):
        def post(more):
            with self.server.connect() as connection:
                connection.sendall(self.server.head(method="POST", more=more).encode())
                return read_answer(connection)[0]

        heads = (
            "Content-Length: 1000000000000\r\n",
            "Content-Length: -1\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\nContent-Length: 9\r\n",
        )
        with concurrent.futures.ThreadPoolExecutor() as pool:
            self.assertNotIn(200, list(pool.map(post, heads)))
        self.assertEqual(self.server.ask(), 200)

    def test_many_parts_of_an_answer(self):
        before = self.server.peak_mb()
        parts = ",".join(["0-"] * 2000)
        for _ in range(4):
            status, body = self.server.raw(self.server.head("/api/v1/report", more=f"Range: bytes={parts}\r\n"))
            self.assertEqual(status, 200)
            self.assertEqual(body.count(b"headroom.report/1"), 1)
        self.assertLess(self.server.peak_mb(), before + 20)

    def test_what_is_wrong_with_a_request_is_said(self):
        cases = [
            (self.server.head("/api/v1/whatif?scenario=" + "x" * 20_000), 414, "too long"),
            (self.server.head("/api/v1/report/x"), 404, "not found"),
            (self.server.head(method="POST", more="Content-Length: 5\r\n\r\nhello"), 413, "body"),
            (self.server.head(method="BREW"), 400, "not valid HTTP"),
        ]
        for request, status, why in cases:
            with self.subTest(why):
                answered, body = self.server.raw(request)
                self.assertEqual(answered, status)
                self.assertIn(why, json.JSONDecoder().raw_decode(body.decode())[0]["error"])

    def test_headers_that_come_twice_say_nothing(self):
        for more in ("Host: evil.example\r\n", f"Host: {self.server.host}\r\n"):
            self.assertIn(self.server.raw(self.server.head(more=more))[0], (400, 403))


class Clients(UiServer):
    def test_slow_ones_are_cut_off_and_others_answered_meanwhile(self):
        before = self.server.descriptors()
        slow = [self.server.connect() for _ in range(20)]
        for one in slow:
            one.setblocking(False)
        request, sent, ended, meanwhile = self.server.head().encode(), 0, set(), 0
        deadline = time.monotonic() + PATIENCE_S
        while len(ended) < len(slow) and time.monotonic() < deadline:
            for one in slow:
                if one in ended:
                    continue
                try:
                    one.send(request[sent:][:1])
                    if one.recv(1) == b"":
                        ended.add(one)
                except BlockingIOError:
                    pass
                except ConnectionError:
                    ended.add(one)
            self.assertEqual(self.server.ask(), 200)
            meanwhile += sum(map(is_open, slow)) == len(slow)
            sent += 1
            time.sleep(1)
        for one in slow:
            one.close()
        self.assertEqual(len(ended), len(slow), "slow clients are still served")
        self.assertGreater(meanwhile, 0, "others had to wait for slow clients")
        self.assert_settles(before)

    def test_idle_ones_are_let_go(self):
        before = self.server.descriptors()
        idle = [self.server.connect() for _ in range(30)]
        self.assertEqual(self.server.ask(), 200)
        self.assertTrue(all(map(is_open, idle)), "others had to wait for idle ones")
        self.assert_settles(before)
        for one in idle:
            one.close()

    def test_many_silent_ones_keep_nobody_waiting(self):
        """Opens as many connections as there are threads, and more (docs/ui.md)."""
        for sent in (b"", b"G"):
            with self.subTest(sent):
                silent = [self.server.connect() for _ in range(THREADS + 16)]
                for one in silent:
                    one.sendall(sent)
                self.assertEqual(self.server.ask("/api/v1/state"), 200)
                # A server that grants each client the full LIMIT_S closes THREADS clients before it answers.
                self.assertGreater(sum(map(is_open, silent)), len(silent) - THREADS)
                for one in silent:
                    one.close()

    def test_who_does_not_read_is_let_go(self):
        before = self.server.descriptors()
        deaf = []
        for _ in range(10):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.connect(("127.0.0.1", self.server.port))
            # Answers that fill all buffers on the way.
            connection.sendall((self.server.head("/app.js").replace("close", "keep-alive") * 400).encode()[:60_000])
            deaf.append(connection)
        self.assertEqual(self.server.ask(), 200)
        self.assert_settles(before)
        for one in deaf:
            one.close()

    def test_a_thousand_at_once(self):
        before = self.server.descriptors()
        statuses = []
        for _ in range(2):
            connections = [self.server.connect() for _ in range(500)]  # This process also has a limit of descriptors.
            for one in connections:
                one.sendall(self.server.head().encode())
            with concurrent.futures.ThreadPoolExecutor(50) as pool:
                statuses += [status for status, _ in pool.map(read_answer, connections)]
            for one in connections:
                one.close()
        self.assertEqual((len(statuses), set(statuses)), (1000, {200}))
        self.assert_settles(before)

    def test_more_than_it_has_descriptors_for(self):
        subprocess.run(["prlimit", f"--pid={self.server.process.pid}", "--nofile=64"], check=True)
        before = self.server.descriptors()
        connections = [self.server.connect() for _ in range(300)]
        for one in connections:
            one.sendall(self.server.head().encode())
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            statuses = {status for status, _ in pool.map(read_answer, connections)}
        for one in connections:
            one.close()
        self.assertLessEqual(statuses, {200, 503, None})
        self.assertIn(200, statuses)
        self.assertEqual(self.server.ask(), 200)
        self.assert_settles(before)

    def test_ones_that_hang_up(self):
        before = self.server.descriptors()
        for length in range(0, len(self.server.head()), 7):
            with self.server.connect() as connection:
                connection.sendall(self.server.head("/api/v1/report")[:length].encode())
        for _ in range(50):
            with self.server.connect() as connection:
                connection.sendall(self.server.head("/api/v1/report").encode())
        self.assertEqual(self.server.ask(), 200)
        self.assert_settles(before)

    def test_several_requests_on_one_connection(self):
        keep = self.server.head().replace("close", "keep-alive")
        status, body = self.server.raw(keep * 3 + self.server.head())
        self.assertEqual(status, 200)
        self.assertEqual(body.count(b"HTTP/1.1 200"), 3)

    def test_a_body_is_not_the_next_request(self):
        hidden = self.server.head("/api/v1/state")
        for method in ("GET", "POST", "DELETE"):
            for announced in (f"Content-Length: {len(hidden)}\r\n", "Transfer-Encoding: chunked\r\n"):
                with self.subTest(method=method, announced=announced):
                    head = self.server.head("/api/v1/scenarios", method=method, more=announced)
                    _, body = self.server.raw(head.replace("close", "keep-alive") + hidden)
                    self.assertNotIn(b"HTTP/1.1", body)
                    self.assertNotIn(b"headroom.state", body)

    def test_the_link_leaves_the_address_bar(self):
        token = self.server.cookie.partition("=")[2]
        link = f"/?token={token}"
        for site, status in (("none", 303), ("cross-site", 200)):
            with self.subTest(site=site):
                connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
                self.addCleanup(connection.close)
                connection.request("GET", link, headers={"Sec-Fetch-Site": site})
                answer = connection.getresponse()
                self.assertEqual(answer.status, status)
                self.assertIn(token, answer.getheader("Set-Cookie"))
                self.assertEqual(answer.getheader("Location"), "/" if status == 303 else None)


class Ends(support.ProgramTest):
    def test_by_a_signal_at_once_and_the_port_is_free(self):
        server = Server()
        port = server.port
        for number in (signal.SIGINT, signal.SIGTERM):
            # Three clients: an open page, a slow client, and a client that waits for its answer.
            with server.connect() as idle, server.connect() as slow, server.connect() as waiting:
                idle.sendall(server.head().replace("close", "keep-alive").encode())
                self.assertTrue(idle.recv(100).startswith(b"HTTP/1.1 200"))
                slow.sendall(b"GET / HTTP/1.1\r\n")
                waiting.sendall(server.head("/api/v1/whatif").encode())
                code, seconds = server.end(number)
            self.assertEqual(code, 0)
            self.assertLess(seconds, LIMIT_S)  # The server waits for no client.
            server = Server("--port", str(port))
            self.assertEqual(server.port, port)
            self.assertEqual(server.ask(), 200)
        self.assertEqual(server.end()[0], 0)

    def test_while_it_computes(self):
        """During a long request, requests without forecasts are answered, and a signal ends the server at once."""
        server = Server(trace=support.ROOT / "data/samples/resnet50_fp32_h200.json.gz")
        with server.connect() as waiting:
            many = ",".join(map(str, range(1, 65)))
            waiting.sendall(server.head(f"/api/v1/scale?gpus={many}").encode())
            time.sleep(0.3)
            for path, status in (
                ("/api/v1/state", 200),
                ("/api/v1/scale?gpus=0", 400),
                ("/api/v1/whatif?scenario=nonsense", 400),
                ("/api/v1/predict?gpu=nonsense", 400),
                ("/api/v1/timeline?scenario=nonsense", 400),
            ):
                self.assertEqual(server.ask(path), status)
                self.assertTrue(is_open(waiting), path)
            self.assertEqual(server.end()[0], 0)
            waiting.setblocking(True)
            self.assertNotEqual(read_answer(waiting)[0], 200)  # The server stopped the computation.

    def test_who_has_gone_is_not_computed_for(self):
        server = Server(trace=support.ROOT / "data/samples/resnet50_fp32_h200.json.gz")
        many = ",".join(map(str, range(1, 65)))
        began = server.processor_s()
        self.assertEqual(server.ask(f"/api/v1/scale?gpus={many}"), 200)
        asked = server.processor_s()
        for gpus in range(8):
            with server.connect() as gone:
                gone.sendall(server.head(f"/api/v1/scale?gpus={many}&latency-us={gpus + 1}").encode())
                time.sleep(0.1)
        self.assertEqual(server.ask("/api/v1/whatif?scenario=amp"), 200)
        self.assertLess(server.processor_s() - asked, 8 * (asked - began) / 2)
        self.assertEqual(server.end()[0], 0)

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            outcome = support.headroom("ui", TRACE, "--port", str(other.getsockname()[1]))
        self.assert_refused(outcome, 2, "cannot listen", "another port")
