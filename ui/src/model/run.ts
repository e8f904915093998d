// Sentences about the state of the program's run.
import type { Run } from "../api/run";

/** Elapsed time: "7 s", "3 min 07 s", "2 h 05 min". */
export function elapsed(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (part: number) => String(part).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

export interface Told {
  text: string;
  isBad: boolean; // True: the run gave no new result, and the page keeps the earlier one.
}

/** Returns the state of the current or the last run; null: there was none. */
export function toldOf(run: Run): Told | null {
  switch (run.phase) {
    case "running":
      return { text: "Recording.", isBad: false };
    case "stopping":
      return { text: "Stopping: the program has a few seconds to exit.", isBad: false };
    case "reading":
      return { text: "The program has ended. Headroom reads the recording.", isBad: false };
    case "idle":
      return run.ended === 0 ? null : end(run);
  }
}

function end(run: Run): Told {
  const code = run.exit_code === null || run.exit_code === 0 ? "" : `exit code ${run.exit_code}`;
  if (run.problem !== null) {
    const how = run.stopped ? "The program was stopped. " : code === "" ? "" : `The program ended with ${code}. `;
    const kept = run.path === null ? "" : ` The recording is kept: ${run.path}.`;
    return {
      text: `The page is unchanged. ${how}${run.problem.charAt(0).toUpperCase()}${run.problem.slice(1)}.${kept}`,
      isBad: true,
    };
  }
  const how = run.stopped
    ? " It was stopped; the page shows its work up to then."
    : code === ""
      ? ""
      : ` The program ended with ${code}; the page shows its work up to then.`;
  return { text: `Recorded into ${run.path}.${how}`, isBad: false };
}
