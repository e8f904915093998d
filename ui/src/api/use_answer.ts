import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./client";
import { Latest } from "./latest";

export interface Answered<T> {
  answer: T | null; // The last that came, also while the next is made.
  error: string; // Of the last question that was answered; empty: it was.
  pending: boolean; // The answer is of another question than the one that is asked.
}

/** The server's answer to a question, by its path behind `api/v1/`; null asks nothing. */
export function useAnswer<T>(path: string | null): Answered<T> {
  const [state, setState] = useState<{ path: string | null; answer: T | null; error: string }>({ path: null, answer: null, error: "" });
  const latest = useRef<Latest<string, T> | null>(null);
  latest.current ??= new Latest<string, T>(
    (question) => ask<T>(question),
    (question, answer, error) => setState((before) => ({ path: question, answer: error === "" ? answer : before.answer, error })),
  );
  useEffect(() => {
    if (path === null) {
      latest.current?.drop();
      setState({ path: null, answer: null, error: "" });
    } else {
      latest.current?.request(path);
    }
  }, [path]);
  return { answer: path === null ? null : state.answer, error: path === null ? "" : state.error, pending: path !== null && state.path !== path };
}
