"""What is public is documented, and the stubs say what the engine has."""
import ast
import inspect
import pathlib
import unittest

import headroom
from headroom import _engine


class Interface(unittest.TestCase):
    def test_everything_public_has_a_docstring(self):
        for name in headroom.__all__:
            thing = getattr(headroom, name)
            self.assertTrue(thing.__doc__, name)
            if not inspect.isclass(thing) or issubclass(thing, Exception):
                continue
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or hasattr(value, "__get__")) and not hasattr(tuple, member):
                    self.assertTrue(inspect.getdoc(value), f"{name}.{member}")

    def test_the_stub_has_every_name_of_the_engine_and_no_other(self):
        stub = ast.parse((pathlib.Path(headroom.__file__).parent / "_engine.pyi").read_text())
        classes = {node.name: {f.name for f in node.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}
                   for node in stub.body if isinstance(node, ast.ClassDef)}
        here = {name: value for name, value in vars(_engine).items() if inspect.isclass(value)}
        self.assertEqual(set(classes), set(here))
        for name, cls in here.items():
            public = {member for member in vars(cls) if not member.startswith("_")}
            self.assertEqual(classes[name], public, name)

    def test_marked_as_typed(self):
        self.assertTrue((pathlib.Path(headroom.__file__).parent / "py.typed").exists())
        self.assertRegex(headroom.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
