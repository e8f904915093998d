"""Records small jobs with current frameworks on the CPU: the traces of tests/frameworks/recordings.

usage: python tests/frameworks/recorded_jobs.py JOB FOLDER    (tools/record_frameworks runs all of them)

Each job is a function below, described by its docstring. Traces contain no names of machines and no paths.
"""
# mypy: ignore-errors
# The frameworks are in build/frameworks, where the checks of other files do not search.
import contextlib
import gzip
import json
import lzma
import pathlib
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, record_function, schedule

BATCH = 8
CPU = [ProfilerActivity.CPU]


class Data(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.randn(32), index % 4


def batches(count):
    return torch.utils.data.DataLoader(Data(count * BATCH), batch_size=BATCH)


def make_model():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))


def train(model, optimizer, inputs, labels):
    optimizer.zero_grad()
    functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()


def store(trace, folder, name):
    """Writes a trace without fields that name the machine."""
    for key in ("traceName", "host_name", "trace_id"):
        trace.pop(key, None)
    (folder / f"{name}.json.xz").write_bytes(lzma.compress(json.dumps(trace).encode(), preset=9))


def save(profiler, folder, name):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "trace.json"
        profiler.export_chrome_trace(str(path))
        store(json.loads(path.read_text()), folder, name)


def pytorch_loop(folder):
    """Six steps with every option of the profiler. No schedule, so there are no marks."""
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    options = ("record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory")
    with profile(activities=CPU, **dict.fromkeys(options, True)) as profiler:
        for batch in batches(6):
            train(model, optimizer, *batch)
            profiler.step()
    save(profiler, folder, "pytorch_loop")


def pytorch_schedule(folder):
    """Two cycles of three marked steps, one file each."""
    model, cycles = make_model(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def ready(profiler):
        cycles.append(None)
        save(profiler, folder, f"pytorch_schedule.{len(cycles)}")

    plan = schedule(wait=1, warmup=1, active=3, repeat=2)
    with profile(activities=CPU, schedule=plan, on_trace_ready=ready) as profiler:
        for batch in batches(12):
            train(model, optimizer, *batch)
            profiler.step()


def pytorch_compiled(folder):
    """Six steps of a compiled model; the first compiles."""
    model = torch.compile(make_model())
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=CPU, record_shapes=True) as profiler:
        for batch in batches(6):
            train(model, optimizer, *batch)
    save(profiler, folder, "pytorch_compiled")


def pytorch_validation(folder):
    """Two epochs of four steps and a validation."""
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=CPU) as profiler:
        for _ in range(2):
            for batch in batches(4):
                train(model, optimizer, *batch)
            with torch.no_grad(), record_function("validation"):
                for inputs, _labels in batches(4):
                    model(inputs)
    save(profiler, folder, "pytorch_validation")


def pytorch_inference(folder):
    """Eight forward passes."""
    model = make_model().eval()
    with profile(activities=CPU, record_shapes=True) as profiler, torch.no_grad():
        for _ in range(8):
            model(torch.randn(BATCH, 32))
    save(profiler, folder, "pytorch_inference")


def pytorch_accumulation(folder):
    """Sixteen batches, an update after every fourth."""
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=CPU) as profiler:
        for number, (inputs, labels) in enumerate(batches(16)):
            functional.cross_entropy(model(inputs), labels).backward()
            if number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    save(profiler, folder, "pytorch_accumulation")


def pytorch_generator(folder):
    """Six steps; a generator without a mark takes 20 ms per batch."""
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=CPU) as profiler:
        for _ in range(6):
            time.sleep(0.02)
            train(model, optimizer, torch.randn(BATCH, 32), torch.arange(BATCH) % 4)
    save(profiler, folder, "pytorch_generator")


