import { Check, Copy } from "lucide-preact";
import { useState } from "preact/hooks";
import "./command.css";

const SHOWN_MS = 1500;

/** A command for a shell, with a button that copies it. A browser may forbid to copy; the text can then be selected. */
export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(text).then(
      () => {
        setCopied(true);
        setTimeout(() => setCopied(false), SHOWN_MS);
      },
      () => {},
    );
  const Icon = copied ? Check : Copy;
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="icon-button" aria-label={copied ? "Copied" : `Copy: ${text}`} onClick={copy}>
        <Icon size={15} aria-hidden="true" />
      </button>
    </span>
  );
}
