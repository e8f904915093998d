"""Tests that each (event, callback) pair is timed, and the slowest is found. skorch is real if it is installed.
Lightning, Hugging Face's Trainer and Keras are not packaged here, so fakes replace them. The fakes have the base
classes, containers and call sequences of the real ones."""
import copy
import functools
import pickle
import time
import unittest

import headroom
from headroom import callbacks
from recorder import record_python

try:
    import numpy
    import skorch
    import torch
except ImportError:
    skorch = None


def pairs(wrapped):
    return {(row.event, row.callback): row.count for row in wrapped.profile()}


# --- Lightning: Trainer._call_callback_hooks walks trainer.callbacks and gets each hook by name ---


class Callback:
    """Hooks of the base class do nothing. (skorch and Keras use the same mark.)"""

    def on_train_start(self, trainer, pl_module):
        ...

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        ...

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        ...

    def on_train_end(self, trainer, pl_module):
        ...


class Checkpoint(Callback):
    def __init__(self):
        self.saved = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        time.sleep(0.004)
        self.saved += 1


class Progress(Callback):
    def on_train_start(self, trainer, pl_module):
        self.seen = []

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.seen.append(batch)


class LightningTrainer:
    def __init__(self, callbacks):
        self.callbacks = callbacks

    def _call(self, hook, *args):
        for callback in self.callbacks:
            call = getattr(callback, hook)
            if callable(call):
                call(self, None, *args)

    def fit(self, batches):
        self._call("on_train_start")
        for i, batch in enumerate(batches):
            self._call("on_train_batch_start", batch, i)
            self._call("on_train_batch_end", {}, batch, i)
        self._call("on_train_end")


# --- Hugging Face: Trainer.callback_handler.call_event gets args, state and control, and returns control ---


class TrainerCallback:
    def on_step_begin(self, args, state, control, **kwargs):
        ...

    def on_step_end(self, args, state, control, **kwargs):
        ...

    def on_log(self, args, state, control, logs=None, **kwargs):
        ...


