"""Tests SQL on the page: the answers equal those of `headroom query`, within limits."""
import socket
import time
import urllib.parse

from integration import support
from integration.page_server import Server

TRACE = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"
ENDLESS = "select count(*) from host_events a, host_events b, host_events c"


class Query(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = Server(TRACE)
        self.addCleanup(self.server.stop)

    def test_answers_are_those_of_the_command(self):
        for sql in (
            "select phase, count(*) as n, sum(duration_ns) as ns from kernels group by phase order by phase",
            "select name, duration_ns from kernels order by id",
            "select null as unknown, 1.5 as half, 'ä\"' as word",
        ):
            with self.subTest(sql):
                command = support.headroom("query", TRACE, sql, "--json", "--max-rows", "1000", "-q")
                self.assertEqual(self.server.ask("query", sql=sql), (200, command.json()))

    def test_what_is_wrong_is_said(self):
        for sql, why in (
            ("", "missing statement"),
            ("select nme from kernels", "did you mean name"),
            ("select 1; select 2", "one at a time"),
            ("delete from steps", "read-only"),
            ("attach '/tmp/x' as x", "read-only"),
            ("select load_extension('x')", "not authorized"),
        ):
            with self.subTest(sql):
                status, answer = self.server.ask("query", sql=sql)
                self.assertEqual(status, 400)
                self.assertIn(why, answer["error"])

    def test_a_statement_ends_when_nobody_waits(self):
        query = urllib.parse.urlencode({"sql": ENDLESS})
        with socket.create_connection(("127.0.0.1", self.server.link.port)) as client:
            request = f"GET /api/v1/query?{self.server.link.query}&{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            client.sendall(request.encode())
            time.sleep(0.5)
        begin = time.monotonic()
        status, answer = self.server.ask("query", sql="select 1 as one")
        self.assertEqual((status, answer["rows"]), (200, [[1]]))
        self.assertLess(time.monotonic() - begin, 10)  # The statement alone would take 20 s.
