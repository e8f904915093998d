"""Tests a real Slurm on this machine, one node: `srun`, and the batch script of examples/."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from integration import ranks, support

TRACE = "public-traces/hta__nccl_parser_config__nccl_data.json.gz"
SCRIPT = support.ROOT / "examples/slurm/report.sbatch"
RECORD = support.ROOT / "examples/slurm/record.sbatch"
PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "munged")
WORLD = 3
WAIT_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


class Slurm:
    """Slurm's controller and one node, with a separate key and ports."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "XDG_STATE_HOME": "/nonexistent"}

    def start(self):
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        munge = f"{self.folder}/munge"
        self._run(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={self.folder}/munge.key",
            f"--socket={munge}.socket",
            f"--pid-file={munge}.pid",
            f"--log-file={munge}.log",
            f"--seed-file={munge}.seed",
        )
        (self.folder / "slurm.conf").write_text(
            f"""ClusterName=headroom-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={munge}.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""
        )
        self._run("slurmctld", "-D")
        self._run("slurmd", "-D", "-f", self.folder / "slurm.conf")
        deadline = time.monotonic() + WAIT_S
        while self.say("sinfo", "--noheader", "-o", "%T").strip() != "idle":
            if time.monotonic() > deadline:
                raise unittest.SkipTest(f"Slurm's node does not come up here: {self.log()}")
            time.sleep(0.5)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(WAIT_S)

    def say(self, *command):
        return subprocess.run(
            [str(part) for part in command], env=self.environment, capture_output=True, text=True, timeout=2 * WAIT_S
        ).stdout

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-600:]

    def _run(self, *command):
        with (self.folder / "log").open("a") as log:
            self.processes.append(
                subprocess.Popen([str(part) for part in command], env=self.environment, stdout=log, stderr=log)
            )
        time.sleep(1)


class UnderSlurm(support.ProgramTest):
    folder: pathlib.Path
    slurm: Slurm

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not support.FULL:
            raise unittest.SkipTest("a real Slurm is started by tools/test --full only")
        os.environ["PATH"] += ":/usr/sbin"  # Debian's folder for daemons.
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing or os.geteuid() != 0:
            raise unittest.SkipTest(
                f"no Slurm here (packages slurm-wlm and munge; root): {', '.join(missing) or 'not root'}"
            )
        folder = tempfile.TemporaryDirectory(prefix="headroom-slurm-")
        cls.addClassCleanup(folder.cleanup)
        trace = ranks.load(support.data_file(TRACE))
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "traces").mkdir()
        for rank in range(WORLD):
            ranks.write(
                ranks.make_rank(trace, rank, WORLD, late_us=900 if rank == 1 else 0),
                cls.folder / f"traces/rank{rank}.json.gz",
            )
        cls.slurm = Slurm(cls.folder)
        cls.addClassCleanup(cls.slurm.stop)
        cls.slurm.start()

    def test_srun_gives_one_answer(self):
        arguments = ("report", self.folder / "traces", "--json", "--no-local-state")
        outcome = support.run(
            ["srun", "--mpi=pmix", "--overcommit", "-n", "3", support.BINARY, *arguments],
            seconds=WAIT_S,
            environment=self.slurm.environment,
        )
        self.assertEqual(outcome.text, support.headroom(*arguments).text, outcome)

    def test_without_pmix_it_says_what_to_do(self):
        outcome = support.run(
            ["srun", "--mpi=none", "--overcommit", "-n", "2", support.BINARY, "report", self.folder / "traces"],
            seconds=WAIT_S,
            environment=self.slurm.environment,
        )
        self.assertEqual((outcome.code, outcome.out, outcome.message.count("--mpi=pmix")), (2, b"", 1), outcome)

    def test_the_batch_script(self):
        self.slurm.say(
            "sbatch",
            "--wait",
            "--chdir",
            self.folder,
            "--nodes=1",
            "--ntasks-per-node=2",
            "--cpus-per-task=1",
            "--overcommit",
            "--output=answer.txt",
            f"--export=ALL,HEADROOM={support.BINARY}",
            SCRIPT,
            self.folder / "traces",
            "--only",
            "ranks",
            "--no-local-state",
        )
        answer = (self.folder / "answer.txt").read_text()
        self.assertIn("Rank 1", answer)
        for process in (0, 1):
            self.assertRegex(answer, rf"(?m)^process {process} on \S+: \d files? in")

    def test_the_script_that_records(self):
        program = self.write(
            "train.py",
            "import os, time\nimport headroom\n"
            "assert os.environ['MASTER_ADDR'] and os.environ['WORLD_SIZE'] == '2'\n"
            "for i in range(8):\n"
            "    with headroom.step(i), headroom.scope('work'):\n"
            "        time.sleep(0.002 * (1 + int(os.environ['RANK'])))\n",
        )
        self.slurm.say(
            "sbatch",
            "--wait",
            "--chdir",
            self.scratch,
            "--nodes=1",
            "--ntasks-per-node=2",
            "--gpus-per-node=0",
            "--cpus-per-task=1",
            "--overcommit",
            "--output=train.txt",
            f"--export=ALL,HEADROOM={support.BINARY},STEPS=2:5,FOLDER=out",
            RECORD,
            "/usr/bin/python3",
            program,
        )
        said = (self.scratch / "train.txt").read_text()
        for rank in (0, 1):
            report = support.headroom("report", "--json", self.scratch / f"out/rank{rank}.pftrace").json()
            self.assertEqual(report["inputs"][0]["rank"], rank, said)
            self.assertEqual([step["index"] for step in report["steps"]["list"]], [2, 3, 4, 5], said)
        self.assertIn("2 ranks", said)


if __name__ == "__main__":
    unittest.main()
