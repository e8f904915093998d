import { useEffect, useState } from "preact/hooks";
import { ask } from "./client";
import { embeddedAnswers } from "./embedded";

export interface StateOfFiles {
  generation: number;
  problem: string | null;
}

const INTERVAL_MS = 2000;

/** Whether the traces were written anew, asked while somebody looks. A page that is a file never changes. */
export function useStateOfFiles(): StateOfFiles {
  const [state, setState] = useState<StateOfFiles>({ generation: 0, problem: null });
  useEffect(() => {
    if (embeddedAnswers() !== null) return;
    const look = () => {
      if (document.visibilityState !== "visible") return;
      ask<StateOfFiles>("state").then(
        (next) => setState((before) => (before.generation === next.generation && before.problem === next.problem ? before : next)),
        () => {}, // The next question that the user asks says that the server is gone.
      );
    };
    look();
    const timer = setInterval(look, INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  return state;
}
