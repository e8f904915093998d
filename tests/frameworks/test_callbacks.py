"""The callbacks of Lightning, Hugging Face and Accelerate record steps of a real training on the CPU, report, and log
figures and page to TensorBoard, MLflow and W&B, from which the tests read them back.
"""

import json

from frameworks.programs import FrameworkTest

FIRST, LAST = 6, 9
STEPS = 14
READ_TENSORBOARD = """
    def tensorboard(folder):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator(folder)
        events.Reload()
        names = [name for name in events.Tags()["scalars"] if name.startswith("headroom_")]
        texts = [events.Tensors(name)[-1].tensor_proto for name in events.Tags()["tensors"] if "headroom" in name]
        scalars = {name: events.Scalars(name)[-1].value for name in names}
        return [scalars, [text.string_val[0].decode() for text in texts]]
"""
READ_MLFLOW = """
    def from_mlflow(client, run_id):
        metrics = {k: v for k, v in client.get_run(run_id).data.metrics.items() if k.startswith("headroom_")}
        return [metrics, [file.path for file in client.list_artifacts(run_id)]]
"""
LIGHTNING = f"""
    import glob, json
    import headroom, lightning, mlflow, torch
    from lightning.pytorch.loggers import MLFlowLogger, TensorBoardLogger, WandbLogger
    {READ_TENSORBOARD}
    {READ_MLFLOW}
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4))

        def training_step(self, batch, index):
            return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    data = torch.utils.data.TensorDataset(torch.randn({STEPS} * 8, 64), torch.randint(4, ({STEPS} * 8,)))
    PAGES = "**/media/html/headroom*.html"
    callback = headroom.callbacks.LightningCallback(steps=({FIRST}, {LAST}), folder="out")
    board, flow = TensorBoardLogger("board"), MLFlowLogger(tracking_uri="sqlite:///runs.db")
    run = WandbLogger(offline=True, save_dir=".", project="headroom")
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=1, callbacks=[callback], logger=[board, flow, run],
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=8))
    logged = {{k: v for k, v in dict(run.experiment.summary).items() if k.startswith("headroom_")}}
    run.experiment.finish()
    print(json.dumps([
        callback.report, headroom.summary(callback.report), tensorboard(board.log_dir),
        from_mlflow(flow.experiment, flow.run_id), [logged, glob.glob(PAGES, recursive=True)],
    ]))
"""
TRANSFORMERS = f"""
    import glob, json
    import headroom, mlflow, torch, transformers, wandb
    {READ_TENSORBOARD}
    {READ_MLFLOW}
    mlflow.set_tracking_uri("sqlite:///runs.db")
    sizes = dict(n_layer=2, n_embd=32, n_head=2, n_positions=32, vocab_size=100)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    data = [dict(input_ids=row, labels=row) for row in torch.randint(100, ({STEPS} * 4, 16))]
    arguments = transformers.TrainingArguments(
        "output", max_steps={STEPS}, per_device_train_batch_size=4, use_cpu=True, disable_tqdm=True,
        report_to=["tensorboard", "wandb", "mlflow"], save_strategy="no", logging_strategy="no",
    )
    PAGES = "**/media/html/headroom*.html"
    callback = headroom.callbacks.TransformersCallback(steps=({FIRST}, {LAST}), folder="out")
    transformers.Trainer(model, arguments, train_dataset=data, callbacks=[callback]).train()
    (run,) = mlflow.search_runs(search_all_experiments=True, output_format="list")
    logged = {{k: v for k, v in dict(wandb.run.summary).items() if k.startswith("headroom_")}}
    wandb.finish()
    files = glob.glob("**/events.out.*", recursive=True)
    (events,) = [file for file in files if tensorboard(file)[1]]
    print(json.dumps([
        callback.report, headroom.summary(callback.report), tensorboard(events),
        from_mlflow(mlflow.MlflowClient(), run.info.run_id), [logged, glob.glob(PAGES, recursive=True)],
    ]))
"""
# The tests' environment also has TensorFlow, which TensorBoard would import. Its LLVM ends a process that has loaded
# PyTorch's.
ACCELERATE = f"""
    import json, sys
    sys.modules["tensorflow"] = None
    import accelerate, headroom, torch
    {READ_TENSORBOARD}
    accelerator = accelerate.Accelerator(cpu=True, log_with="tensorboard", project_dir="board")
    accelerator.init_trackers("run")
    data = torch.utils.data.TensorDataset(torch.randn({STEPS} * 8, 64), torch.randint(4, ({STEPS} * 8,)))
    model = torch.nn.Linear(64, 4)
    parts = (model, torch.optim.SGD(model.parameters(), lr=0.1), torch.utils.data.DataLoader(data, batch_size=8))
    model, optimizer, loader = accelerator.prepare(*parts)
    with headroom.callbacks.StepRecorder(({FIRST}, {LAST}), "out", accelerator.trackers) as recorder:
        for inputs, labels in loader:
            optimizer.zero_grad()
            accelerator.backward(torch.nn.functional.cross_entropy(model(inputs), labels))
            optimizer.step()
            recorder.step()
    accelerator.end_training()
    print(json.dumps([recorder.report, headroom.summary(recorder.report), tensorboard("board/run")]))
"""
UNUSUAL = """
    import json, warnings
    import headroom, torch
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with headroom.callbacks.StepRecorder((20, 25), "short") as recorder:
            for _ in range(3):
                recorder.step()
        assert recorder.report is None
        class Broken:
            def add_scalar(self, *values):
                raise OSError("no space left")
        done = 0
        with headroom.callbacks.StepRecorder((2, 3), "broken", [Broken()]) as recorder:
            for _ in range(6):
                torch.ones(64, 64) @ torch.ones(64, 64)
                recorder.step()
                done += 1
        assert done == 6 and recorder.report is not None
    for wrong in ({"steps": (5, 2)}, {"trackers": [1]}):
        try:
            headroom.callbacks.StepRecorder(**wrong)
        except (TypeError, ValueError) as error:
            said.append(str(error))
    print(json.dumps([[str(one.message) for one in caught if "headroom" in str(one.message)], said]))
"""


