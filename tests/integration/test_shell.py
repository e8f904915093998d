"""Tests `headroom completion` and `headroom man`: both follow the declared command line, and agree with its help."""
import os
import re
import shutil
import subprocess
import unittest

from integration import support

BASH = """source <("$HEADROOM" completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_headroom
printf '%s\\n' "${COMPREPLY[@]}"
"""


def commands():
    """Returns all commands, as lists of words."""

    def named(*words):
        return re.findall(
            r"^  ([a-z][a-z-]*) ", support.answer(*words, "--help").text.split("\nOptions:")[0], re.MULTILINE
        )

    for name in named():
        yield [name]
        yield from ([name, inner] for inner in named(name))


def flags_of(words):
    """Returns all flags that a command's help lists."""
    rows = re.findall(r"^  (-[^ ].*)", support.answer(*words, "--help").text, re.MULTILINE)
    return {flag for row in rows for flag in re.findall(r"(?:^|(?<=, ))--?[A-Za-z][\w-]*", row)}


# Typed text, and all values that are offered: those that the option's declaration lists.
VALUES = {
    "export t.json --to ": {"perfetto", "chrome", "csv", "folded", "openmetrics", "chakra"},
    "export t.json --folded ": {"host", "gpu"},
    "redact t.json --remove ": {"paths", "hosts", "users", "arguments", "names"},
    "record --level ": {"metrics", "events", "gpu", "full"},
    "calibrate --backend ": {"gloo", "nccl"},
    "predict t.json --to H10": {"H100", "H100-PCIe", "H100-NVL"},
    "predict t.json --gpu H20": {"H200", "H200-NVL"},
    "scale t.json --schedule zero": {"zero-1", "zero-2", "zero-3"},
    "scale t.json --with fused-o": {"fused-optimizer"},
    "diff a b --gate step": {"step_ms"},
    "diff a b --accept math": {"math_dtype"},
}


class Bash(support.ProgramTest):
    def complete(self, *words, cwd=None):
        done = subprocess.run(
            ["bash", "-u", "-c", BASH, "bash", "headroom", *words],
            cwd=cwd or self.scratch,
            capture_output=True,
            text=True,
            timeout=30,
            env={"HEADROOM": str(support.BINARY), "PATH": "/usr/bin:/bin"},
        )
        # bash reports that compopt has no meaning outside a completion.
        self.assertEqual([line for line in done.stderr.splitlines() if "compopt" not in line], [])
        return [word for word in done.stdout.splitlines() if word]

    def test_commands(self):
        self.assertEqual(set(self.complete("")), {words[0] for words in commands()})
        self.assertEqual(self.complete("repo"), ["report"])
        self.assertIn("bench", self.complete("data", ""))

    def test_all_flags_of_each_command(self):
        for words in commands():
            with self.subTest(command=words):
                self.assertEqual(set(self.complete(*words, "-")), flags_of(words))

    def test_words_of_a_value(self):
        self.assertEqual(self.complete("report", "t.json", "--color", ""), ["auto", "always", "never"])
        self.assertEqual(self.complete("report", "--color", "=", "al"), ["always"])
        self.assertIn("A100-80", self.complete("predict", "--gpu", "A1"))
        self.assertIn("L4,H200", self.complete("predict", "--gpu", "L4,H2"))
        self.assertEqual(self.complete("whatif", "t.json", "cuda"), ["cuda-graph"])
        self.assertEqual(self.complete("completion", "f"), ["fish"])
        self.assertEqual(self.complete("report", "--steps", ""), [])
        for typed, offered in VALUES.items():
            with self.subTest(typed):
                self.assertEqual(set(self.complete(*typed.split(" "))), offered)
        self.assertEqual(self.complete("diff", "--gate", "'step"), ["step_ms"])  # Rules are quoted, because they
        # contain a <.

    def test_files(self):
        self.write("two words.json", "{}")
        self.write("trace.json", "{}")
        self.assertEqual(set(self.complete("report", "t")), {"two words.json", "trace.json"})
        self.assertEqual(set(self.complete("report", "--csv", "tw")), {"two words.json"})
        self.assertEqual(self.complete("diff", "tr"), ["trace.json"])
        self.write("cluster.toml", "")
        self.assertLess({"cluster.toml"}, set(self.complete("scale", "--cluster", "")))  # A file, or a known name.
        self.assertEqual(self.complete("predict", "--to", "tra"), [])
        self.assertEqual(self.complete("record", "--", "t"), [])  # Another program's words are not completed.


