"""Tests profile_loop() and attach(): recordings match the job, and no hook remains. Requires PyTorch."""
import copy
import pickle
import unittest
import unittest.mock

import headroom
from recorder import record_python

try:
    import torch
    from headroom import _patches
    from headroom.torch import attach, profile_loop
    from test_maelstrom_timer import Event
except ImportError:
    torch = None

MODEL = """
    import torch
    from headroom.torch import attach, profile_loop
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(3, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_function = torch.nn.MSELoss()
    data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randn(12, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=4)

    def train(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
"""
PHASES = (
    "STEP",
    "dataloader_next",
    "Optimizer.zero_grad#SGD.zero_grad",
    "FORWARD",
    "loss",
    "BACKWARD",
    "Optimizer.step#SGD.step",
)
ONE_STEP = f"STEP({' '.join(PHASES[1:])})"


def model_and_optimizer():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def batches(n=3):
    return [(torch.ones(2, 4), torch.ones(2, 1)) for _ in range(n)]


def train(model, optimizer, batch):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(batch[0]), batch[1])
    loss.backward()
    optimizer.step()


def patched_state():
    names = [
        (torch.nn.Module, "__call__"),
        (torch.autograd, "backward"),
        (torch.optim.Optimizer, "__init__"),
        (torch.optim.Optimizer, "zero_grad"),
        (torch.optim.SGD, "step"),
        (torch.utils.data.DataLoader, "__iter__"),
        (torch.utils.data.dataloader._BaseDataLoaderIter, "__next__"),
        (torch.optim.lr_scheduler.StepLR, "step"),
        (torch.optim.lr_scheduler._LRScheduler, "step"),
        (torch.Tensor, "to"),
        (torch.Tensor, "item"),
        (torch.Tensor, "cpu"),
    ]
    return [vars(owner).get(name) for owner, name in names]


