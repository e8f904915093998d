import { useCallback, useEffect, useState } from "preact/hooks";
import { ask } from "./client";
import { embeddedAnswers } from "./embedded";

export interface StateOfFiles {
  generation: number | null; // null: not known yet; what is asked now would be asked again.
  problem: string | null;
  can_run: boolean; // A program may be recorded again.
}

const INTERVAL_MS = 2000;

const isSame = (a: StateOfFiles, b: StateOfFiles) => a.generation === b.generation && a.problem === b.problem && a.can_run === b.can_run;

/** Whether the traces were written anew, asked while somebody looks, and whenever `look` is called. A page that is a file never
 * changes. */
export function useStateOfFiles(): StateOfFiles & { look: () => void } {
  const [state, setState] = useState<StateOfFiles>({ generation: embeddedAnswers() === null ? null : 0, problem: null, can_run: false });
  const look = useCallback(() => {
    ask<StateOfFiles>("state").then(
      (next) => setState((before) => (isSame(before, next) ? before : next)),
      // The next question says that the server is gone; the first one, that of the page, waits for this.
      () => setState((before) => (before.generation === null ? { ...before, generation: 0 } : before)),
    );
  }, []);
  useEffect(() => {
    if (embeddedAnswers() !== null) return;
    const glance = () => document.visibilityState === "visible" && look();
    look(); // Also of a page in the background, which would else have nothing to show.
    const timer = setInterval(glance, INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  return { ...state, look };
}
