import { useEffect, useMemo, useState } from "preact/hooks";

/** Returns true if the user prefers dark pages; follows later changes. */
export function useDark(): boolean {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const follow = () => setDark(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, [query]);
  return dark;
}
