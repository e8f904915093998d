// Runs the program under test as a user runs it.
import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export const ROOT = resolve(__dirname, "../../..");
export const BINARY = resolve(process.env.HEADROOM_BINARY ?? join(ROOT, "build/release/headroom"));

/** Data that Headroom learned on this machine would change figures. */
const LOCAL = "--no-local-state";

/** Returns the stdout of `headroom ARGS`. */
export function headroom(...args: string[]): string {
  return execFileSync(BINARY, args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
}

export const reportOf = (trace: string) => JSON.parse(headroom("report", trace, "--json", "-q", LOCAL));
export const whatIfOf = (trace: string, ...scenarios: string[]) =>
  JSON.parse(headroom("whatif", trace, ...scenarios, "--json", "-q", LOCAL));

export interface Ui {
  link: string;
  stop: () => Promise<void>;
}

/** Starts `headroom ui TRACE`, and waits for its link. Relative paths begin at the checkout. */
export const startUi = (trace: string): Promise<Ui> => startUiIn(ROOT, trace);

/** Starts `headroom ui ARGS` in a folder. */
export async function startUiIn(cwd: string, ...args: string[]): Promise<Ui> {
  const program = spawn(BINARY, ["ui", ...args, LOCAL, "-q"], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((done) => program.once("exit", done));
  const link = await Promise.race([
    firstLine(program),
    ended.then((code) => Promise.reject(new Error(`headroom ui ended with ${code}`))),
  ]);
  const stop = async () => {
    program.kill("SIGTERM");
    const code = await ended;
    if (code !== 0) throw new Error(`headroom ui ended by SIGTERM with ${code}`);
  };
  return { link, stop };
}

function firstLine(program: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  return new Promise((done) => createInterface(program.stdout).once("line", done));
}

/** Calls `use` with a temporary folder. */
export async function withScratch<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "headroom-e2e-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
