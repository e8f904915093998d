"""Experiment trackers: MLflow and Weights & Biases, both with a local folder."""

import json

from frameworks.programs import SAMPLE, FrameworkTest

# Each program logs the times of a timer and the summary of a trace, then reads the logged values back.
TIMER = """
    timer = headroom.timer.Timer()
    for _ in range(3):
        with timer.scope(headroom.timer.TimeType.BATCH):
            time.sleep(0.001)
"""
MLFLOW = f"""
    import json, sys, time
    import headroom, mlflow
    {TIMER}
    mlflow.set_tracking_uri("sqlite:///runs.db")
    with mlflow.start_run() as run:
        timer.log_mlflow_all(prefix="times")
        summary = headroom.log_summary(sys.argv[1], mlflow)
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
    print(json.dumps([timer.get_time_stats("BATCH").mean, summary, logged]))
"""
WANDB = f"""
    import json, sys, time
    import headroom, wandb
    {TIMER}
    run = wandb.init(project="headroom", mode="offline", dir=".")
    timer.log_wb_all(prefix="times")
    summary = headroom.log_summary(sys.argv[1], run)
    logged = {{key: value for key, value in dict(run.summary).items() if not key.startswith("_")}}
    run.finish()
    print(json.dumps([timer.get_time_stats("BATCH").mean, summary, logged]))
"""


class Trackers(FrameworkTest):
    def check(self, program):
        outcome = self.run_program(program, SAMPLE)
        mean, summary, logged = json.loads(outcome.text.splitlines()[-1])
        self.assertGreater(summary["headroom_step_seconds/p50"], 0)
        self.assertEqual(logged, {"times/BATCH": mean, **summary})

    def test_mlflow(self):
        self.check(MLFLOW)

    def test_wandb(self):
        self.check(WANDB)
        self.assertTrue(list(self.scratch.rglob("*.wandb")))
