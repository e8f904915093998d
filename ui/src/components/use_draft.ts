import { useEffect, useRef, useState } from "preact/hooks";

const SETTLED_MS = 300;

/** What is being set, ahead of the address: a slider moves faster than a browser takes addresses, and each would be a step back in
 * its history. It is committed once it stays; an address that comes from elsewhere wins. */
export function useDraft(text: string, commit: (text: string) => void): [string, (text: string) => void] {
  const [draft, setDraft] = useState(text);
  const committed = useRef(text);
  const latest = useRef(commit);
  latest.current = commit;
  useEffect(() => {
    if (text === committed.current) return;
    committed.current = text;
    setDraft(text);
  }, [text]);
  useEffect(() => {
    if (draft === committed.current) return;
    const timer = setTimeout(() => {
      committed.current = draft;
      latest.current(draft);
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [draft]);
  return [draft, setDraft];
}
