"""What the documents show as output is what the program prints."""
import re
import shlex

from integration import support

README = support.ROOT / "README.md"
SHOWN = re.compile(r"^What `headroom (.+)` prints, .*:\n\n```\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


class Readme(support.ProgramTest):
    def test_the_output_shown_is_the_programs(self):
        examples = SHOWN.findall(README.read_text())
        self.assertTrue(examples, "the README shows no output, or this test does not find it")
        for command, shown in examples:
            printed = support.headroom(*shlex.split(command), cwd=support.ROOT, environment={"LC_ALL": "C.UTF-8"}).text
            for piece in filter(None, (p.strip("\n") for p in re.split(r"^\[\.\.\.\]$", shown, flags=re.MULTILINE))):
                before, found, printed = printed.partition(piece)
                self.assertTrue(found, f"not in the rest of the output of {command}:\n{piece}\nwhich begins:\n{before[:2000]}")