class Callbacks(FrameworkTest):
    def answer(self, program):
        return json.loads(self.run_program(program).text.splitlines()[-1])

    def check_report(self, report):
        self.assertEqual([step["index"] for step in report["steps"]["list"]], list(range(FIRST, LAST + 1)))
        page = (self.scratch / "out/headroom.html").read_text()
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertTrue((self.scratch / "out/rank0.json.gz").exists())

    def check_board(self, summary, board):
        scalars, texts = board
        self.assertEqual(set(scalars), set(summary))
        for name, value in scalars.items():
            self.assertAlmostEqual(value, summary[name], delta=1e-6 * abs(summary[name]) + 1e-12)
        self.assertIn("# Headroom", texts[0])

    def check_trackers(self, program):
        report, summary, board, (metrics, artifacts), (logged, pages) = self.answer(program)
        self.check_report(report)
        self.check_board(summary, board)
        self.assertEqual(metrics, summary)
        self.assertIn("headroom.html", artifacts)
        self.assertEqual(logged, summary)
        self.assertTrue(pages)

    def test_lightning(self):
        self.check_trackers(LIGHTNING)

    def test_transformers(self):
        self.check_trackers(TRANSFORMERS)

    def test_accelerate(self):
        report, summary, board = self.answer(ACCELERATE)
        self.check_report(report)
        self.check_board(summary, board)

    def test_failures_do_not_end_a_training(self):
        warned, refused = self.answer(UNUSUAL)
        self.assertEqual(len(warned), 2)
        self.assertIn("training ended after 3 steps, before step 20 was complete", warned[0])
        self.assertIn("no space left", warned[1])
        self.assertIn("requires 1 <= first <= last", refused[0])
        self.assertIn("int is not a supported tracker", refused[1])
