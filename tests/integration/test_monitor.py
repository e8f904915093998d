"""Tests `headroom monitor`: lines, files, signals, the terminal, and the exposition for Prometheus."""
import contextlib
import http.client
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

from integration import support

DETERMINED = [
    "free_memory",
    "cpu_util_simple",
    "disk_iops",
    "disk_throughput_read",
    "disk_throughput_write",
    "net_throughput_sent",
    "net_throughput_recv",
]
FAKES = support.BINARY.parent / "src/capture/metrics/fake"


def lines_of(text):
    return [json.loads(line, parse_constant=support._no_constant) for line in text.splitlines()]


class MonitorTest(support.ProgramTest):
    def start(self, *args, **kwargs):
        process = subprocess.Popen(
            [str(support.BINARY), "monitor", *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=kwargs.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            text=True,
            **kwargs,
        )
        self.addCleanup(process.stderr.close)
        if process.stdout:
            self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Monitor(MonitorTest):
    def check_lines(self, lines):
        for line in lines:
            self.assertEqual(line["schema"], "headroom.monitor/1")
            self.assertRegex(line["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
            for name in DETERMINED:
                self.assertIn(name, line["values"])
            self.assertIsInstance(line["users"], list)
        self.assertIsNone(lines[0]["values"]["cpu_util_simple"], "a share has no value at first: null, not 0")
        for before, after in zip(lines, lines[1:]):
            self.assertLess(before["monotonic_ns"], after["monotonic_ns"])

    def test_a_line_a_sample_on_a_pipe(self):
        outcome = support.headroom("monitor", "--interval", 0.5, "--count", 4)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(outcome.message, "")
        lines = lines_of(outcome.text)
        self.assertEqual(len(lines), 4)
        self.check_lines(lines)
        self.assertGreater(lines[-1]["values"]["context_switches_per_s"], 0)
        steps = [b["monotonic_ns"] - a["monotonic_ns"] for a, b in zip(lines, lines[1:])]
        self.assertGreater(min(steps), 20e6, "no two samples back to back")

    def test_each_line_is_flushed(self):
        process = self.start("--interval", 60)
        self.assertEqual(json.loads(process.stdout.readline())["schema"], "headroom.monitor/1")

    def test_a_run_shorter_than_the_period_has_rates(self):
        outcome = support.headroom("monitor", "--interval", 60, "--duration", 0.3)
        self.assertEqual(outcome.code, 0, outcome)
        lines = lines_of(outcome.text)
        self.assertEqual(len(lines), 2)
        self.assertGreater(lines[1]["values"]["context_switches_per_s"], 0)

    def test_signals_end_it_with_a_last_sample_and_exit_code_0(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = self.start("--interval", 60)
                first = process.stdout.readline()
                time.sleep(0.1)
                process.send_signal(number)
                rest = process.communicate(timeout=60)[0]
                self.assertEqual(process.returncode, 0)
                lines = lines_of(first + rest)
                self.assertEqual(len(lines), 2)
                self.assertGreater(lines[1]["values"]["context_switches_per_s"], 0)

    def test_a_reader_that_goes_away_had_enough(self):
        process = self.start("--interval", 0.1)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(60), 0)

    def test_a_file_is_the_owners_alone_and_not_overwritten(self):
        path = self.scratch / "job.jsonl"
        old = os.umask(0)
        try:
            outcome = support.headroom("monitor", "--interval", 0.1, "--count", 2, "-o", path)
        finally:
            os.umask(old)
        self.assertEqual((outcome.code, outcome.out, outcome.err), (0, b"", b""), outcome)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.check_lines(lines_of(path.read_text()))
        before = path.read_text()
        self.assert_refused(support.headroom("monitor", "--count", 1, "-o", path), 2, "--force", path)
        self.assertEqual(path.read_text(), before)
        self.assertEqual(support.headroom("monitor", "--count", 1, "-o", path, "--force").code, 0)
        self.assertEqual(len(path.read_text().splitlines()), 1)
        target = self.write("target", "mine")
        link = self.scratch / "link"
        link.symlink_to(target)
        self.assert_refused(support.headroom("monitor", "--count", 1, "-o", link), 2, "symbolic link")
        self.assertEqual(support.headroom("monitor", "--count", 1, "-o", link, "--force").code, 0)
        self.assertEqual(target.read_text(), "mine")
        self.assert_refused(support.headroom("monitor", "--count", 1, "-o", self.scratch / "no/such"), 4, "no/such")

    @support.NEEDS_FULL_DEVICE
    def test_a_full_disk(self):
        self.assert_refused(
            support.headroom("monitor", "--count", 1, "-o", support.FULL_DEVICE), 4, support.FULL_DEVICE
        )

    def test_a_process_and_what_it_starts(self):
        job = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import subprocess, sys, time\n"
                "p = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
                "try: time.sleep(60)\nfinally: p.kill()",
            ]
        )
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        worker = None
        for _ in range(100):
            children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
            if children:
                worker = children[0]
                break
            time.sleep(0.05)
        self.assertIsNotNone(worker)
        try:
            process = self.start("--interval", 0.2, "--pid", job.pid)
            seen = [json.loads(process.stdout.readline()) for _ in range(6)]
            values = seen[-1]["values"]
            self.assertEqual(values["process_tree_processes"], 2)
            self.assertGreater(max(line["values"]["process_tree_cpu_pct"] or 0 for line in seen), 0.2)
            rows = [name for line in seen for name in line["values"].get("process_cpu_pct") or {}]
            self.assertTrue(any(name.startswith(worker + " ") for name in rows), rows)
            self.assertTrue(
                all(not user["in_tree"] for line in seen for user in line["users"] if user["resource"] == "CPU")
            )
        finally:
            os.kill(int(worker), signal.SIGKILL)
            job.kill()
            job.wait()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, "it ends with the job")

    def test_wrong_usage(self):
        for args, word in (
            (("--interval", 0.01), "0.1"),
            (("--interval", 61), "60"),
            (("--interval", "x"), "interval"),
            (("--count", 0), "count"),
            (("--pid", 999999999), "no such process"),
            (("--prometheus", 70000), "65535"),
            (("surplus",), "surplus"),
            (("--duration", -1), "duration"),
        ):
            with self.subTest(args):
                self.assert_refused(support.headroom("monitor", *args), 2, word)

    def test_what_there_is_has_its_row_in_the_documentation(self):
        listed = support.headroom("monitor", "--list", "--pid", os.getpid()).text
        rows = {}
        for line in (support.ROOT / "docs/metrics.md").read_text().splitlines():
            match = re.match(r"\| `([a-z0-9_]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", line)
            if match:
                rows[match[1]] = [cell.strip() for cell in match.groups()[1:]]
        self.assertGreater(len(rows), 80)
        for line in listed.splitlines():
            name, unit, scope, rest = line.split(None, 3)
            self.assertIn(name, rows, "docs/metrics.md has no row for it")
            self.assertEqual([unit, scope], rows[name][:2])
            self.assertTrue(rest.endswith(rows[name][2]), (rest, rows[name]))

    def test_gpus_of_the_vendors_library(self):
        if not (FAKES / "libnvidia-ml.so.1").exists():
            raise support.unittest.SkipTest("the fake NVML is built with the tests: cmake --build --preset release")
        environment = {"LD_LIBRARY_PATH": str(FAKES), "CUDA_VISIBLE_DEVICES": "1,0"}
        outcome = support.headroom("monitor", "--interval", 0.1, "--count", 3, environment=environment)
        self.assertEqual(outcome.code, 0, outcome)
        lines = lines_of(outcome.text)
        self.assertEqual(lines[0]["values"]["gpu_util"], {"GPU 0": None, "GPU 1": 40})
        self.assertEqual(lines[0]["values"]["gpu_free_memory"], {"GPU 0": 601, "GPU 1": 600})
        users = [user for user in lines[0]["users"] if user["resource"] == "GPU 1"]
        self.assertEqual([user["pid"] for user in users], [10, 99])
        self.assertIsNone(users[1]["memory_bytes"])

    def test_a_gpu_that_never_answers_holds_neither_the_others_nor_ctrl_c(self):
        if not (FAKES / "libnvidia-ml.so.1").exists():
            raise support.unittest.SkipTest("the fake NVML is built with the tests: cmake --build --preset release")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(FAKES), "FAKE_NVML_HANGS": "reading"}
        process = self.start("--interval", 0.1, env=environment)
        lines = lines_of("".join(process.stdout.readline() for _ in range(12)))
        self.assertEqual(lines[0]["values"]["gpu_util"]["GPU 0"], 40)
        for line in lines[1:]:
            self.assertIsNone(line["values"]["gpu_util"]["GPU 0"])
            self.assertGreater(line["values"]["free_memory"], 0)
        # A GPU is read rarely enough to cost little. A delayed reading loses some samples.
        self.assertIn(43, [line["values"]["gpu_util"]["GPU 3"] for line in lines[1:]], "the other GPUs go on")
        process.send_signal(signal.SIGINT)
        message = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0)
        self.assertEqual(message.count("GPU 0 does not answer"), 1, message)

    def test_a_live_table_on_a_terminal_which_is_as_before_afterwards(self):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        process = self.start("--interval", 0.1, stdout=theirs, env=environment)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        seen = b""
        ends = time.monotonic() + 60
        while seen.count(b"cpu_util_simple") < 3 and time.monotonic() < ends:
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        try:
            while chunk := os.read(ours, 65536):
                seen += chunk
        except OSError:  # The other end is closed.
            pass
        self.assertEqual(process.wait(60), 0)
        text = seen.decode()
        self.assertGreaterEqual(text.count("cpu_util_simple"), 3)
        self.assertRegex(text, r"\x1b\[\d+A", "drawn in place")
        self.assertTrue(text.startswith("\x1b[?25l"))
        self.assertTrue(text.endswith("\x1b[?25h"), "the cursor is back")
        self.assertRegex(text, "[▁▂▃▄▅▆▇█]")


