import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { beginRun, fetchRun, type Run, stopRun } from "./run";

const IDLE_MS = 2000;
const BUSY_MS = 500;

export interface RunState {
  run: Run | null; // null: no program, or not yet known.
  refused: string; // Why the last press had no effect; empty: it had one.
  begin: () => void;
  stop: () => void;
}

/**
 * Polls the state of the program that can be recorded again while the page is visible. Calls `onEnd` when a run ends.
 */
export function useRun(canRun: boolean, onEnd: () => void): RunState {
  const [run, setRun] = useState<Run | null>(null);
  const [refused, setRefused] = useState("");
  const ended = run?.ended;
  const known = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (known.current !== undefined && ended !== known.current) onEnd();
    known.current = ended;
  }, [ended]);

  const isBusy = run !== null && run.phase !== "idle";
  useEffect(() => {
    if (!canRun) return;
    const look = () => {
      // useStateOfFiles() reports failures.
      if (document.visibilityState === "visible") fetchRun().then(setRun, () => {});
    };
    look();
    const timer = setInterval(look, isBusy ? BUSY_MS : IDLE_MS);
    return () => clearInterval(timer);
  }, [canRun, isBusy]);

  const asking = useRef(false); // Guards against a double click: the second press arrives before the first answer.
  const press = useCallback((asked: () => Promise<Run>) => {
    if (asking.current) return;
    asking.current = true;
    setRefused("");
    asked()
      .then(setRun, (failure: Error) => setRefused(failure.message))
      .finally(() => (asking.current = false));
  }, []);
  return { run, refused, begin: () => press(beginRun), stop: () => press(stopRun) };
}
