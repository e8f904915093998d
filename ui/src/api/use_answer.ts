import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./client";
import { Latest } from "./latest";

export interface Answered<T> {
  answer: T | null;
  error: string; // Why the answer is missing; empty: it is present or pending.
  pending: boolean; // The answer has not arrived yet.
}

/** State of the hook: the last answered request, and the last answer, which may belong to an earlier request. */
export interface Kept<T> {
  path: string | null;
  answer: T | null;
  error: string;
}

/**
 * Returns the answer to show for a request.
 *
 * @param keepsLast  shows the last answer until the next arrives: for sliders, with `pending` to draw it pale
 */
export function shownOf<T>(kept: Kept<T>, path: string | null, keepsLast: boolean): Answered<T> {
  const pending = path !== null && kept.path !== path;
  const hides = path === null || (!keepsLast && (pending || kept.error !== ""));
  return { answer: hides ? null : kept.answer, error: path === null || pending ? "" : kept.error, pending };
}

/**
 * Returns the server's answer to a request, by its path after `api/v1/`; null requests nothing.
 *
 * @param keepsLast  true: shows the last answer until the next arrives, as in shownOf()
 */
export function useAnswer<T>(path: string | null, keepsLast = false): Answered<T> {
  const [state, setState] = useState<Kept<T>>({ path: null, answer: null, error: "" });
  const latest = useRef<Latest<string, T> | null>(null);
  latest.current ??= new Latest<string, T>(
    (question) => ask<T>(question),
    (question, answer, error) =>
      setState((before) => ({ path: question, answer: error === "" ? answer : before.answer, error })),
  );
  useEffect(() => {
    if (path === null) {
      latest.current?.drop();
      setState({ path: null, answer: null, error: "" });
    } else {
      latest.current?.request(path);
    }
  }, [path]);
  return shownOf(state, path, keepsLast);
}
