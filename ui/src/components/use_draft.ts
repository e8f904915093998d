import { useEffect, useRef, useState } from "preact/hooks";

const SETTLED_MS = 300;

/**
 * Keeps a setting ahead of the address. A slider moves faster than a browser accepts addresses, and each address would
 * add a step to its history. A moving value is committed when it settles; all other changes at once. A new address from
 * elsewhere overrides the draft.
 */
export function useDraft(
  text: string,
  commit: (text: string) => void,
): [string, (text: string, moves?: boolean) => void] {
  const [draft, setDraft] = useState(text);
  const committed = useRef(text);
  const latest = useRef(commit);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  latest.current = commit;
  useEffect(() => {
    if (text === committed.current) return;
    clearTimeout(timer.current);
    committed.current = text;
    setDraft(text);
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const set = (next: string, moves = false) => {
    const settle = () => {
      if (next === committed.current) return;
      committed.current = next;
      latest.current(next);
    };
    clearTimeout(timer.current);
    setDraft(next);
    if (moves) timer.current = setTimeout(settle, SETTLED_MS);
    else settle();
  };
  return [draft, set];
}
