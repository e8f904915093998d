"""Tests `headroom ui` on a file that is written again."""
import json
import os
import shutil
import signal
import time

import jsonschema

from integration import support
from integration.page_server import LOCAL, Server

FIRST = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
SECOND = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"
PATIENCE_S = 60


class Reload(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.trace = self.scratch / "trace.json.gz"
        shutil.copy(FIRST, self.trace)
        self.server = Server(self.trace)
        self.addCleanup(self.server.stop)

    def replace_by(self, source):
        new = self.scratch / "new"
        shutil.copy(source, new)
        os.replace(new, self.trace)

    def state(self):
        status, state = self.server.ask("state")
        self.assertEqual(status, 200)
        jsonschema.validate(state, json.loads((support.ROOT / "docs/schema/state-1.json").read_text()))
        return state

    def wait_until(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds(self.state()):
            self.assertLess(time.monotonic(), end, self.state())
            time.sleep(0.1)

    def told(self):
        return support.headroom("report", self.trace, "--json", LOCAL).json()

    def test_a_new_file_is_shown_and_a_broken_one_is_not(self):
        self.assertEqual(
            self.state(), {"schema": "headroom.state/1", "generation": 0, "problem": None, "can_run": False}
        )
        first = self.server.ask("predict", gpu="A100-80")
        self.replace_by(SECOND)
        self.wait_until(lambda state: state["generation"] == 1)
        self.assertEqual(self.server.ask("report"), (200, self.told()))
        # Answers for the previous file are not repeated.
        status, predicted = self.server.ask("predict", gpu="A100-80")
        self.assertEqual(status, 200)
        self.assertNotEqual(predicted, first[1])
        self.assertEqual(predicted, support.headroom("predict", self.trace, "--gpu", "A100-80", "--json", LOCAL).json())

        shown = self.told()
        self.trace.write_bytes(b"no trace")
        self.wait_until(lambda state: state["problem"] is not None)
        self.assertEqual(self.state()["generation"], 1)
        self.assertIn(str(self.trace), self.state()["problem"])
        self.assertEqual(self.server.ask("report"), (200, shown))

        self.replace_by(FIRST)
        self.wait_until(lambda state: state["generation"] == 2)
        self.assertIsNone(self.state()["problem"])
        self.assertEqual(self.server.ask("report"), (200, self.told()))

    def test_a_question_about_what_the_file_was_before_is_not_answered(self):
        shown = self.told()
        self.assertEqual(self.server.ask_of('"0"', "report"), (200, shown, '"0"'))
        self.replace_by(SECOND)
        self.wait_until(lambda state: state["generation"] == 1)
        status, answer, tag = self.server.ask_of('"0"', "report")
        self.assertEqual((status, tag), (412, '"1"'))
        self.assertIn("have changed", answer["error"])
        for tag in ('"1"', "*"):
            self.assertEqual(self.server.ask_of(tag, "report"), (200, self.told(), '"1"'))

    def test_a_pipe_in_its_place_is_not_waited_for(self):
        self.trace.unlink()
        os.mkfifo(self.trace)
        self.wait_until(lambda state: state["problem"] is not None)
        self.assertIn("is a pipe", self.state()["problem"])
        self.assertEqual(self.server.ask("report")[0], 200)
        self.server.process.send_signal(signal.SIGINT)
        self.assertEqual(self.server.process.wait(PATIENCE_S), 0)

    def test_a_file_that_is_taken_away_leaves_what_was_read(self):
        self.trace.unlink()
        self.wait_until(lambda state: state["problem"] is not None)
        self.assertEqual(self.server.ask("report")[0], 200)
