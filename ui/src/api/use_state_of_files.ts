import { useCallback, useEffect, useState } from "preact/hooks";
import { ask } from "./client";
import { embeddedAnswers } from "./embedded";

export interface StateOfFiles {
  generation: number | null; // null: not known yet; what is asked now would be asked again.
  problem: string | null;
  can_run: boolean; // A program may be recorded again.
}

export interface KnownState extends StateOfFiles {
  isGone: boolean; // The server did not answer when it was last asked.
}

const INTERVAL_MS = 2000;

const isSame = (a: KnownState, b: KnownState) =>
  a.generation === b.generation && a.problem === b.problem && a.can_run === b.can_run && a.isGone === b.isGone;

const isOlder = (a: KnownState, b: KnownState) => (a.generation ?? 0) < (b.generation ?? 0);

/** Whether the traces were written anew, asked while somebody looks, and whenever `look` is called. A page that is a
 * file never changes. */
export function useStateOfFiles(): KnownState & { look: () => void } {
  const [state, setState] = useState<KnownState>({
    generation: embeddedAnswers() === null ? null : 0,
    problem: null,
    can_run: false,
    isGone: false,
  });
  const look = useCallback(() => {
    ask<StateOfFiles>("state", undefined, null).then(
      ({ generation, problem, can_run }) =>
        setState((before) => {
          const next = { generation, problem, can_run, isGone: false };
          if (isOlder(next, before)) return before; // An answer that another one has overtaken.
          return isSame(before, next) ? before : next;
        }),
      // The page's own first question waits for the generation.
      () =>
        setState((before) =>
          before.isGone ? before : { ...before, generation: before.generation ?? 0, isGone: true },
        ),
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
