// The traces on which tests open the page.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT } from "./program";

export const BERT = join(ROOT, "data/samples/bert_base_amp_fp16_h200.json.gz");
export const WITHOUT_STEPS = join(ROOT, "tests/golden/steps-without-kernels/trace.json");
export const RESNET = join(ROOT, "data/samples/resnet50_fp32_h200.json.gz");

export const LOADER = join(ROOT, "data/samples/loader_one_worker.pftrace.gz");

const DATA = resolve(process.env.HEADROOM_DATA ?? join(ROOT, "../shared"));

/** Traces of different kinds: each lacks data that another has. */
const IN_CHECKOUT = {
  "host-bound": BERT,
  "GPU-bound": RESNET,
  "without a GPU": join(ROOT, "tests/golden/no-gpu/trace.json"),
  "without whole steps": WITHOUT_STEPS,
  "a rank that communicates": join(ROOT, "tests/golden/communication-exposed-and-hidden/trace.json"),
  "a recording of a loader": LOADER,
  "a recording": join(ROOT, "tests/golden/recording/trace.pftrace"),
};
const IN_DATA = {
  "an AMD GPU": "public-traces/hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
  "a rank of several": "public-traces/hta__trace_filter__sampled_rank-0.json.gz",
  inference: "public-traces/tracelens__inference__sglang_decode__sglang_Qwen3-8B_decode.json.gz",
};

export interface Trace {
  name: string;
  path: string;
}

export const TRACES: Trace[] = Object.entries(IN_CHECKOUT).map(([name, path]) => ({ name, path }));

/** The traces in HEADROOM_DATA. */
export const MORE_TRACES: Trace[] = Object.entries(IN_DATA).map(([name, path]) => ({ name, path: join(DATA, path) }));

/** Returns true if the trace exists; otherwise prints a warning. */
export function isThere(trace: Trace): boolean {
  if (existsSync(trace.path)) return true;
  process.stderr.write(`!! A TRACE IS MISSING, its tests are SKIPPED: ${trace.path}; set HEADROOM_DATA\n`);
  return false;
}
