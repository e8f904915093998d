"""Tests that public names are documented, and that the stubs match the engine."""
import ast
import enum
import inspect
import pathlib
import unittest

import headroom
from headroom import _engine, _timer


class Interface(unittest.TestCase):
    def test_everything_public_has_a_docstring(self):
        for name in headroom.__all__:
            thing = getattr(headroom, name)
            self.assertTrue(thing.__doc__, name)
            if not inspect.isclass(thing) or issubclass(thing, Exception):
                continue
            for member, value in vars(thing).items():
                if (
                    not member.startswith("_")
                    and (callable(value) or hasattr(value, "__get__"))
                    and not hasattr(tuple, member)
                ):
                    self.assertTrue(inspect.getdoc(value), f"{name}.{member}")

    def test_the_stub_has_every_name_of_the_engine_and_no_other(self):
        stub = ast.parse((pathlib.Path(headroom.__file__).parent / "_engine.pyi").read_text())
        classes = {
            node.name: {f.name for f in node.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}
            for node in stub.body
            if isinstance(node, ast.ClassDef)
        }
        here = {name: value for name, value in vars(_engine).items() if inspect.isclass(value)}
        self.assertEqual(set(classes), set(here))
        for name, cls in here.items():
            public = {member for member in vars(cls) if not member.startswith("_")}
            self.assertEqual(classes[name], public, name)

    def test_the_stub_has_every_name_of_the_timer_and_no_other(self):
        stub = ast.parse((pathlib.Path(headroom.__file__).parent / "_timer.pyi").read_text())
        functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(functions, {name for name, value in vars(_timer).items() if inspect.isbuiltin(value)})
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
        self.assertEqual(
            set(classes), {name for name, value in vars(_timer).items() if inspect.isclass(value)} - {"scope"}
        )
        for name in ("Stats", "Drops"):
            targets = [node.target for node in classes[name].body if isinstance(node, ast.AnnAssign)]
            fields = [target.id for target in targets if isinstance(target, ast.Name)]
            self.assertEqual(fields, list(getattr(_timer, name).__match_args__))
        members = {node.name for node in classes["Scope"].body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(
            {name for name in members if not name.startswith("_")},
            {name for name in vars(_timer.Scope) if not name.startswith("_")},
        )
        for function in functions:
            self.assertTrue(getattr(_timer, function).__doc__, function)
            inspect.signature(getattr(_timer, function))

    def test_the_modules_for_measuring_are_documented(self):
        import headroom.callbacks
        import headroom.timer

        modules = [headroom.callbacks, headroom.timer]
        try:
            import headroom.torch

            modules.append(headroom.torch)
        except ImportError:
            pass  # Without PyTorch.
        for module in modules:
            for name in module.__all__:
                thing = getattr(module, name)
                self.assertTrue(thing.__doc__, f"{module.__name__}.{name}")
                for member, value in (
                    vars(thing).items() if inspect.isclass(thing) and not issubclass(thing, (tuple, enum.Enum)) else ()
                ):
                    if (
                        not member.startswith("_")
                        and (callable(value) or isinstance(value, property))
                        and not member.startswith("on_")
                    ):
                        self.assertTrue(inspect.getdoc(value), f"{module.__name__}.{name}.{member}")

    def test_marked_as_typed(self):
        self.assertTrue((pathlib.Path(headroom.__file__).parent / "py.typed").exists())
        self.assertRegex(headroom.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
