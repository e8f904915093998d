// A trace in which every name tries to be more than text.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Sets `pwned` if the page runs it. */
const SCRIPT = "globalThis.pwned=1";

export const NAMES = [
  `<script>${SCRIPT}</script>`,
  `</script><script>${SCRIPT}</script>`,
  `<!--<script>${SCRIPT}//-->`,
  `<img src=x onerror="${SCRIPT}">`,
  `"><svg onload=${SCRIPT}>`,
  `' autofocus onfocus='${SCRIPT}' x='`,
  `<style>@import '//evil.example';body{display:none}</style>`,
  `<a href="javascript:${SCRIPT}">javascript:${SCRIPT}</a>`,
  `\${${SCRIPT}} {{${SCRIPT}}} <%= ${SCRIPT} %>`,
  "\u202eright to left\u202d\u2066\u2067",
  "\u2028line\u2029paragraph\u0000\u001b[31m\u200b\ufeff",
  "\ud800 alone",
  "&lt;b&gt; &amp; &#60;script&#62;",
  "__proto__",
  "constructor",
  "",
];

/** Breaks any layout that does not wrap or cut names. */
const LONG = "x".repeat(100_000);

interface Event {
  ph: string;
  cat: string;
  name: string;
  pid: number | string;
  tid: number | string;
  ts: number;
  dur?: number;
  id?: number;
  args?: Record<string, unknown>;
}

/** Returns the events of one name in one step: a range, an operator, its launch, its kernel, ... */
function eventsOf(name: string, at: number, correlation: number): Event[] {
  const args = { correlation, "External id": correlation };
  return [
    { ph: "X", cat: "user_annotation", name, pid: 1, tid: 1, ts: at, dur: 90 },
    {
      ph: "X",
      cat: "python_function",
      name: `${name}.py(3): ${name}`,
      pid: 1,
      tid: 1,
      ts: at + 5,
      dur: 80,
      args: { "Python id": correlation },
    },
    {
      ph: "X",
      cat: "cpu_op",
      name: `aten::${name}`,
      pid: 1,
      tid: 1,
      ts: at + 10,
      dur: 60,
      args: { ...args, "Input Dims": [name], "Call stack": name },
    },
    { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: at + 20, dur: 10, args },
    {
      ph: "X",
      cat: "kernel",
      name,
      pid: 0,
      tid: 7,
      ts: at + 40,
      dur: 40,
      args: { ...args, stream: 7, device: 0, grid: [name], block: [1, 1, 1] },
    },
    {
      ph: "X",
      cat: "gpu_memcpy",
      name: `Memcpy HtoD ${name}`,
      pid: 0,
      tid: 7,
      ts: at + 82,
      dur: 5,
      args: { ...args, stream: 7, device: 0, bytes: name },
    },
    {
      ph: "i",
      cat: "cpu_instant_event",
      name: "[memory]",
      pid: 1,
      tid: 1,
      ts: at + 12,
      args: { "Total Allocated": 4096 * correlation, Bytes: 4096, "Device Id": 0, "Device Type": 1, Addr: name },
    },
    { ph: "M", cat: "", name: "process_name", pid: 1, tid: 1, ts: 0, args: { name, labels: name } },
    { ph: "M", cat: "", name: "thread_name", pid: 1, tid: 1, ts: 0, args: { name } },
  ];
}

/** Writes the trace, and returns its path. */
export function writeHostileTrace(folder: string): string {
  const events: Event[] = [];
  let correlation = 0;
  for (let step = 0; step < 4; ++step) {
    const begin = step * 100 * (NAMES.length + 1);
    events.push({
      ph: "X",
      cat: "user_annotation",
      name: `ProfilerStep#${step}`,
      pid: 1,
      tid: 1,
      ts: begin,
      dur: 100 * (NAMES.length + 1) - 1,
    });
    for (const [index, name] of [...NAMES, LONG].entries()) {
      events.push(...eventsOf(name, begin + 100 * index + 1, ++correlation));
    }
  }
  const trace = {
    schemaVersion: 1,
    deviceProperties: [{ id: 0, name: NAMES[0], totalGlobalMem: 1e9, numSms: 10, computeMajor: 9, computeMinor: 0 }],
    distributedInfo: { backend: NAMES[3], rank: 0, world_size: 1, pg_config: NAMES[4] },
    traceName: NAMES[1],
    traceEvents: events,
  };
  const path = join(folder, `<img src=x onerror=${SCRIPT}>'"&.json`);
  writeFileSync(path, JSON.stringify(trace));
  return path;
}
