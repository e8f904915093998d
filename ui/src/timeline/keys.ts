// Keys that act wherever the focus is.

/** Where keys write, or choose. */
const FIELDS = "input, select, textarea, [contenteditable]";

export type KeyActions = Record<string, () => void>; // By KeyboardEvent.key, letters as small ones.

/** Does what belongs to a key. */
export function act(event: KeyboardEvent, actions: KeyActions): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

/** On the whole page, but in its fields, and but for keys that were used already. Returns what ends it. */
export function listenToKeys(actions: KeyActions): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || (event.target instanceof Element && event.target.closest(FIELDS) !== null)) return;
    act(event, actions);
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}