# --- Prometheus ----------------------------------------------------------------------------------------------------

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)')
NOT_BASE = re.compile(
    r"_(pct|percent|ms|milliseconds|us|ns|minutes|hours|kb|mb|gb|kilobytes|megabytes|mhz|mj|w|j|s|c|bits)(_|$)"
)


def exposition_errors(text):
    """Checks what promtool's parser and linter check: format, HELP and TYPE, order, names, base units, counters,
    labels.
    """
    errors, helped, types, series, current, finished = [], set(), {}, set(), None, set()
    if not text.endswith("\n"):
        errors.append("no line end at the end")
    for number, line in enumerate(text.splitlines(), 1):

        def wrong(what):
            errors.append(f"line {number}: {what}: {line!r}")

        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            if not NAME.fullmatch(name) or not rest.strip():
                wrong("a comment without name or text")
            if name != current:
                finished.add(current)
                current = name
                if name in finished:
                    wrong("a metric in two places")
            if word == "HELP":
                if name in helped:
                    wrong("a second HELP")
                helped.add(name)
            elif word == "TYPE":
                if name in types or rest not in ("counter", "gauge"):
                    wrong("a second or unknown TYPE")
                types[name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        if not match:
            wrong("no sample")
            continue
        name, labels, value = match.groups()
        if name != current or name not in types or name not in helped:
            wrong("a sample without HELP and TYPE before it")
        if (types.get(name) == "counter") != name.endswith("_total"):
            wrong("_total is for counters, and for all of them")
        if (
            NOT_BASE.search(name)
            or name != name.lower()
            or ":" in name
            or re.search("_(count|sum|bucket|info_total)$", name)
        ):
            wrong("a name with a unit that is not a base unit, or reserved")
        if not name.startswith("headroom_"):
            wrong("a name without our prefix")
        at, seen = 0, set()
        while labels and at < len(labels):
            label = LABEL.match(labels, at)
            if not label or label[1] in seen or label[1].startswith("__"):
                wrong("labels")
                break
            seen.add(label[1])
            at = label.end()
        if (name, labels) in series:
            wrong("the same series twice")
        series.add((name, labels))
        number_of = float(value)
        if types.get(name) == "counter" and not number_of >= 0:
            wrong("a counter below 0")
        if name.endswith("_ratio") and name not in RATIOS_ABOVE_ONE and not 0 <= number_of <= 1.0001:
            wrong("a ratio beyond 0 to 1")
    return errors


RATIOS_ABOVE_ONE = {"headroom_process_cpu_ratio", "headroom_process_runqueue_wait_ratio"}


class Prometheus(MonitorTest):
    def serve(self, *args, **kwargs):
        """Starts the monitor on a free port. Returns the port."""
        process = self.start("--interval", 0.2, "--prometheus", 0, *args, **kwargs)
        said = process.stderr.readline()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/metrics\n", said)
        self.assertTrue(match, said)
        self.process = process
        return int(match[1])

    def get(self, port, path="/metrics", host=None, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.addCleanup(connection.close)
        connection.putrequest(method, path, skip_host=True)
        for name in [host] if isinstance(host, str) else host if host is not None else [f"127.0.0.1:{port}"]:
            connection.putheader("Host", name)
        connection.endheaders()
        answer = connection.getresponse()
        return answer, answer.read().decode()

    def test_the_exposition_is_valid(self):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(FAKES)}
        port = self.serve("--pid", os.getpid(), env=environment)
        seen, ends = 0, time.monotonic() + 60
        while seen < 3 and time.monotonic() < ends:
            time.sleep(0.3)
            answer, text = self.get(port)
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.getheader("Content-Type").startswith("text/plain; version=0.0.4"))
            self.assertEqual(exposition_errors(text), [], text)
            seen += "headroom_cpu_util_simple_ratio{" in text  # Rates require two samples.
        self.assertIn("headroom_free_memory_bytes{", text)
        self.assertIn("headroom_network_sent_bytes_total{", text)
        self.assertIn("headroom_cpu_util_simple_ratio{", text)
        self.assertNotIn("NaN", text)
        if (FAKES / "libnvidia-ml.so.1").exists():
            self.assertIn(r'headroom_gpu_info{device="GPU 0",name="Fake \"0\"",uuid="GPU-0000-1111-2222"} 1', text)
            self.assertIn('headroom_gpu_sm_clock_hertz{scope="device",device="GPU 0"} 1980000000', text)
            self.assertIn("headroom_gpu_energy_joules_total{", text)
        promtool = shutil.which("promtool")
        if promtool:
            checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def test_the_checker_finds_what_is_wrong(self):
        good = '# HELP headroom_x_bytes Text\n# TYPE headroom_x_bytes gauge\nheadroom_x_bytes{a="b"} 1\n'
        self.assertEqual(exposition_errors(good), [])
        for old, new in (
            ("gauge", "counter"),
            ("_bytes", "_mb"),
            ('a="b"', 'a="b"b"'),
            ('a="b"', 'a="b",a="c"'),
            (" 1\n", " one\n"[:0]),
            ("# HELP headroom_x_bytes Text\n", ""),
            ("headroom", "other"),
            (good, good + good),
        ):
            with self.subTest(new):
                try:
                    self.assertNotEqual(exposition_errors(good.replace(old, new)), [])
                except ValueError:
                    pass

    def test_only_loopback_names_are_answered(self):
        port = self.serve()
        for host in (f"127.0.0.1:{port}", "127.0.0.1", f"localhost:{port}", "localhost"):
            self.assertEqual(self.get(port, host=host)[0].status, 200, host)
        for hosts in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1.evil.example",
            f"127.0.0.1:{port + 1}",
            "",
            [],
            [f"127.0.0.1:{port}", "evil.example"],
        ):
            answer, text = self.get(port, host=hosts)
            self.assertIn(answer.status, (400, 403), hosts)
            self.assertNotIn("headroom_", text)
        answer, text = self.get(port, "/")
        self.assertEqual(answer.status, 200)
        self.assertIn("/metrics", text)
        self.assertEqual(self.get(port, "/other")[0].status, 404)
        self.assertEqual(self.get(port, "/../etc/passwd")[0].status, 404)
        self.assertNotEqual(self.get(port, method="POST")[0].status, 200)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(60), 0)

    def test_another_address_requires_a_token(self):
        secret = "0123456789abcdef-+."
        token = self.write("token", secret + "\n")
        process = self.start("--interval", 0.2, "--prometheus", 0, "--bind", "0.0.0.0", "--token-file", token)
        said = process.stderr.readline()
        match = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/metrics\n", said)
        self.assertTrue(match, said)
        self.assertNotIn(secret, said)

        def ask(*headers, path="/metrics"):
            connection = http.client.HTTPConnection("127.0.0.1", int(match[1]), timeout=60)
            self.addCleanup(connection.close)
            connection.putrequest("GET", path)
            for value in headers:
                connection.putheader("Authorization", value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        for path in ("/metrics", "/"):
            for headers in (
                (),
                (secret,),
                (f"Bearer {secret[:-1]}",),
                (f"Bearer {secret}x",),
                (f"bearer  {secret}",),
                (f"Bearer {secret}", f"Bearer {secret}"),
            ):
                status, text = ask(*headers, path=path)
                self.assertEqual(status, 401, headers)
                self.assertNotIn("headroom_", text)
        self.assertEqual(ask(f"bearer {secret}")[0], 200)
        status, text = ask(f"Bearer {secret}")
        self.assertEqual((status, exposition_errors(text)), (200, []))

    def test_addresses_that_are_refused(self):
        empty, spaces = self.write("empty", "\n"), self.write("spaces", "sixteen letters and more\n")
        for words, said in (
            (("--bind", "127.0.0.1"), "--bind: requires --prometheus"),
            (("--prometheus", 0, "--bind", "0.0.0.0"), "--token-file is required"),
            (("--prometheus", 0, "--bind", "0.0.0.0", "--token-file", empty), "at least 16"),
            (("--prometheus", 0, "--bind", "0.0.0.0", "--token-file", spaces), "at least 16"),
            (("--prometheus", 0, "--bind", "192.0.2.1", "--token-file", self.write("t", "x" * 20)), "192.0.2.1"),
        ):
            self.assert_refused(support.headroom("monitor", "--count", 1, *words), 2, said)
        missing = support.headroom("monitor", "--count", 1, "--prometheus", 0, "--token-file", self.scratch / "no")
        self.assert_refused(missing, 3, "--token-file")

    def test_clients_that_drip_keep_nobody_waiting(self):
        """Opens more connections than the server has threads. Each sends a byte from time to time."""
        port = self.serve()
        drips = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(80)]
        for drip in drips:
            self.addCleanup(drip.close)
        end = time.monotonic() + 3
        answers = 0
        while time.monotonic() < end:
            for drip in drips:
                with contextlib.suppress(OSError):
                    drip.sendall(b"G")
            began = time.monotonic()
            self.assertEqual(self.get(port)[0].status, 200)
            self.assertLess(time.monotonic() - began, 30)
            answers += 1
        self.assertGreater(answers, 0)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(60), 0)

    def test_a_port_that_is_taken_is_told(self):
        port = self.serve()
        self.assert_refused(
            support.headroom("monitor", "--count", 1, "--prometheus", port), 2, str(port), "another port"
        )
