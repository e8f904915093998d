// A training job of several ranks: a trace per rank, each on its own clock.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const RANKS = 8;
export const LATE_RANK = 5;
const LATE_US = 3000;
const STEPS = 12;
const BUCKETS = 4;
const KERNELS_PER_BUCKET = 12;
const FORWARD_KERNELS = 32;
const TRANSFER_US = 900;

/** A few pseudo-random numbers from 0 to 1, the same on every machine. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

interface Collective {
  name: string;
  group: string;
  description: string;
  ranks: number[];
}

/** Writes the events of one rank, with times in us on its own clock. */
class RankWriter {
  private readonly events: object[] = [];
  private correlation = 0;

  constructor(
    private readonly rank: number,
    private readonly offsetUs: number,
  ) {}

  private add(event: Record<string, unknown> & { ts: number }): void {
    this.events.push({ ph: "X", pid: 1, ...event, ts: Number((event.ts + this.offsetUs).toFixed(3)) });
  }

  range(name: string, from: number, to: number): void {
    this.add({ cat: "user_annotation", name, tid: 1, ts: from, dur: to - from });
  }

  kernel(name: string, from: number, to: number, stream: number, args: object = {}): void {
    const correlation = ++this.correlation;
    const launch = from - 40;
    this.add({
      cat: "cpu_op",
      name: `aten::${name}`,
      tid: 1,
      ts: launch - 4,
      dur: 10,
      args: { "External id": correlation },
    });
    this.add({ cat: "cuda_runtime", name: "cudaLaunchKernel", tid: 1, ts: launch, dur: 4, args: { correlation } });
    this.add({
      cat: "kernel",
      name,
      pid: 0,
      tid: stream,
      ts: from,
      dur: to - from,
      args: { correlation, "External id": correlation, device: 0, stream, ...args },
    });
  }

  collective({ name, group, description, ranks }: Collective, from: number, to: number): void {
    const kernel = `ncclDevKernel_${name === "allreduce" ? "AllReduce_Sum_f32_RING_LL" : "SendRecv"}(ncclDevKernelArgsStorage<4096ul>)`;
    this.kernel(kernel, from, to, 20, {
      "Collective name": name,
      "In msg nelems": 6_553_600,
      "Out msg nelems": 6_553_600,
      dtype: "Float",
      "Group size": ranks.length,
      "Process Group Name": group,
      "Process Group Description": description,
      "Process Group Ranks": `[${ranks.join(", ")}]`,
    });
  }

  write(folder: string): void {
    const trace = {
      schemaVersion: 1,
      deviceProperties: [
        {
          id: 0,
          name: "NVIDIA A100-SXM4-80GB",
          totalGlobalMem: 85_000_000_000,
          numSms: 108,
          computeMajor: 8,
          computeMinor: 0,
        },
      ],
      distributedInfo: { backend: "nccl", rank: this.rank, world_size: RANKS },
      traceEvents: this.events,
    };
    const file = `node${1 + Math.floor(this.rank / 4)}_${4711 + this.rank}.1700000000000.pt.trace.json`;
    writeFileSync(join(folder, file), JSON.stringify(trace));
  }
}

/**
 * Writes the traces into a new folder. Rank LATE_RANK arrives 3 ms after the others in most steps.
 *
 * @param pipeline  true: neighbouring ranks send to each other, as stages of a pipeline do; no rank is late
 */
export function writeJobOfRanks(parent: string, pipeline = false): string {
  const folder = join(parent, "traces");
  mkdirSync(folder);
  const random = noise(7);
  const writers = Array.from({ length: RANKS }, (_, rank) => new RankWriter(rank, 1e6 * rank + 250));
  const all = writers.map((_, rank) => rank);
  let begin = 1000;
  for (let step = 0; step < STEPS; ++step) {
    const late = !pipeline && step % 5 !== 3;
    const at = writers.map((_, rank) => begin + 600 + 80 * random() + (late && rank === LATE_RANK ? LATE_US : 0));
    const begins = [...at];
    const compute = (rank: number, name: string, length: number) => {
      const from = at[rank] ?? 0;
      writers[rank]?.kernel(name, from, from + length, 7);
      at[rank] = from + length + 15 + 30 * random();
    };
    for (const rank of all) {
      for (let kernel = 0; kernel < FORWARD_KERNELS; ++kernel) compute(rank, "sm80_xmma_gemm_f32", 60 + 60 * random());
    }
    for (let stage = 0; pipeline && stage < RANKS; stage += 2) {
      const pair = [stage, stage + 1];
      const end = Math.max(...pair.map((rank) => at[rank] ?? 0)) + 150;
      pair.forEach((rank, index) => {
        const group = { name: index === 0 ? "send" : "recv", group: `pp${stage}`, description: "mesh_pp", ranks: pair };
        writers[rank]?.collective(group, at[rank] ?? 0, end);
        at[rank] = end + 10;
      });
    }
    let free = 0; // End of the bucket before.
    for (let bucket = 0; bucket < BUCKETS; ++bucket) {
      for (const rank of all) {
        for (let kernel = 0; kernel < KERNELS_PER_BUCKET; ++kernel)
          compute(rank, "sm80_xmma_wgrad_f32", 90 + 80 * random());
      }
      const arrivals = at.map((time) => Math.max(time, free + 5));
      free = Math.max(...arrivals) + TRANSFER_US;
      for (const rank of all)
        writers[rank]?.collective(
          { name: "allreduce", group: "0", description: "default_pg", ranks: all },
          arrivals[rank] ?? 0,
          free,
        );
    }
    const end = free + 200;
    for (const rank of all) {
      at[rank] = free + 20;
      compute(rank, "multi_tensor_apply_kernel", 150);
      writers[rank]?.range(`ProfilerStep#${step}`, (begins[rank] ?? 0) - 500, end);
    }
    begin = end + 20;
  }
  for (const writer of writers) writer.write(folder);
  return folder;
}

/** Writes the traces once, and removes them when this process ends. */
export function jobOfRanks(): string {
  const parent = mkdtempSync(join(tmpdir(), "headroom-ranks-"));
  process.on("exit", () => rmSync(parent, { recursive: true, force: true }));
  return writeJobOfRanks(parent);
}
