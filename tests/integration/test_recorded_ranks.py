"""Tests recordings of ranks that communicate on the CPU: who waits for whom, without GPU work."""
import socket

from integration import support

RUNS_ALONE = True  # Other tests would delay the ranks.
STEPS, LATE_MS = 25, 40

# Two ranks with DistributedDataParallel on gloo. Rank 1 is late each step, by its loader or by its own code.
JOB = f"""
import os, sys, time, torch, torch.distributed as dist

rank, cause = int(os.environ["RANK"]), sys.argv[1]
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return {STEPS} * 4
    def __getitem__(self, index):
        if cause == "loader" and rank == 1:
            time.sleep({LATE_MS} / 4e3)
        return torch.randn(64)

def late():
    time.sleep({LATE_MS} / 1e3)

for batch in torch.utils.data.DataLoader(Data(), batch_size=4):
    optimizer.zero_grad()
    loss = model(batch).sum()
    if cause == "code" and rank == 1:
        late()
    loss.backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class RecordedRanks(support.ProgramTest):
    def record(self, cause):
        if not support.has_module("/usr/bin/python3", "torch"):
            self.skipTest("/usr/bin/python3 has no torch; tools/setup installs it")
        job = self.write("job.py", JOB)
        folder = self.scratch / cause
        folder.mkdir()
        ranks = f"for r in 0 1; do RANK=$r /usr/bin/python3 {job} {cause} & done; wait"
        outcome = support.headroom(
            "record",
            "-q",
            "-o",
            folder / "job.pftrace",
            "--",
            "bash",
            "-c",
            ranks,
            environment={"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"},
        )
        self.assertEqual(outcome.code, 0, outcome.message)
        return folder

    def test_ranks_of_an_earlier_recording_are_not_mixed_with_new_ones(self):
        folder = self.record("code")
        (folder / "job.pftrace").unlink()
        further = next(folder.iterdir())
        other = folder / "job.pftrace.2025"
        other.write_text("mine")
        outcome = support.headroom("record", "-o", folder / "job.pftrace", "--", "true")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn(f"{further} already exists", outcome.message)
        outcome = support.headroom("record", "-f", "-o", folder / "job.pftrace", "--", "true")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["job.pftrace", "job.pftrace.2025"])

    def breakdowns(self, folder):
        """Returns the parts of the mean step, by rank."""
        return [self.report(folder / "job.pftrace", "--rank", str(rank))["step_breakdown"] for rank in (0, 1)]

    def test_the_wait_at_the_end_of_backward_is_communication(self):
        """Rank 0 waits as long as rank 1 is late."""
        for cause in ("loader", "code"):
            with self.subTest(cause):
                folder = self.record(cause)
                parts = self.breakdowns(folder)
                # Both ranks take part in the transfer. Only rank 0 waits for rank 1.
                waits = parts[0]["communication_ms"] - parts[1]["communication_ms"]
                self.assertAlmostEqual(waits, LATE_MS, delta=LATE_MS / 2)
                report = self.report(folder / "job.pftrace")  # It stands for all ranks.
                self.assertEqual(sorted(row["rank"] for row in report["inputs"]), [0, 1])
                job = report["job_ranks"]
                late = max(job["waits"], key=lambda rank: rank["caused_ms"])
                self.assertEqual(late["rank"], 1)
                self.assertAlmostEqual(late["caused_ms"] / STEPS, LATE_MS, delta=LATE_MS / 2)
                self.assertIn("Rank 1 holds the others up", job["sentence"])
        lines = [row for row in self.report(folder)["stacks"] if row["part"] == "other"]
        alone = self.report(folder / "job.pftrace", "--rank", "1")
        self.assertEqual([row["rank"] for row in alone["inputs"]], [1])
        self.assertTrue(any("job.py" in row["stack"] and row["stack"].endswith("late") for row in lines), lines)
