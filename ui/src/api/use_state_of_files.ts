import { useCallback, useEffect, useState } from "preact/hooks";
import { ask } from "./client";
import { embeddedAnswers } from "./embedded";

export interface StateOfFiles {
  generation: number;
  problem: string | null;
  can_run: boolean; // A program may be recorded again.
}

const INTERVAL_MS = 2000;

const isSame = (a: StateOfFiles, b: StateOfFiles) => a.generation === b.generation && a.problem === b.problem && a.can_run === b.can_run;

/** Whether the traces were written anew, asked while somebody looks, and whenever `look` is called. A page that is a file never
 * changes. */
export function useStateOfFiles(): StateOfFiles & { look: () => void } {
  const [state, setState] = useState<StateOfFiles>({ generation: 0, problem: null, can_run: false });
  const look = useCallback(() => {
    ask<StateOfFiles>("state").then(
      (next) => setState((before) => (isSame(before, next) ? before : next)),
      () => {}, // The next question that the user asks says that the server is gone.
    );
  }, []);
  useEffect(() => {
    if (embeddedAnswers() !== null) return;
    const glance = () => document.visibilityState === "visible" && look();
    glance();
    const timer = setInterval(glance, INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  return { ...state, look };
}
