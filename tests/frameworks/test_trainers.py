"""Trainers that run the training loop under `headroom record`, without a line of Headroom in the program."""

import unittest

from frameworks.programs import STEPS, TRAINING, FrameworkTest

PAUSE_MS = 2
LIGHTNING = f"""
    import time
    import lightning, torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = torch.nn.Linear(16, 4)

        def training_step(self, batch, index):
            return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Pause(lightning.Callback):
        def on_train_batch_end(self, *arguments):
            time.sleep({PAUSE_MS} / 1e3)

    data = torch.utils.data.TensorDataset(torch.randn({STEPS} * 8, 16), torch.randint(4, ({STEPS} * 8,)))
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=1, callbacks=[Pause()],
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=8))
"""
TRANSFORMERS = f"""
    import time
    import torch, transformers

    class Pause(transformers.TrainerCallback):
        def on_step_end(self, *arguments, **more):
            time.sleep({PAUSE_MS} / 1e3)

    sizes = dict(n_layer=2, n_embd=32, n_head=2, n_positions=32, vocab_size=100)
    config = transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config)
    tokens = torch.randint(100, ({STEPS} * 4, 16))
    data = [dict(input_ids=row, labels=row) for row in tokens]
    arguments = transformers.TrainingArguments(
        "output", max_steps={STEPS}, per_device_train_batch_size=4, use_cpu=True,
        report_to="none", save_strategy="no", disable_tqdm=True, logging_strategy="no",
    )
    trainer = transformers.Trainer(model, arguments, train_dataset=data, callbacks=[Pause()])
    trainer.train()
    trainer.save_model("saved")
"""
KERAS = f"""
    import os, time
    os.environ["KERAS_BACKEND"] = "torch"
    import keras, numpy

    class Pause(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep({PAUSE_MS} / 1e3)

    model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = numpy.random.rand({STEPS} * 8, 16)
    model.fit(x, x[:, :1], epochs=1, batch_size=8, callbacks=[Pause()], verbose=0)
"""
IGNITE = f"""
    import time
    import torch
    from ignite.engine import Engine, Events

    model = torch.nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(engine, batch):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

    engine = Engine(step)

    @engine.on(Events.ITERATION_COMPLETED)
    def pause(engine):
        time.sleep({PAUSE_MS} / 1e3)

    engine.run(torch.utils.data.DataLoader(torch.randn({STEPS} * 8, 16), batch_size=8), max_epochs=1)
"""


class Trainers(FrameworkTest):
    def assert_callback(self, report, name, event):
        """Requires one call of the callback per step, and at least its sleep time."""
        (row,) = [row for row in report["callbacks"] if row["callback"] == name and row["event"] == event]
        self.assertEqual(row["count"], STEPS)
        self.assertGreaterEqual(row["total_ms"], STEPS * PAUSE_MS)

    def assert_callbacks_in_steps(self, report):
        """A step ends with the update. Each callback after an update, except the last one, is inside the next step."""
        (row,) = [row for row in report["timings"] if row["name"] == "callbacks"]
        self.assertEqual(row["count"], STEPS - 1)
        self.assertGreaterEqual(row["total_ms"], (STEPS - 1) * PAUSE_MS)

    def test_lightning(self):
        report = self.report(self.record(LIGHTNING))
        self.assert_steps(report, STEPS)
        self.assert_timings(report, "dataloader_next", *TRAINING)
        self.assert_callback(report, "Pause", "on_train_batch_end")
        self.assert_callbacks_in_steps(report)

    def test_transformers(self):
        report = self.report(self.record(TRANSFORMERS))
        self.assert_steps(report, STEPS)
        self.assert_timings(report, *TRAINING)
        self.assert_callback(report, "Pause", "on_step_end")

        regions = {row["key"]: row["count"] for row in report["regions"]}
        self.assertEqual(regions["save_model"], 1)

    def test_keras_on_torch(self):
        report = self.report(self.record(KERAS))
        self.assert_steps(report, STEPS)
        self.assert_timings(report, "train_batch.forward", "train_batch.backward")
        self.assert_callback(report, "Pause", "on_train_batch_end")

    def test_ignite(self):
        report = self.report(self.record(IGNITE))
        self.assert_steps(report, STEPS)
        self.assert_timings(report, "dataloader_next", *TRAINING)
        self.assert_callback(report, "Engine", "ITERATION_COMPLETED")

    # Known defect: Accelerate's loader fetches one batch ahead. When the loader ends, `headroom record` cancels the
    # step of the last batch. It begins a new step at the forward pass. The time between them is in no step.
    @unittest.expectedFailure
    def test_the_last_step_of_transformers_is_whole(self):
        self.assert_callbacks_in_steps(self.report(self.record(TRANSFORMERS)))
