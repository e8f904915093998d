// The program of `headroom ui --run`: what it does now, and the two things that the page may ask of it.
import { ask, tell } from "./client";

/** What the page uses of headroom.run/1. */
export interface Run {
  command: string;
  phase: "idle" | "running" | "stopping" | "reading";
  ended: number; // Runs that have.
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
