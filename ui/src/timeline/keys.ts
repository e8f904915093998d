// Keys that work regardless of the focus.

/** Elements in which keys type text or choose an option. */
const FIELDS = "input, select, textarea, [contenteditable]";

export type KeyActions = Record<string, () => void>; // Indexed by KeyboardEvent.key; letters in lower case.

/** Runs the action of a key. */
export function act(event: KeyboardEvent, actions: KeyActions): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

/**
 * Listens on the whole page, except in fields, and ignores keys that were already handled. Returns a function that
 * removes the listener.
 */
export function listenToKeys(actions: KeyActions): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || (event.target instanceof Element && event.target.closest(FIELDS) !== null)) return;
    act(event, actions);
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}
