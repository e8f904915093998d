"""Tests that public names are documented, and that the stubs match the engine."""
import ast
import ctypes
import enum
import inspect
import pathlib
import re
import unittest

import headroom
from headroom import _engine, _timer


def type_of_c(declaration):
    """Returns the type of ctypes for a parameter or a member of engine.h."""
    kind = re.sub(r"\bconst\b|\s", " ", declaration).strip()
    if "headroom_object" in kind:
        return ctypes.POINTER(ctypes.c_void_p) if "**" in kind else ctypes.c_void_p
    if "char" in kind:
        return ctypes.POINTER(ctypes.c_char_p) if kind.count("*") == 2 else ctypes.c_char_p
    structure = re.match(r"headroom_(\w+)", kind)
    if structure:
        value = getattr(_engine, f"_{structure.group(1).capitalize()}")
    elif kind.startswith("void") or kind.startswith(("uint32_t *", "uint32_t*", "uint8_t *", "uint8_t*")):
        return ctypes.c_void_p  # Memory of numpy.
    else:
        value = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "double": ctypes.c_double}[
            kind.split()[0].rstrip("*")
        ]
    return ctypes.POINTER(value) if "*" in kind or "[" in kind else value


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

    def test_functions_of_c_and_of_python_agree(self):
        header = (pathlib.Path(__file__).parents[2] / "python/src/engine.h").read_text()
        declared = {}
        for name, arguments in re.findall(r"^int headroom_(\w+)\(([^;]*)\);", header, re.MULTILINE):
            declared[name] = [type_of_c(argument) for argument in arguments.split(",")]
        self.assertEqual(declared, {name: list(types) for name, types in _engine._FUNCTIONS.items()})

    def test_structures_of_c_and_of_python_agree(self):
        header = (pathlib.Path(__file__).parents[2] / "python/src/engine.h").read_text()
        found = re.findall(r"typedef struct \{(.*?)\} headroom_(\w+);", re.sub(r"/\*.*?\*/", "", header), re.DOTALL)
        self.assertEqual({name for _, name in found}, {"array", "texts", "options", "criteria"})
        for body, structure in found:
            fields = []
            for declaration in filter(str.strip, body.split(";")):
                declaration = re.sub(r"\*\s*", "* ", declaration)  # "const char *a, *b": a star each.
                kind, names = re.match(r"\s*((?:const )?\w+ ?\*?)\s*(.*)", declaration, re.DOTALL).groups()
                for name in names.replace("*", "").split(","):
                    fields.append((name.strip(), type_of_c(f"{kind} {name}")))
            self.assertEqual(fields, list(getattr(_engine, f"_{structure.capitalize()}")._fields_), structure)

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