def pytorch_execution_trace(folder):
    """Two steps, as an execution trace."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "trace.json"
        observer = ExecutionTraceObserver().register_callback(str(path))
        observer.start()
        for batch in batches(2):
            train(model, optimizer, *batch)
        observer.stop()
        observer.unregister_callback()
        store(json.loads(path.read_text()), folder, "pytorch_execution_trace")


def distributed(folder, name, wrap):
    """Six steps of two processes on gloo; the trace of rank 0."""
    with tempfile.TemporaryDirectory() as scratch:
        arguments = (str(folder), name, wrap, f"file://{scratch}/rendezvous")
        torch.multiprocessing.spawn(run_rank, arguments, nprocs=2)


def run_rank(rank, folder, name, wrap, rendezvous):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=2)
    model = wrap(make_model())
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=CPU, record_shapes=True) as profiler:
        for batch in batches(6):
            train(model, optimizer, *batch)
    if rank == 0:
        save(profiler, pathlib.Path(folder), name)
    torch.distributed.destroy_process_group()


def shard(model):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (2,))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    return model


def pytorch_ddp(folder):
    distributed(folder, "pytorch_ddp", nn.parallel.DistributedDataParallel)


def pytorch_fsdp2(folder):
    distributed(folder, "pytorch_fsdp2", shard)


def transformers_trainer(folder):
    """Six steps of transformers.Trainer."""
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    config = GPT2Config(n_layer=1, n_head=2, n_embd=32, vocab_size=64, n_positions=16)
    tokens = torch.arange(16)
    data = [{"input_ids": tokens, "labels": tokens} for _ in range(6 * BATCH)]
    with tempfile.TemporaryDirectory() as scratch, profile(activities=CPU) as profiler:
        arguments = TrainingArguments(
            output_dir=scratch,
            per_device_train_batch_size=BATCH,
            num_train_epochs=1,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            use_cpu=True,
        )
        Trainer(GPT2LMHeadModel(config), arguments, train_dataset=data).train()
    save(profiler, folder, "transformers_trainer")


def lightning_fit(folder):
    """Lightning's profiler of a fit of eight steps."""
    import lightning
    from lightning.pytorch.profilers import PyTorchProfiler

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = make_model()

        def training_step(self, batch, _number):
            return functional.cross_entropy(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    with tempfile.TemporaryDirectory() as scratch:
        profiler = PyTorchProfiler(dirpath=scratch, filename="trace", schedule=schedule(wait=1, warmup=1, active=4))
        trainer = lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            profiler=profiler,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(Module(), batches(8))
        (path,) = pathlib.Path(scratch).glob("*.json*")
        packed = path.read_bytes()
        text = gzip.decompress(packed) if path.suffix == ".gz" else packed
        store(json.loads(text), folder, "lightning_fit")


def jax_steps(folder):
    """Six marked steps of JAX, as an XPlane profile."""
    import jax
    from jax import numpy

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

    @jax.jit
    def step(weights, inputs):
        gradient = jax.grad(lambda w: numpy.mean(numpy.tanh(inputs @ w) ** 2))(weights)
        return weights - 0.1 * gradient

    weights, inputs = numpy.ones((512, 512)), numpy.ones((256, 512))
    weights = step(weights, inputs)
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # Frames and the metadata of programs name files of this machine.
    with tempfile.TemporaryDirectory() as scratch:
        with jax.profiler.trace(scratch, profiler_options=options):
            for number in range(6):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    weights = jax.block_until_ready(step(weights, inputs))
        (path,) = pathlib.Path(scratch).rglob("*.xplane.pb")
        (folder / "jax_steps.xplane.pb").write_bytes(path.read_bytes())


def tensorflow_steps(folder):
    """Five marked steps of TensorFlow and Keras, as an XPlane profile."""
    import tensorflow

    layers = tensorflow.keras.layers
    model = tensorflow.keras.Sequential([layers.Dense(512, activation="relu"), layers.Dense(10)])
    optimizer = tensorflow.keras.optimizers.SGD(0.01)
    loss_of = tensorflow.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.build((256, 512))
    optimizer.build(model.trainable_variables)

    @tensorflow.function
    def step(inputs, labels):
        with tensorflow.GradientTape() as tape:
            loss = loss_of(labels, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    batch = tensorflow.ones((256, 512)), tensorflow.zeros((256,), tensorflow.int32)
    batches = iter(tensorflow.data.Dataset.from_tensors(batch).repeat())
    step(*next(batches))
    profiler = tensorflow.profiler.experimental
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        profiler.start("profile", options=profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0))
        for number in range(5):
            with profiler.Trace("train", step_num=number, _r=1):
                float(step(*next(batches)))
        profiler.stop()
        (path,) = pathlib.Path("profile").rglob("*.xplane.pb")
        (folder / "tensorflow_steps.xplane.pb").write_bytes(path.read_bytes())


JOBS = {
    job.__name__: job
    for job in (
        pytorch_loop,
        pytorch_schedule,
        pytorch_compiled,
        pytorch_validation,
        pytorch_inference,
        pytorch_accumulation,
        pytorch_generator,
        pytorch_execution_trace,
        pytorch_ddp,
        pytorch_fsdp2,
        transformers_trainer,
        lightning_fit,
        jax_steps,
        tensorflow_steps,
    )
}

if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(*JOBS)
        sys.exit(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(sys.stderr):
        JOBS[sys.argv[1]](pathlib.Path(sys.argv[2]))
