"""Times all-reduces between machines, for `headroom calibrate --network`.

usage: calibrate_network.py ADDRESS:PORT RANK WORLD BACKEND SECONDS

Start one process on each machine, with the address of rank 0. The last line of rank 0's stdout is JSON. It has the
PyTorch version and, for each size, `bytes` and the median `ms` of a float32 all-reduce that all ranks begin together.
Requires PyTorch; nccl requires a GPU.
"""

import datetime
import json
import os
import statistics
import sys
import time

import torch
from torch import distributed

SIZES = [1 << power for power in range(10, 27, 2)]  # 1 KiB to 64 MiB.
FEWEST, MOST = 5, 200  # Repetitions per size.
TIMEOUT = datetime.timedelta(seconds=60)


def measure(tensor, repetitions, synchronize):
    times = []
    for _ in range(repetitions):
        distributed.barrier()
        synchronize()
        begin = time.perf_counter()
        distributed.all_reduce(tensor)
        synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def main():
    master, rank, world, backend, seconds = (
        sys.argv[1],
        int(sys.argv[2]),
        int(sys.argv[3]),
        sys.argv[4],
        float(sys.argv[5]),
    )
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = master.rsplit(":", 1)
    if backend == "nccl" and not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here, and nccl requires one; --backend gloo measures between the hosts")
    device = torch.device("cuda", 0) if backend == "nccl" else torch.device("cpu")
    synchronize = torch.cuda.synchronize if backend == "nccl" else lambda: None
    torch.set_num_threads(1)
    distributed.init_process_group(backend, rank=rank, world_size=world, timeout=TIMEOUT)
    results = []
    for size in SIZES:
        tensor = torch.ones(size // 4, device=device)
        warm = statistics.median(measure(tensor, 3, synchronize))
        # Rank 0 decides the number of repetitions, because all ranks must run the same number.
        wanted = torch.tensor([max(FEWEST, min(MOST, int(1e3 * seconds / len(SIZES) / warm)))], device=device)
        distributed.broadcast(wanted, 0)
        times = measure(tensor, int(wanted), synchronize)
        results.append({"bytes": size, "ms": statistics.median(times)})
    distributed.destroy_process_group()
    if rank == 0:
        print(json.dumps({"torch": torch.__version__, "all_reduces": results}))


if __name__ == "__main__":
    main()