class Flow(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        control["logs"] = True
        return control


class Logger(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logs = logs


class CallbackHandler:
    def __init__(self, callbacks):
        self.callbacks = callbacks

    def call_event(self, event, control, **kwargs):
        for callback in self.callbacks:
            result = getattr(callback, event)(None, None, control, model=None, **kwargs)
            control = control if result is None else result
        return control


class HuggingFaceTrainer:
    def __init__(self, callbacks):
        self.callback_handler = CallbackHandler(callbacks)

    def train(self, steps):
        for _ in range(steps):
            self.callback_handler.call_event("on_step_begin", {})
            control = self.callback_handler.call_event("on_step_end", {})
            if control.get("logs"):
                self.callback_handler.call_event("on_log", control, logs={"loss": 1})


# --- Keras: a CallbackList skips batch hooks if all are the defaults, which a mark on the function shows ---


def default(method):
    method._is_default = True
    return method


def keras_callback():
    class Callback:
        @default
        def on_train_batch_begin(self, batch, logs=None):
            ...

        @default
        def on_train_batch_end(self, batch, logs=None):
            ...

        def on_epoch_end(self, epoch, logs=None):
            ...

        def set_model(self, model):
            self.model = model

    return Callback


class Early(keras_callback()):  # type: ignore[misc]
    def on_epoch_end(self, epoch, logs=None):
        self.model["stop"] = epoch == 1


class CallbackList:
    def __init__(self, callbacks, model):
        self.callbacks = callbacks
        for callback in callbacks:
            callback.set_model(model)
        self.batch_hooks = any(not getattr(c.on_train_batch_end, "_is_default", False) for c in callbacks)

    def on_epoch_end(self, epoch):
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, {})


class Frameworks(unittest.TestCase):
    def test_lightning(self):
        checkpoint, progress = Checkpoint(), Progress()
        trainer = LightningTrainer([progress, checkpoint])
        with callbacks.wrap(trainer) as timed:
            trainer.fit("abc")
            self.assertIsInstance(trainer.callbacks[1], Checkpoint)
        self.assertEqual(
            pairs(timed),
            {
                ("on_train_batch_end", "Checkpoint"): 3,
                ("on_train_batch_start", "Progress"): 3,
                ("on_train_start", "Progress"): 1,
            },
        )
        slowest = timed.profile()[0]
        self.assertEqual((slowest.event, slowest.callback), ("on_train_batch_end", "Checkpoint"))
        self.assertGreaterEqual(slowest.total_s, 0.012)
        self.assertGreater(slowest.share, 0.9)
        self.assertEqual((checkpoint.saved, progress.seen), (3, ["a", "b", "c"]))
        self.assertRegex(str(timed).splitlines()[1], r"^Checkpoint +on_train_batch_end +3 ")
        self.assertEqual((vars(checkpoint), vars(progress)), ({"saved": 3}, {"seen": ["a", "b", "c"]}))
        trainer.fit("abc")
        self.assertEqual(timed.profile()[0].count, 3)

    def test_hugging_face(self):
        logger = Logger()
        trainer = HuggingFaceTrainer([Flow(), logger])
        with callbacks.wrap(trainer) as timed:
            trainer.train(4)
        self.assertEqual(
            pairs(timed), {("on_step_end", "Flow"): 4, ("on_log", "Logger"): 4}
        )  # The callback receives Flow's return value.
        self.assertEqual(logger.logs, {"loss": 1})

    def test_keras(self):
        model = {}
        early = Early()
        with callbacks.wrap([early]) as timed:
            callback_list = CallbackList([early], model)
            self.assertFalse(callback_list.batch_hooks)  # Wrapped default hooks are still recognized.
            callback_list.on_epoch_end(0)
            callback_list.on_epoch_end(1)
        self.assertEqual((pairs(timed), model), ({("on_epoch_end", "Early"): 2}, {"stop": True}))
        with callbacks.wrap(callback_list) as timed:
            callback_list.on_epoch_end(0)
        self.assertEqual(pairs(timed), {("on_epoch_end", "Early"): 1})

    def test_fastai(self):
        """Stands for fastai 2.7: a Learner's `cbs` is a collection, not a list, and events are methods by name."""

        class Collection:
            def __init__(self, items):
                self.items = list(items)

            def __iter__(self):
                return iter(self.items)

        class Slow(Callback):
            def after_batch(self):
                time.sleep(0.004)

        class Learner:
            def __init__(self, cbs):
                self.cbs = Collection(cbs)

            def __call__(self, event):
                for callback in self.cbs:
                    getattr(callback, event, lambda: None)()

        learner = Learner([Slow()])
        with callbacks.wrap(learner) as timed:
            for event in ("before_fit", "after_batch", "after_batch"):
                learner(event)
        self.assertEqual(pairs(timed), {("after_batch", "Slow"): 2})

    def test_a_plain_runner_wrapped(self):
        """FluxTraining wraps the runner, so each callback is seen on each event, in any order."""

        class StepEnd:
            pass

        class Metrics:
            def on(self, event, learner):
                learner.append(type(event).__name__)

        def log(event, learner):
            learner.append("log")

        def run(event, callback, learner):
            return callback(event, learner) if callback is log else callback.on(event, learner)

        timed_run, timed = callbacks.wrap_runner(run)
        learner = []
        for _ in range(2):
            for callback in (Metrics(), log):
                timed_run(StepEnd(), callback, learner)
        timed_run("EpochEnd", log, learner)
        self.assertEqual(pairs(timed), {("StepEnd", "Metrics"): 2, ("StepEnd", "log"): 2, ("EpochEnd", "log"): 1})
        self.assertEqual(learner, ["StepEnd", "log", "StepEnd", "log", "log"])


class Rules(unittest.TestCase):
    def test_an_exception_passes_and_closes(self):
        class Stops:
            def on_step(self):
                raise StopIteration

        stops = Stops()
        with callbacks.wrap([stops]) as timed:
            self.assertRaises(StopIteration, stops.on_step)
        self.assertEqual(pairs(timed), {("on_step", "Stops"): 1})
        self.assertFalse(headroom.scope("callbacks.Stops.on_step").is_open())

    def test_hooks_by_name(self):
        class Own:
            def begin(self):
                return 1

            def other(self):
                return 2

        own = Own()
        self.assertRaisesRegex(TypeError, "hooks=", callbacks.wrap, own)
        with callbacks.wrap(own, hooks=["begin"]) as timed:
            self.assertEqual((own.begin(), own.other()), (1, 2))
        self.assertEqual(pairs(timed), {("begin", "Own"): 1})

    def test_a_callback_in_two_places_is_timed_once(self):
        checkpoint = Checkpoint()
        with callbacks.wrap([checkpoint, checkpoint]) as timed:
            checkpoint.on_train_batch_end(None, None, None, None, 0)
        self.assertEqual(pairs(timed), {("on_train_batch_end", "Checkpoint"): 1})

    def test_copies_and_pickles_are_of_the_callback_alone(self):
        checkpoint = Checkpoint()
        with callbacks.wrap([checkpoint]) as timed:
            for other in (copy.deepcopy(checkpoint), pickle.loads(pickle.dumps(checkpoint))):
                other.on_train_batch_end(None, None, None, None, 0)
                self.assertEqual((other.saved, checkpoint.saved), (1, 0))
        self.assertEqual(pairs(timed), {})

    def test_what_was_replaced_by_others_comes_back(self):
        checkpoint = Checkpoint()
        own = functools.partial(print)
        checkpoint.on_train_end = own  # type: ignore[assignment]
        callbacks.wrap([checkpoint], hooks=["on_train_end"]).close()
        self.assertIs(checkpoint.on_train_end, own)

    def test_each_profile_has_a_maximum_of_its_own(self):
        class Log:
            def on_step_end(self, pause):
                time.sleep(pause)

        slow, fast = Log(), Log()
        with callbacks.wrap(slow) as first:
            slow.on_step_end(0.2)
        with callbacks.wrap(fast) as second:
            fast.on_step_end(0.001)
            fast.on_step_end(0.002)
        run, runner = callbacks.wrap_runner(lambda event, callback: getattr(callback, event)(0.001))
        run("on_step_end", Log())
        for timed, count in (first, 1), (second, 2), (runner, 1):
            (row,) = timed.profile()
            self.assertEqual(row.count, count)
            self.assertTrue(row.mean_s <= row.max_s <= row.total_s, row)
        self.assertGreater(first.profile()[0].max_s, 0.19)
        self.assertLess(second.profile()[0].max_s, 0.19)
        self.assertLess(runner.profile()[0].max_s, 0.19)

    def test_names_in_a_recording_are_determineds(self):
        (process,), _ = record_python(
            """
            from headroom import callbacks
            class Checkpoint:
                def on_batch_end(self): pass
            checkpoint = Checkpoint()
            with callbacks.wrap([checkpoint]):
                checkpoint.on_batch_end()
        """
        )
        self.assertEqual(process.names_of_regions(), ["callbacks.Checkpoint.on_batch_end"])


@unittest.skipIf(skorch is None, "no skorch")
class Skorch(unittest.TestCase):
    """Uses the real skorch, which has a prebuilt fit()."""

    def setUp(self):
        class Slow(skorch.callbacks.Callback):
            def on_batch_end(self, net, **kwargs):
                time.sleep(0.004)

        torch.manual_seed(0)
        self.net = skorch.NeuralNetRegressor(
            torch.nn.Linear(4, 1), max_epochs=2, batch_size=8, verbose=0, callbacks=[("slow", Slow())]
        )
        self.x = numpy.random.default_rng(0).normal(size=(40, 4)).astype("float32")
        self.y = self.x[:, :1]

    def test_the_callback_that_holds_the_step(self):
        with callbacks.wrap(self.net) as timed:
            self.net.fit(self.x, self.y)
        first = timed.profile()[0]
        self.assertEqual(
            (first.event, first.callback, first.count), ("on_batch_end", "Slow", 2 * (4 + 1))
        )  # 32 of 40 train, 8 validate.
        self.assertGreater(first.share, 0.5)
        self.assertIn(("on_epoch_end", "EpochTimer"), pairs(timed))  # skorch's own callbacks are included.
        self.assertNotIn("notify", vars(self.net))
        pickle.dumps(self.net.module_)

    def test_the_phases_of_a_fit_that_one_cannot_change(self):
        from headroom.torch import attach

        before = {
            key: headroom.stats(key).count
            for key in ("FORWARD", "loss", "BACKWARD", "Optimizer.step#SGD.step", "evaluate", "layer::module")
        }
        with attach():
            self.net.fit(self.x, self.y)
        counts = {key: headroom.stats(key).count - count for key, count in before.items()}
        self.assertEqual(
            counts,
            {"FORWARD": 10, "loss": 10, "BACKWARD": 8, "Optimizer.step#SGD.step": 8, "evaluate": 2, "layer::module": 0},
        )

    def test_its_callbacks_under_record(self):
        """They are timed without wrap(), and each call is one region with it."""
        for around in ("contextlib.nullcontext()", "headroom.callbacks.wrap(net)"):
            (process,), _ = record_python(
                f"""
                import contextlib, numpy, pickle, skorch, torch
                import headroom
                class Mine(skorch.callbacks.Callback):
                    def on_batch_end(self, net, **more):
                        pass
                net = skorch.NeuralNetRegressor(
                    torch.nn.Linear(4, 1), max_epochs=2, batch_size=8, verbose=0, callbacks=[Mine()]
                )
                x = numpy.ones((40, 4), "float32")
                with {around}:
                    net.fit(x, x[:, :1])
                net.fit(x, x[:, :1])
                """,
                injected=True,
            )
            self.assertEqual(len(process.regions("callbacks.Mine.on_batch_end")), 2 * 2 * (4 + 1), around)

    def test_its_steps_under_record(self):
        (process,), _ = record_python(
            """
            import numpy, skorch, torch
            net = skorch.NeuralNetRegressor(torch.nn.Linear(4, 1), max_epochs=2, batch_size=8, verbose=0)
            x = numpy.ones((40, 4), "float32")
            net.fit(x, x[:, :1])
        """,
            injected=True,
        )
        steps = process.steps()
        self.assertEqual(len(steps), 8)
        for step in steps:
            self.assertEqual(
                [
                    r.name
                    for r in process.inside(step)
                    if r.name in ("dataloader_next", "FORWARD", "BACKWARD", "evaluate")
                ],
                ["dataloader_next", "FORWARD", "BACKWARD"],
            )


class Recorders(unittest.TestCase):
    """The recorders of real trainers are tested with current versions of them (tests/frameworks/test_callbacks.py)."""

    @unittest.skipIf(skorch is None, "no PyTorch")
    def test_without_kineto_the_training_goes_on(self):
        if torch.profiler.kineto_available():
            self.skipTest("this PyTorch has Kineto")
        with self.assertWarnsRegex(UserWarning, "without Kineto; `headroom record` works"):
            with callbacks.StepRecorder((1, 2)) as recorder:
                for _ in range(4):
                    recorder.step()
        self.assertIsNone(recorder.report)

    def test_wrong_arguments(self):
        for steps in ((0, 5), (6, 5), (-1, -1)):
            with self.assertRaisesRegex(ValueError, "requires 1 <= first <= last"):
                callbacks.StepRecorder(steps)
        with self.assertRaisesRegex(TypeError, "object is not a supported tracker"):
            callbacks.StepRecorder(trackers=[object()])

    def test_a_missing_framework_is_named(self):
        for name in ("LightningCallback", "TransformersCallback"):
            try:
                getattr(callbacks, name)
            except ImportError as error:
                self.assertRegex(str(error), rf"callbacks\.{name} requires \w+, which is not installed")


if __name__ == "__main__":
    unittest.main()
