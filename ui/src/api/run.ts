// The program of `headroom ui --run`: its state, and requests to start and stop it.
import { ask, tell } from "./client";

/** The parts of headroom.run/1 that the page uses. */
export interface Run {
  command: string;
  phase: "idle" | "running" | "stopping" | "reading";
  ended: number; // Number of ended runs.
  time_s: number;
  path: string | null;
  exit_code: number | null;
  stopped: boolean;
  problem: string | null;
  lines: string[];
}

export const fetchRun = (): Promise<Run> => ask("run", undefined, null);
export const beginRun = (): Promise<Run> => tell("run");
export const stopRun = (): Promise<Run> => tell("run/stop");
