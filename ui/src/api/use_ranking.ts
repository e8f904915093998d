import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./client";
import { embeddedAnswers } from "./embedded";
import type { WhatIf } from "./types";

export interface Progress {
  done: number;
  of: number;
}

export interface Ranking {
  answer: WhatIf | null;
  error: string;
  progress: Progress | null; // null: done, cancelled, or not yet known.
  isCancelled: boolean;
  cancel: () => void;
}

const INTERVAL_MS = 300;

/**
 * Requests the forecast of each change alone, with its progress. Leaving the page's view ends the computation.
 *
 * @param asks  false: requests nothing yet
 */
export function useRanking(asks: boolean): Ranking {
  const [answer, setAnswer] = useState<WhatIf | null>(null);
  const [error, setError] = useState("");
  const [progress, setProgress] = useState<Progress | null>(null);
  const [isCancelled, setCancelled] = useState(false);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => {
    if (!asks) return;
    const own = new AbortController();
    abort.current = own;
    let timer = 0;
    let isDone = false;
    const pollLater = () => {
      if (!isDone) timer = window.setTimeout(poll, INTERVAL_MS);
    };
    const poll = () =>
      ask<Progress>("whatif/progress", own.signal).then(
        (next) => {
          if (!isDone) setProgress(next);
          pollLater();
        },
        pollLater, // The ranking itself reports a failure.
      );
    if (embeddedAnswers() === null) pollLater();
    const end = () => {
      isDone = true;
      clearTimeout(timer);
      setProgress(null);
    };
    ask<WhatIf>("whatif", own.signal).then(
      (next) => {
        end();
        setAnswer(next);
      },
      (failure: Error) => {
        end();
        if (!own.signal.aborted) setError(failure.message);
      },
    );
    return () => {
      isDone = true;
      clearTimeout(timer);
      own.abort();
    };
  }, [asks]);
  const cancel = () => {
    setCancelled(true);
    abort.current?.abort();
  };
  return { answer, error, progress, isCancelled, cancel };
}
