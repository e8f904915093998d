import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./client";
import { Latest } from "./latest";

export interface Answered<T> {
  answer: T | null;
  error: string; // Why there is none; empty: there is, or may be.
  pending: boolean; // It is not there yet.
}

/** What a hook has: the last question that was answered, and the last answer, which may be of an earlier question. */
export interface Kept<T> {
  path: string | null;
  answer: T | null;
  error: string;
}

/** What is shown for a question.
 *
 * @param keepsLast  while the next answer is made, the last stays: for sliders, with `pending` to draw it pale */
export function shownOf<T>(kept: Kept<T>, path: string | null, keepsLast: boolean): Answered<T> {
  const pending = path !== null && kept.path !== path;
  const hides = path === null || (!keepsLast && (pending || kept.error !== ""));
  return { answer: hides ? null : kept.answer, error: path === null || pending ? "" : kept.error, pending };
}

/** The server's answer to a question, by its path behind `api/v1/`; null asks nothing.
 *
 * @param keepsLast  as shownOf() */
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
