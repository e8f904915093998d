"""Sends requests to `headroom ui` as its page does."""
import http.client
import json
import signal
import subprocess
import urllib.parse

from integration import support

LOCAL = "--no-local-state"


class Server:
    """`headroom ui` on one trace."""

    def __init__(self, *traces):
        self.process = subprocess.Popen([support.BINARY, "ui", *traces, LOCAL, "-q"], stdout=subprocess.PIPE, text=True)
        self.link = urllib.parse.urlsplit(self.process.stdout.readline().strip())

    def ask(self, question, **parameters):
        """Returns status and answer. Underscores in names become hyphens."""
        status, body = self.get(question, **parameters)
        return status, json.loads(body)

    def ask_bytes(self, question, **parameters):
        """Returns an answer that is not JSON."""
        status, body = self.get(question, **parameters)
        assert status == 200, body
        return body

    def get(self, question, **parameters):
        query = urllib.parse.urlencode(
            [(name.replace("_", "-"), value) for name, value in parameters.items()], doseq=True
        )
        status, body, _ = self.request(f"{question}?{self.link.query}&{query}")
        return status, body

    def ask_of(self, tag, question):
        """Returns status, answer and tag of a request that is valid only for files with a given tag."""
        status, body, headers = self.request(f"{question}?{self.link.query}", {"If-Match": tag})
        return status, json.loads(body), headers["ETag"]

    def request(self, path, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", self.link.port, timeout=60)
        connection.request("GET", f"/api/v1/{path}", headers=headers)
        answer = connection.getresponse()
        status, body, headers = answer.status, answer.read(), answer.headers
        connection.close()
        return status, body, headers

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code
