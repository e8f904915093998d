import { useEffect, useRef, useState } from "preact/hooks";

const SETTLED_MS = 300;

/** What is being set, ahead of the address: a slider moves faster than a browser takes addresses, and each would be a
 * step back in its history. What moves is committed once it stays, all else at once; an address that comes from
 * elsewhere wins. */
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
