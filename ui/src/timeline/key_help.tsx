import { useEffect, useRef } from "preact/hooks";
import "./key_help.css";

/** The keys and gestures of the timeline; docs/ui.md has the same. */
const KEYS: [string, string][] = [
  ["W, S", "zoom in, zoom out"],
  ["A, D", "move left, move right"],
  ["F", "show the selected span"],
  ["0", "show the whole trace"],
  ["/", "search"],
  ["Arrows", "move from span to span, on the drawing"],
  ["Escape", "clear the selection"],
  ["?", "these keys"],
  ["Drag", "move"],
  ["Ctrl and wheel, or two fingers", "zoom"],
  ["Shift and drag", "measure a range"],
  ["Strip above", "click or drag to move the window; double-click shows the whole trace"],
];

/** A dialog with the keys. */
export function KeyHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="key-help" aria-labelledby="keys" onClose={onClose}>
      <h2 id="keys">Keys of the timeline</h2>
      <dl>
        {KEYS.map(([key, action]) => (
          <>
            <dt>{key}</dt>
            <dd>{action}</dd>
          </>
        ))}
      </dl>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
