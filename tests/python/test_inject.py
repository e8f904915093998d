"""Tests `headroom record -- python train.py` with programs that do not use Headroom. Requires PyTorch."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import headroom
from recorder import record_python
from test_torch import MODEL, PHASES, torch

INJECT = pathlib.Path(headroom.__file__).parent / "_inject"
SETUP = MODEL.replace("    from headroom.torch import attach, profile_loop\n", "")
UPDATE = "Optimizer.step#SGD.step"


def recorded(body, *arguments, **options):
    processes, _ = record_python(SETUP + body, *arguments, injected=True, **options)
    return processes


@unittest.skipIf(torch is None, "no PyTorch")
class Loops(unittest.TestCase):
    def check(self, process, steps, inside):
        """Requires `count` steps, each with those regions, and no step with an evaluation inside."""
        found = process.steps()
        self.assertEqual(len(found), steps, process.tree())
        names = {name for name in inside.split()}
        for step in found:
            self.assertEqual(" ".join(r.name for r in process.inside(step) if r.name in names), inside)
            self.assertEqual(process.inside(step, "evaluate"), [])
        self.assertTrue(all(region.end is not None for region in process.regions()))
        self.assertEqual([step.number for step in found], list(range(found[0].number, found[0].number + steps)))

    def test_a_plain_loop(self):
        (process,) = recorded(
            """
    for epoch in range(2):
        for batch in loader:
            train(batch)
        """
        )
        self.check(process, 6, " ".join(PHASES[1:]))
        # Steps are contiguous: a loop's time between its update and the next fetch belongs to the next step.
        steps = process.steps()
        between = [b.start - a.end for a, b in zip(steps, steps[1:]) if b.start - a.end < (a.end - a.start) / 2]
        self.assertGreaterEqual(len(between), 4)

    def test_gradient_accumulation_is_one_step(self):
        (process,) = recorded(
            """
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    for i, (x, y) in enumerate(loader):
        loss_function(model(x), y).backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
        """
        )
        self.check(process, 3, f"dataloader_next FORWARD loss BACKWARD dataloader_next FORWARD loss BACKWARD {UPDATE}")

    def test_evaluations_are_no_steps(self):
        cases = {
            "after each epoch": """
    for epoch in range(3):
        model.train()
        for batch in loader:
            train(batch)
        model.eval()
        with torch.no_grad():
            for x, y in loader:
                loss_function(model(x), y)
            """,
            "in the middle of an epoch, and not to its end": """
    evaluation = torch.utils.data.DataLoader(data, batch_size=2)
    for epoch in range(3):
        for batch in loader:
            train(batch)
            with torch.no_grad():
                for i, (x, y) in enumerate(evaluation):
                    model(x)
                    if i == 3:
                        break
            """,
            "of one batch, first of all": """
    evaluation = torch.utils.data.DataLoader(data, batch_size=12)
    for epoch in range(3):
        with torch.no_grad():
            for x, y in evaluation:
                model(x)
        for batch in loader:
            train(batch)
            """,
            "with gradients, by mistake": """
    for epoch in range(3):
        for batch in loader:
            train(batch)
        for x, y in loader:
            model(x)
            """,
        }
        for name, body in cases.items():
            with self.subTest(name):
                (process,) = recorded(body)
                self.check(process, 9, f"dataloader_next {PHASES[2]} FORWARD loss BACKWARD {UPDATE}")

    def test_a_teacher_without_gradients_belongs_to_the_step(self):
        (process,) = recorded(
            """
    for batch in loader:
        with torch.no_grad():
            model(batch[0])
        train(batch)
        """
        )
        steps = process.steps()
        self.assertEqual(len(steps), 3)
        for step in steps:
            self.assertEqual(
                [r.name for r in process.inside(step) if r.name in ("dataloader_next", "evaluate", "FORWARD", UPDATE)],
                ["dataloader_next", "evaluate", "FORWARD", "FORWARD", UPDATE],
            )

    def test_two_optimizers_that_take_turns_make_one_step(self):
        (process,) = recorded(
            """
    second = torch.optim.Adam(model.parameters())
    for batch in loader:
        train(batch)
        loss_function(model(batch[0]), batch[1]).backward()
        second.step()
        """
        )
        self.assertEqual(len(process.regions("Optimizer.step#Adam.step")), 3)
        self.assertEqual(len(process.steps()), 3)

    def test_a_second_training_with_another_optimizer(self):
        (process,) = recorded(
            """
    for batch in loader:
        train(batch)
    first, optimizer = optimizer, torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for batch in loader:
            train(batch)
        """
        )
        self.assertGreaterEqual(len(process.steps()), 11)  # 12, minus the step before the new optimizer leads.

    def test_loops_without_a_loader(self):
        (process,) = recorded(
            """
    for batch in list(loader) + [next(iter(loader))]:
        train(batch)
        """
        )
        steps = process.steps()
        self.assertEqual(len(steps), 4)
        self.assertEqual([len(process.inside(step, UPDATE)) for step in steps], [1] * 4)

    def test_closures_and_schedulers(self):
        (process,) = recorded(
            """
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
    schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 1), torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)]
    for x, y in loader:
        def closure():
            optimizer.zero_grad()
            loss = loss_function(model(x), y)
            loss.backward()
            return loss
        loss = optimizer.step(closure)
        schedulers[0].step()
        schedulers[1].step(loss.item())
        """
        )
        self.assertEqual(len(process.steps()), 3)
        update = process.regions("Optimizer.step#LBFGS.step")[0]
        self.assertTrue(process.inside(update, "BACKWARD"))
        self.assertEqual(len(process.regions("step_lr_schedulers")), 1 + 6)

    def test_an_exception_leaves_no_region_open(self):
        (process,) = recorded(
            """
    for batch in loader:
        try:
            model(torch.zeros(1, 7))
        except RuntimeError:
            pass
        train(batch)
        """
        )
        self.check(process, 3, f"dataloader_next FORWARD {PHASES[2]} FORWARD loss BACKWARD {UPDATE}")

    def test_workers_of_a_loader(self):
        processes = recorded(
            """
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
    for batch in loader:
        train(batch)
        """
        )
        main = next(process for process in processes if process.regions(UPDATE))
        self.check(main, 3, " ".join(PHASES[1:]))
        self.assertEqual(len(main.regions("dataloader_start")), 1)

    def test_a_fork_in_the_middle_of_a_step(self):
        processes = recorded(
            """
    import os
    for batch in loader:
        train(batch)
        pid = os.fork()
        if pid == 0:
            raise SystemExit
        os.waitpid(pid, 0)
        """
        )
        self.assertEqual([len(process.steps()) for process in processes], [3])

    def test_models_that_torchscript_compiles(self):
        (process,) = recorded(
            """
    scripted, traced = torch.jit.script(model), torch.jit.trace(model, torch.zeros(2, 4))
    for make in (scripted, traced):
        assert torch.equal(make(torch.ones(2, 4)), model(torch.ones(2, 4)))
    for model in (scripted, traced):
        for batch in loader:
            train(batch)
        """
        )
        self.assertEqual([len(process.inside(step, "FORWARD")) for step in process.steps()][-5:], [1] * 5)

    def test_collectives(self):
        (process,) = recorded(
            """
    import os, torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("TEST_PORT", "29511"))
    store = dist.HashStore() if hasattr(dist, "HashStore") else None
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    dist.all_reduce(torch.zeros(3))
    dist.barrier()
        """
        )
        self.assertEqual(process.names_of_regions().count("COMM"), 2)


@unittest.skipIf(torch is None, "no PyTorch")
class Beside(unittest.TestCase):
    def test_the_programs_own_regions_are_not_doubled(self):
        (process,) = recorded(
            """
    import sys
    sys.path.insert(0, sys.argv[1])
    import headroom
    for batch in loader:
        with headroom.step():
            with headroom.scope("FORWARD"):
                prediction = model(batch[0])
            with headroom.scope("BACKWARD"):
                loss_function(prediction, batch[1]).backward()
            optimizer.step()
        """,
            INJECT.parent.parent,
        )
        for name, count in (("STEP", 3), ("FORWARD", 3), ("BACKWARD", 3)):
            self.assertEqual(
                len([s for s in (process.steps() if name == "STEP" else process.regions(name))]), count, name
            )

    def test_profile_loop_numbers_its_own_steps(self):
        (process,) = recorded(
            """
    import sys
    sys.path.insert(0, sys.argv[1])
    import headroom.torch
    for epoch in range(2):
        for batch in headroom.torch.profile_loop(loader, model, optimizer):
            train(batch)
        """,
            INJECT.parent.parent,
        )
        self.assertEqual(len(process.steps()), 6)
        for name in PHASES[2:]:
            self.assertEqual(len(process.regions(name)), 6, name)
        for step in process.steps():
            self.assertEqual(len(process.inside(step, "dataloader_next")), 1)

    def test_work_next_to_the_steps_has_its_name(self):
        (process,) = recorded(
            """
    import io, pickle
    for batch in loader:
        train(batch)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file))
    str(torch.zeros(3)), repr(model.state_dict())
    assert pickle.loads(pickle.dumps(torch.save)) is torch.save
            """
        )
        names = [
            region.name for region in process.regions() if region.name in ("torch.save", "torch.load", "print tensor")
        ]
        self.assertEqual(names[:3], ["torch.save", "torch.load", "print tensor"])
        self.assertEqual(len(names), 3 + 4)  # The model has four parameters.
        for step in process.steps():
            self.assertEqual(process.inside(step, "torch.save"), [])

    def test_loggers_are_timed_whenever_they_are_imported(self):
        """Stands for W&B and MLflow, which Debian lacks: the places of the functions are theirs."""
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
            packages = {
                "wandb/__init__.py": "from . import sdk\n",
                "wandb/sdk/__init__.py": "from . import wandb_run\n",
                "wandb/sdk/wandb_run.py": "class Run:\n    def log(self, data):\n        return data\n",
                "mlflow/__init__.py": "from mlflow.tracking.fluent import log_metric\n",
                "mlflow/tracking/__init__.py": "",
                "mlflow/tracking/fluent.py": "def log_metric(key, value):\n    return value\n",
            }
            for name, text in packages.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            for first, second in (("wandb", "mlflow"), ("mlflow", "wandb")):
                processes, _ = record_python(
                    f"""
    import sys
    sys.path.append({folder!r})
    import {first}, torch
    import {second}
    assert wandb.sdk.wandb_run.Run().log({{"loss": 1}}) == {{"loss": 1}}
    assert mlflow.log_metric("loss", 2) == 2
                    """,
                    injected=True,
                )
                names = [region.name for process in processes for region in process.regions()]
                self.assertEqual(names, ["wandb.log", "mlflow.log_metric"])

    def test_a_logger_that_moved_its_functions_runs(self):
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
            pathlib.Path(folder, "wandb.py").write_text("version = 1\n")
            processes, _ = record_python(
                f"""
    import sys, torch
    sys.path.append({folder!r})
    import wandb
    assert wandb.version == 1
    torch.save(1, "/dev/null")
                """,
                injected=True,
            )
            self.assertEqual([r.name for p in processes for r in p.regions()], ["torch.save"])


class Start(unittest.TestCase):
    """Tests a Python program's state before its first line."""

    def run_python(self, code, path=(), environment=(), options=()):
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [INJECT, *path])), **dict(environment)}
        return subprocess.run(
            [sys.executable, "-B", *options, "-c", code], env=variables, capture_output=True, text=True, cwd=INJECT
        )  # No path of the package: the program's own folder is on its path.

    def test_the_sitecustomize_that_it_hides_runs(self):
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
            (pathlib.Path(folder) / "sitecustomize.py").write_text("import sys\nsys.chained = __name__, __file__\n")
            done = self.run_python(
                "import sys, sitecustomize; print(sys.chained, sitecustomize.__file__)", path=[folder]
            )
            file = str(pathlib.Path(folder) / "sitecustomize.py")
            self.assertEqual((done.stdout, done.stderr), (f"{('sitecustomize', file)} {file}\n", ""))
            # Errors of a failing sitecustomize are printed as usual, and the program runs.
            (pathlib.Path(folder) / "sitecustomize.py").write_text("raise ValueError('theirs')\n")
            done = self.run_python("print(1)", path=[folder])
            self.assertEqual((done.returncode, done.stdout), (0, "1\n"))
            self.assertIn("theirs", done.stderr)

    def test_without_a_recorder_it_does_nothing(self):
        code = (
            "import sys; print(len(sys.meta_path), 'headroom' in sys.modules, "
            "any('headroom' in p for p in sys.path[2:]))"
        )
        plain = subprocess.run(
            [sys.executable, "-B", "-c", code],
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            capture_output=True,
            text=True,
        )
        for environment in ({}, {"HEADROOM_SOCKET": ""}):
            done = self.run_python(code, environment=environment)
            self.assertEqual((done.stdout, done.stderr), (plain.stdout, ""))

    def test_the_package_is_there_where_the_program_has_none(self):
        code = (
            "import sys; before = list(sys.path); import headroom\n"
            "with headroom.scope('a'): pass\n"
            "print(headroom.__file__, headroom.stats('a').count, sys.path == before)"
        )
        switches: list[tuple[dict, int]] = [({}, 1), ({"HEADROOM": "0"}, 0)]
        for switch, count in switches:
            done = self.run_python(code, environment={"HEADROOM_SOCKET": "/nonexistent", **switch})
            self.assertEqual((done.stdout, done.stderr), (f"{INJECT.parent / '__init__.py'} {count} True\n", ""))

    def test_the_programs_own_package_goes_first(self):
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
            (pathlib.Path(folder) / "headroom.py").write_text("mine = 3\n")
            # The second case adds the module's folder to the path later.
            for code, path in (
                ("import headroom; print(headroom.mine)", [folder]),
                (f"import sys; sys.path.append({folder!r}); import headroom; print(headroom.mine)", []),
            ):
                done = self.run_python(code, path=path, environment={"HEADROOM_SOCKET": "/nonexistent"})
                self.assertEqual((done.stdout, done.stderr), ("3\n", ""))

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_the_programs_path_stays_as_it_is(self):
        done = self.run_python(
            "import sys; before = list(sys.path); import torch; print(sys.path == before, 'headroom' in sys.modules, "
            "[type(f).__name__ for f in sys.meta_path if type(f).__name__ == '_AroundFrameworks'])",
            environment={"HEADROOM_SOCKET": "/nonexistent"},
        )
        self.assertEqual((done.stdout, done.stderr), ("True True []\n", ""))

    def test_a_program_that_only_looks_for_torch_or_has_none(self):
        code = (
            "import importlib.util, sys; importlib.util.find_spec('torch'); "
            "print('torch' in sys.modules, 'headroom' in sys.modules)"
        )
        done = self.run_python(code, environment={"HEADROOM_SOCKET": "/nonexistent"})
        self.assertEqual((done.stdout, done.stderr), ("False False\n", ""))
        done = self.run_python("import torch", environment={"HEADROOM_SOCKET": "/nonexistent"}, options=["-S", "-I"])
        self.assertIn("ModuleNotFoundError", done.stderr)

    def test_a_torch_that_it_does_not_know_is_left_alone(self):
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
            (pathlib.Path(folder) / "torch.py").write_text("mine = 3\n")
            done = self.run_python(
                "import torch; print(torch.mine)", path=[folder], environment={"HEADROOM_SOCKET": "/nonexistent"}
            )
        self.assertEqual((done.returncode, done.stdout), (0, "3\n"))
        self.assertRegex(done.stderr, r"^headroom: the Python loop is not timed \(AttributeError: .*\)\n$")

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_children_are_followed(self):
        processes = recorded(
            """
    import subprocess, sys
    if len(sys.argv) == 1:
        subprocess.run([sys.executable, __file__, "child"], check=True)
    for batch in loader:
        train(batch)
        """
        )
        self.assertEqual([len(process.steps()) for process in processes], [3, 3])


if __name__ == "__main__":
    unittest.main()