@unittest.skipIf(torch is None, "no PyTorch")
class Recorded(unittest.TestCase):
    def test_three_lines(self):
        (process,), _ = record_python(
            MODEL
            + """
    for batch in profile_loop(loader, model, optimizer):
        train(batch)
        """
        )
        self.assertEqual(process.tree(*PHASES), " ".join([ONE_STEP] * 3 + ["dataloader_next"]))
        self.assertEqual([step.number for step in process.steps()], [0, 1, 2])
        first = process.steps()[0]
        self.assertEqual(
            [r.name for r in process.inside(process.inside(first, "FORWARD")[0])],
            ["layer::0", "layer::1", "layer::2", "layer::2.0"],
        )

    def test_gradients_are_ready_inside_backward_each_with_its_size(self):
        (process,), _ = record_python(
            MODEL
            + """
    for batch in profile_loop(loader, model, optimizer):
        train(batch)
        """
        )
        events = process.events("gradient")
        self.assertEqual(
            sorted({(event.name, event.value) for event in events}),
            [("0.bias", 12), ("0.weight", 48), ("2.0.bias", 4), ("2.0.weight", 12)],
        )
        self.assertEqual(len(events), 3 * 4)
        backward = process.regions("BACKWARD")
        for event in events:
            self.assertTrue(any(region.start <= event.ticks <= region.end for region in backward))
        order = [event.name for event in events[:4]]
        self.assertLess(order.index("2.0.weight"), order.index("0.weight"))  # The last layer's gradients come first.

    def test_a_loader_without_length(self):
        """The MAELSTROM idiom needs len()."""
        (process,), _ = record_python(
            MODEL
            + """
    for batch in profile_loop((batch for batch in list(loader)), model, optimizer):
        train(batch)
        """
        )
        self.assertEqual([step.number for step in process.steps()], [0, 1, 2])
        self.assertEqual(len(process.regions("STEP")), 4)  # The last step began without a batch, and is marked.

    def test_a_region_that_an_exception_left_open_hides_none_after_it(self):
        (process,), _ = record_python(
            MODEL
            + """
    from headroom.timer import Timer
    timer = Timer()
    for batch in profile_loop(loader, model, optimizer):
        timer.start("BACKWARD")  # Never ends, as after an exception.
        break
    for batch in profile_loop(loader, model, optimizer):
        train(batch)
        """
        )
        later = [region for region in process.regions("BACKWARD") if region.end is not None]
        self.assertEqual(len(later), 3)

    def test_break_and_exceptions_close_everything(self):
        (process,), _ = record_python(
            MODEL
            + """
    for batch in profile_loop(loader, model, optimizer):
        train(batch)
        break
    try:
        for batch in profile_loop(loader, model, optimizer):
            model(torch.zeros(1, 5))
    except RuntimeError:
        pass
    try:
        for batch in profile_loop(loader, model, optimizer):
            with torch.no_grad():
                model[0].weight.fill_(0)
            raise KeyError
    except KeyError:
        pass
    model(torch.zeros(1, 4))
    import headroom
    assert headroom.drops().unmatched == 0
        """
        )
        self.assertTrue(all(region.end is not None for region in process.regions()))
        self.assertEqual([step.number for step in process.steps()], [0, 1, 2])
        self.assertEqual(
            process.tree("STEP", "FORWARD", "layer::0"), "STEP(FORWARD(layer::0)) STEP(FORWARD(layer::0)) STEP"
        )

    def test_epochs_evaluation_and_scheduler(self):
        (process,), _ = record_python(
            MODEL
            + """
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    loop = profile_loop(loader, model, optimizer)
    for epoch in range(2):
        model.train()
        for batch in loop:
            train(batch)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            for x, y in loader:
                model(x)
        """
        )
        self.assertEqual([step.number for step in process.steps()], list(range(6)))
        self.assertEqual(
            process.tree("STEP", "FORWARD", "Optimizer.step#SGD.step", "evaluate"),
            " ".join(["STEP(FORWARD Optimizer.step#SGD.step)"] * 6),
        )

    def test_attached_loops_that_one_cannot_change(self):
        (process,), _ = record_python(
            MODEL
            + """
    def fit():
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        for epoch in range(2):
            model.train()
            for batch in loader:
                train(batch)
            scheduler.step()
            model.eval()
            with torch.no_grad():
                for x, y in torch.utils.data.DataLoader(data, batch_size=4):
                    loss_function(model(x), y)

    with attach(model=model, optimizer=optimizer):
        fit()
        """
        )
        steps = process.steps()
        self.assertEqual(len(steps), 6)
        for step in steps:
            self.assertEqual([r.name for r in process.inside(step) if r.name in PHASES], list(PHASES[1:]))
        self.assertEqual(process.tree("evaluate", "FORWARD").count("evaluate(FORWARD)"), 6)
        self.assertFalse([r for step in steps for r in process.inside(step, "evaluate")])
        self.assertEqual(len(process.regions("step_lr_schedulers")), 3)  # A scheduler steps once when it is made.

    def test_a_step_without_a_batch_is_in_no_statistics(self):
        (process,), done = record_python(
            MODEL
            + """
    import headroom
    with attach(model=model, optimizer=optimizer):
        for epoch in range(3):
            for batch in loader:
                train(batch)
    print(headroom.stats("STEP").count)
    for batch in profile_loop((batch for batch in list(loader)), model, optimizer):
        train(batch)
    print(headroom.stats("STEP").count)
        """
        )
        self.assertEqual(len(process.steps()), 12)
        self.assertGreater(len(process.regions("STEP")), 12, "some had no batch")
        self.assertEqual(done.stdout.split(), ["9", "12"])

    def test_copies_to_a_device_and_what_is_none(self):
        (process,), _ = record_python(
            """
            import torch
            from headroom.torch import attach
            x = torch.zeros(3)
            with attach():
                x.to("cpu"), x.to(torch.float64), x.cpu(), x.sum().item()
                there = x.to("meta")
                x.to(device=torch.device("meta"), dtype=torch.float64), x.to(there), there.to("meta")
                torch.nn.Linear(2, 2).to("meta")
        """
        )
        self.assertEqual(process.names_of_regions(), ["to_device"] * 5)


