"""Tests that the outputs in the documents are the program's outputs."""
import re
import runpy
import shlex

from integration import support

README = support.ROOT / "README.md"
# A file named by its path, such as src/base/time.h: in the checkout, in ui/ or in python/.
NAMED = re.compile(
    r"(?<![\w/.>-])(?:bench|cmake|data|docs|examples|include|packaging|python|src|tests|tools|ui)/[a-z0-9_./-]+"
    r"\.(?:cc|css|h|hpp|md|py|toml|ts|tsx)\b"
)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)[)#]")
SHOWN = re.compile(r"^What `headroom ([^`\n]+)` prints, [^\n]*:\n\n```\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


TUTORIAL = support.ROOT / "docs/tutorial.md"


class Readme(support.ProgramTest):
    def test_the_output_shown_is_the_programs(self):
        for document in (README, TUTORIAL):
            examples = SHOWN.findall(document.read_text())
            self.assertTrue(examples, f"{document} shows no output, or this test does not find it")
            for command, shown in examples:
                with self.subTest(command):
                    self.assert_prints(command, shown)

    def assert_prints(self, command, shown):
        printed = support.headroom(*shlex.split(command), cwd=support.ROOT, environment={"LC_ALL": "C.UTF-8"}).text
        for piece in filter(None, (p.strip("\n") for p in re.split(r"^\[\.\.\.\]$", shown, flags=re.MULTILINE))):
            before, found, printed = printed.partition(piece)
            self.assertTrue(
                found, f"not in the rest of the output of {command}:\n{piece}\nwhich begins:\n{before[:2000]}"
            )

    def test_it_is_a_front_page(self):
        lines = README.read_text().splitlines()
        self.assertLessEqual(len(lines), 120)
        self.assertEqual(len(re.findall(r"^!\[", README.read_text(), re.MULTILINE)), 1, "one picture")

    def test_the_path_is_set_before_the_first_bare_command(self):
        text = README.read_text()
        at = text.find('export PATH="$PWD/build/release:$PATH"')
        self.assertNotEqual(at, -1)
        commands = [m.start() for m in re.finditer(r"^ +headroom ", text, re.MULTILINE)]
        self.assertTrue(commands)
        self.assertLess(at, min(commands))
        self.assertIn('export PATH="$PWD/build/release:', (support.ROOT / "tools/demo").read_text())

    def test_the_recipe_records_once(self):
        """Without `repeat=1` the next cycle overwrites the good trace with its partial data when the job ends."""
        recipes = 0
        for path in (
            README,
            *(support.ROOT / "docs").glob("*.md"),
            *(support.ROOT / "src").rglob("*.cc"),
            *(support.ROOT / "src").rglob("*.h"),
        ):
            for call in re.findall(r"schedule\(wait[^)]*\)", path.read_text()):
                recipes += 1
                self.assertIn("repeat=1", call, path)
        self.assertTrue(recipes)


class Commands(support.ProgramTest):
    """Tests every command of the documents. Runs it if its files exist, else checks its flags."""

    def commands(self, document):
        text = document.read_text().replace("\\\n", " ")
        for line in re.findall(r"^ *(?:\$ )?(headroom [a-z][^\n]*)$", text, re.MULTILINE):
            command, _, comment = line.partition("  #")
            yield re.split(r" #|  +| \| | > ", command)[0].strip(), comment

    def test_the_tutorial_runs(self):
        ran = 0
        for command, comment in self.commands(TUTORIAL):
            code = int(found[1]) if (found := re.search(r"exit code (\d)", comment)) else 0
            with self.subTest(command):
                words = shlex.split(command)[1:]
                if words[0] in ("ui", "monitor", "record"):
                    continue
                outcome = support.headroom(*words, cwd=support.ROOT, environment={"XDG_STATE_HOME": str(self.scratch)})
                self.assertEqual(outcome.code, code, outcome)
                ran += 1
        self.assertGreaterEqual(ran, 4)

    def test_every_flag_is_known(self):
        checked = 0
        helps = {}
        for document in (README, *(support.ROOT / "docs").glob("*.md")):
            for command, _ in self.commands(document):
                words = command.split()[1:]
                if not re.fullmatch(r"[a-z]+", words[0]):
                    continue
                name = words[0]
                if name not in helps:
                    helps[name] = support.headroom("man", name).text + support.headroom(name, "--help").text
                    for inner in re.findall(r"^  (bench|save|list|show|remove|update)  ", helps[name], re.MULTILINE):
                        helps[name] += support.headroom(name, inner, "--help").text
                own = words[: words.index("--")] if "--" in words else words
                for flag in (word.partition("=")[0].strip("[]().,;`") for word in own if word.startswith("--")):
                    checked += 1
                    with self.subTest(f"{document.name}: {command}"):
                        self.assertIn(flag, helps[name])
        self.assertGreater(checked, 100)


class Scenarios(support.ProgramTest):
    def test_every_scenario_has_its_row(self):
        listed = re.findall(r"^  ([a-z0-9-]+)  ", support.headroom("whatif", "--list").text, re.MULTILINE)
        self.assertGreater(len(listed), 10)
        rows = "".join(
            line.split("|")[1]
            for line in (support.ROOT / "docs/scenarios.md").read_text().splitlines()
            if line.startswith("|")
        )
        self.assertEqual(sorted(set(re.findall(r"`([a-z0-9-]+)`", rows))), sorted(listed))


class Index(support.ProgramTest):
    def documents(self):
        return sorted(path.name for path in (support.ROOT / "docs").glob("*.md") if path.name != "README.md")

    def test_the_reference_is_the_programs(self):
        tool = runpy.run_path(str(support.ROOT / "tools/command_reference"))
        self.assertEqual(
            (support.ROOT / "docs/commands.md").read_text(),
            tool["reference"](support.BINARY),
            "run tools/command_reference",
        )

    def test_every_document_is_in_the_index_once_and_on_the_site(self):
        index = (support.ROOT / "docs/README.md").read_text().split("## By kind")[1]
        site = (support.ROOT / "packaging/site/mkdocs.yml").read_text()
        for name in self.documents():
            with self.subTest(name):
                self.assertEqual(index.count(f"]({name})"), 1)
                self.assertEqual(len(re.findall(rf": {re.escape(name)}$", site, re.MULTILINE)), 1)

    def test_every_page_of_accuracy_is_linked_and_on_the_site(self):
        site = (support.ROOT / "packaging/site/mkdocs.yml").read_text()
        documents = [path for path in (support.ROOT / "docs").rglob("*.md") if path.parent.name != "decisions"]
        links = {path.parent / target for path in documents for target in LINK.findall(path.read_text())}
        for path in (support.ROOT / "docs/accuracy").glob("*.md"):
            with self.subTest(path.name):
                self.assertIn(path, links)
                self.assertIn(f": accuracy/{path.name}\n", site)


class Files(support.ProgramTest):
    def test_files_that_texts_name_are_there(self):
        """Tests the documents, and the sources, in which only comments and messages have paths."""
        gone, names = [], 0
        for path in (
            README,
            *(support.ROOT / "docs").rglob("*.md"),
            *(support.ROOT / "include").rglob("*.h*"),
            *(support.ROOT / "python").rglob("*.py"),
            *(support.ROOT / "python").rglob("*.pyi"),
            *(support.ROOT / "src").rglob("*.cc"),
            *(support.ROOT / "src").rglob("*.h"),
        ):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for name in NAMED.findall(line):
                    names += 1
                    if not any((support.ROOT / folder / name).is_file() for folder in (".", "ui", "python")):
                        gone.append(f"{path.relative_to(support.ROOT)}:{number}: {name}")
        self.assertGreater(names, 100)
        self.assertEqual(gone, [])

    def test_links_between_documents_lead_to_files(self):
        broken, links = [], 0
        for path in (README, *(support.ROOT / "docs").rglob("*.md")):
            for target in LINK.findall(path.read_text()):
                links += 1
                if not (path.parent / target).exists():
                    broken.append(f"{path.relative_to(support.ROOT)}: {target}")
        self.assertGreater(links, 100)
        self.assertEqual(broken, [])