class OtherShells(support.ProgramTest):
    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish(self):
        script = self.scratch / "headroom.fish"
        script.write_text(support.answer("completion", "fish").text)

        def complete(line):
            done = subprocess.run(
                ["fish", "--no-config", "-c", f"source {script}; complete -C {line!r}"],
                cwd=self.scratch,
                capture_output=True,
                text=True,
                timeout=30,
            )
            self.assertEqual(done.stderr, "")
            return [row.split("\t")[0] for row in done.stdout.splitlines()]

        self.assertEqual(complete("headroom repo"), ["report"])
        self.assertEqual(set(complete("headroom report --color ")), {"auto", "always", "never"})
        for typed, offered in VALUES.items():
            with self.subTest(typed):
                self.assertEqual(set(complete("headroom " + typed)), offered)
        for words in commands():
            with self.subTest(command=words):
                offered = set(complete(f"headroom {' '.join(words)} -")) | set(
                    complete(f"headroom {' '.join(words)} --")
                )
                self.assertLessEqual({flag for flag in flags_of(words) if flag.startswith("--")}, offered)

    def zsh(self, line):
        """Returns the final form of a line that contains tabs."""
        script = self.scratch / "_headroom"
        script.write_text(support.answer("completion", "zsh").text)
        # Uses a separate terminal, because completion cannot run without one. Ctrl-G shows the line. The terminal's
        # echo is not the line.
        typed = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; stty columns 200; autoload -U compinit && compinit -u -D; source %s; '\
'bindkey "^I" complete-word; zstyle ":completion:*" list-colors ""; '\
'show() { print -r -- "li""ne<$BUFFER>" }; zle -N show; bindkey "^G" show; print rea""dy'
zpty -m -r shell out '*ready*'
zpty -n -w shell $'%s\a'
repeat 300; do zpty -r -t shell out; text+=$out; [[ $text == *line'<'*'>'* ]] && break; sleep 0.1; done
print -r -- $text
""" % (
            script,
            line.replace("\t", "\\t"),
        )
        self.assertEqual(subprocess.run(["zsh", "-n", script], capture_output=True, text=True, timeout=30).stderr, "")
        done = subprocess.run(
            ["zsh", "-f", "-c", typed], capture_output=True, text=True, timeout=60, env={**os.environ, "TERM": "xterm"}
        )
        shown = re.search(r"line<(.*)>", done.stdout)
        self.assertIsNotNone(shown, done)
        return shown[1].rstrip(", ")  # zsh adds this after a word, because another word may follow.

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh(self):
        self.assertEqual(self.zsh("headroom repo\t --colo\talw\t"), "headroom report --color always")
        for typed, whole in (
            ("export t.json --to perf\t", "export t.json --to perfetto"),
            ("redact t.json --remove use\t", "redact t.json --remove users"),
            ("diff a b --gate samples\t", "diff a b --gate samples_per_s"),
            ("diff a b --accept math\t", "diff a b --accept math_dtype"),
            ("predict t.json --to H10\t", "predict t.json --to H100"),
            ("scale t.json --schedule loc\t", "scale t.json --schedule local-sgd"),
        ):
            with self.subTest(typed):
                self.assertEqual(self.zsh("headroom " + typed), f"headroom {whole}")

    def test_every_flag_is_in_every_script(self):
        for shell in ("zsh", "fish"):
            script = support.answer("completion", shell).text
            for words in commands():
                for flag in flags_of(words):
                    bare = (
                        f" -{'l' if flag.startswith('--') else 's'} {flag.lstrip('-')} "
                        if shell == "fish"
                        else f"{flag}["
                    )
                    self.assertIn(bare, script, (shell, words))

    def test_an_unknown_shell(self):
        self.assert_refused(support.headroom("completion", "tcsh"), 2, "tcsh", "bash, zsh, fish")
        self.assert_refused(support.headroom("completion"), 2, "SHELL")


class Manual(support.ProgramTest):
    def typeset(self, page):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-P-cbou"], input=page, capture_output=True, text=True, timeout=30
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_a_page_has_what_the_help_has(self):
        for words in ([], *commands()):
            with self.subTest(command=words):
                text = self.typeset(support.answer("man", *words).text)
                self.assertIn("-".join(["headroom", *words]).upper() + "(1)", text.splitlines()[0].replace("‐", "-"))
                for flag in flags_of(words):
                    self.assertRegex(text, rf"(?m)(^ +|, ){re.escape(flag)}\b")
                help_text = support.answer(*words, "--help").text
                if "Examples:\n" in help_text:
                    for line in help_text.split("Examples:\n")[1].splitlines():
                        self.assertIn(line.strip(), text)

    def test_all_pages_into_a_folder(self):
        folder = self.scratch / "man1"
        outcome = support.headroom("man", "--all", folder)
        self.assertEqual(outcome.code, 0, outcome)
        names = {"headroom.1"} | {"-".join(["headroom", *words]) + ".1" for words in commands()}
        self.assertEqual({file.name for file in folder.iterdir()}, names)
        self.assertEqual((folder / "headroom-report.1").read_text(), support.answer("man", "report").text)

    def test_no_such_page(self):
        self.assert_refused(support.headroom("man", "raport"), 2, "raport", "headroom --help")
        self.assert_refused(support.headroom("man", "report", "--all", self.scratch), 2, "--all")