@unittest.skipIf(torch is None, "no PyTorch")
class NothingStaysBehind(unittest.TestCase):
    def setUp(self):
        model_and_optimizer()  # PyTorch wraps SGD.step for its own profiler when the first optimizer is made.
        self.before = patched_state()
        self.addCleanup(lambda: self.assertEqual(patched_state(), self.before))
        self.addCleanup(
            lambda: self.assertEqual(
                (_patches.layers, _patches.losses, _patches._users, _patches._loops), ({}, set(), 0, 0)
            )
        )
        self.addCleanup(lambda: self.assertEqual(headroom.drops().depth, 0))

    def test_after_a_whole_loop(self):
        model, optimizer = model_and_optimizer()
        for batch in profile_loop(batches(), model, optimizer):
            self.assertNotEqual(patched_state(), self.before)
            train(model, optimizer, batch)

    def test_after_break_exception_and_a_loop_that_never_began(self):
        model, optimizer = model_and_optimizer()
        profile_loop(batches(), model, optimizer)
        iter(profile_loop(batches(), model, optimizer))
        for batch in profile_loop(batches(), model, optimizer):
            break
        self.assertEqual(patched_state(), self.before)
        with self.assertRaises(KeyError):
            for batch in profile_loop(batches(), model, optimizer):
                raise KeyError

    def test_a_loader_that_fails(self):
        def fails():
            yield batches(1)[0]
            raise OSError("disk")

        model, optimizer = model_and_optimizer()
        with self.assertRaisesRegex(OSError, "disk"):
            for batch in profile_loop(fails(), model, optimizer):
                train(model, optimizer, batch)
        for name in ("STEP", "dataloader_next"):
            self.assertFalse(headroom.scope(name).is_open())

    def test_loops_inside_loops(self):
        model, optimizer = model_and_optimizer()
        for batch in profile_loop(batches(2), model, optimizer):
            for inner in profile_loop(batches(2), model, optimizer):
                train(model, optimizer, inner)

    def test_results_are_the_same(self):
        results = []
        for loop in (lambda loader, *parts: loader, profile_loop):
            torch.manual_seed(1)
            model, optimizer = model_and_optimizer()
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
            for batch in loop(batches(5), model, optimizer):  # type: ignore[operator]
                train(model, optimizer, batch)
                scheduler.step()
            results.append([p.detach().clone() for p in model.parameters()])
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(*results)))

    def test_models_and_optimizers_are_copied_and_pickled_inside(self):
        model, optimizer = model_and_optimizer()
        torch.optim.lr_scheduler.StepLR(optimizer, 2)
        for _ in profile_loop(batches(1), model, optimizer):
            other = pickle.loads(pickle.dumps(copy.deepcopy(model)))
            pickle.dumps(optimizer.state_dict())
            layers = headroom.stats("layer::0").count
            other(torch.zeros(1, 4))
            self.assertEqual(headroom.stats("layer::0").count, layers)  # The copy differs from the model.

    def test_a_scheduler_made_before_or_after_is_timed_and_content(self):
        import warnings

        for made_before in (True, False):
            model, optimizer = model_and_optimizer()
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1) if made_before else None
            count = headroom.stats("Optimizer.step#SGD.step").count
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for batch in profile_loop(batches(2), model, optimizer):
                    scheduler = scheduler or torch.optim.lr_scheduler.StepLR(optimizer, 1)
                    train(model, optimizer, batch)
                    scheduler.step()
            self.assertEqual(headroom.stats("Optimizer.step#SGD.step").count, count + 2)

    def test_an_optimizer_of_a_derived_class_steps_once(self):
        class Mine(torch.optim.SGD):
            pass

        model, _ = model_and_optimizer()
        with attach(model=model):
            optimizer = Mine(model.parameters(), lr=0.1)
            before = headroom.stats("STEP").count
            for batch in batches(4):
                train(model, optimizer, batch)
        self.assertEqual(headroom.stats("Optimizer.step#Mine.step").count, 4)
        self.assertEqual(headroom.stats("STEP").count - before, 4)  # The fifth had no batch.

    def test_length_and_attributes_of_a_loader_that_is_none_of_pytorchs(self):
        class Loader:
            batch_size = 7

            def __len__(self):
                return 3

            def __iter__(self):
                return iter(batches(3))

        self.assertEqual(len(profile_loop(Loader())), 3)
        with self.assertRaises(TypeError):
            len(profile_loop(iter(())))
        before = headroom.stats("dataloader_next").count
        with attach(loader=Loader()) as attached:
            self.assertEqual((len(attached.loader), attached.loader.batch_size, len(list(attached.loader))), (3, 7, 3))
        self.assertEqual(headroom.stats("dataloader_next").count, before + 4)

    def test_a_loader_with_more_than_it_says(self):
        class Loader(list):
            def __len__(self):
                return 1

        before = headroom.stats("STEP").count
        self.assertEqual(len([batch for batch in profile_loop(Loader(batches(3)))]), 3)
        self.assertEqual(headroom.stats("STEP").count, before + 3)

    def test_the_input_wait_as_the_gpu_felt_it(self):
        cuda: dict = {
            "is_available": lambda: True,
            "Event": Event,
            "is_current_stream_capturing": lambda: False,
            "current_device": lambda: 0,
        }
        with unittest.mock.patch.multiple(torch.cuda, **cuda):
            Event.now, Event.done_until = 0.0, 0.0

            def slow():
                for batch in batches(3):
                    Event.now += 0.25
                    yield batch

            loop = profile_loop(slow())
            for _ in loop:
                pass
            wait = loop.input_wait()
        self.assertEqual((wait.max, wait.min), (0.25, 0.0))  # Finding the end of the data adds no wait.
        self.assertIsNone(profile_loop([]).input_wait())


if __name__ == "__main__":
    unittest.main()
