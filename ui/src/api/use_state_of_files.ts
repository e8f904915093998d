import { useCallback, useEffect, useState } from "preact/hooks";
import { ask } from "./client";
import { embeddedAnswers } from "./embedded";

export interface StateOfFiles {
  generation: number | null; // null: not yet known; answers to requests made now would be discarded.
  problem: string | null;
  can_run: boolean; // The program can be recorded again.
}

export interface KnownState extends StateOfFiles {
  isGone: boolean; // The server did not answer the last request.
}

const INTERVAL_MS = 2000;

const isSame = (a: KnownState, b: KnownState) =>
  a.generation === b.generation && a.problem === b.problem && a.can_run === b.can_run && a.isGone === b.isGone;

const isOlder = (a: KnownState, b: KnownState) => (a.generation ?? 0) < (b.generation ?? 0);

/**
 * Polls the server for newly written traces while the page is visible, and whenever `look` is called. A page that is a
 * file never changes.
 */
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
          if (isOlder(next, before)) return before; // A newer answer has overtaken this one.
          return isSame(before, next) ? before : next;
        }),
      // The page's first request waits for the generation.
      () =>
        setState((before) =>
          before.isGone ? before : { ...before, generation: before.generation ?? 0, isGone: true },
        ),
    );
  }, []);
  useEffect(() => {
    if (embeddedAnswers() !== null) return;
    const glance = () => document.visibilityState === "visible" && look();
    look(); // Looks even if the page is in the background: otherwise it would have nothing to show.
    const timer = setInterval(glance, INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  return { ...state, look };
}
