import { Copy, Download } from "lucide-preact";
import { save } from "./save";

/** Buttons of a table: save it, copy it. `csv` is called when one is pressed. */
export function TableButtons({ label, fileName, csv }: { label: string; fileName: string; csv: () => string }) {
  return (
    <p class="table-buttons">
      <button
        type="button"
        class="icon-button"
        aria-label={`Save as CSV: ${label}`}
        title="Save as CSV"
        onClick={() => save(fileName, new Blob([csv()], { type: "text/csv" }))}
      >
        <Download size={15} aria-hidden="true" /> CSV
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label={`Copy as CSV: ${label}`}
        title="Copy as CSV"
        onClick={() => navigator.clipboard?.writeText(csv()).catch(() => {})}
      >
        <Copy size={15} aria-hidden="true" /> Copy
      </button>
    </p>
  );
}
