import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { beginRun, fetchRun, type Run, stopRun } from "./run";

const IDLE_MS = 2000;
const BUSY_MS = 500;

export interface RunState {
  run: Run | null; // null: there is none to ask for, or it is not known yet.
  refused: string; // Why the last press did nothing; empty: it did.
  begin: () => void;
  stop: () => void;
}

/** The program that may be recorded again, asked while somebody looks; `onEnd` is called when a run has ended. */
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
      if (document.visibilityState === "visible") fetchRun().then(setRun, () => {}); // As with the state of the files.
    };
    look();
    const timer = setInterval(look, isBusy ? BUSY_MS : IDLE_MS);
    return () => clearInterval(timer);
  }, [canRun, isBusy]);

  const asking = useRef(false); // The second press of a double click comes before the first is answered.
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
