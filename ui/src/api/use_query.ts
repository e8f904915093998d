import { useEffect, useState } from "preact/hooks";
import { ask } from "./client";

interface Queried<T> {
  answer: T | null; // The last answer, which may belong to an earlier statement.
  error: string;
  pending: boolean;
  cancel: () => void;
}

/**
 * Requests an answer that may take long. A new request, `cancel` and leaving the view end the computation.
 *
 * @param path  as in ask(); null: none
 * @param run  a new number requests the same path again
 */
export function useQuery<T>(path: string | null, run: number): Queried<T> {
  const [answer, setAnswer] = useState<T | null>(null);
  const [error, setError] = useState("");
  const [abort, setAbort] = useState<AbortController | null>(null);
  useEffect(() => {
    setError("");
    if (path === null) {
      setAnswer(null);
      return;
    }
    const own = new AbortController();
    setAbort(own);
    const end = () => setAbort((now) => (now === own ? null : now));
    ask<T>(path, own.signal).then(
      (next) => {
        if (own.signal.aborted) return;
        setAnswer(next);
        end();
      },
      (failure: Error) => {
        if (!own.signal.aborted) setError(failure.message);
        end();
      },
    );
    return () => own.abort();
  }, [path, run]);
  // The last answer belongs to an earlier statement.
  const cancel = () => {
    abort?.abort();
    setError("The statement was cancelled.");
  };
  return { answer, error, pending: abort !== null, cancel };
}
