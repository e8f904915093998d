import { formatBytes, formatPercent } from "../format";
import type { Purpose } from "../model/memory";
import "./purposes.css";

/** Parts of a whole by purpose: one bar of all parts, and one line per part. */
export function Purposes({ label, purposes }: { label: string; purposes: Purpose[] }) {
  let from = 0;
  return (
    <div class="purposes">
      <svg width="100%" height="22" role="img" aria-label={label}>
        {purposes.map(({ key, color, share }) => {
          const x = from;
          from += share;
          return (
            <rect
              key={key}
              x={`${(100 * x).toFixed(3)}%`}
              width={`${(100 * share).toFixed(3)}%`}
              height="22"
              style={{ fill: `var(${color})` }}
            />
          );
        })}
      </svg>
      <table>
        <tbody>
          {purposes.map(({ key, title, meaning, color, bytes, share }) => (
            <tr key={key}>
              <th scope="row">
                <span class="purpose-swatch" style={{ background: `var(${color})` }} />
                {title}
              </th>
              <td class="number">{formatBytes(bytes)}</td>
              <td class="number">{formatPercent(100 * share)}</td>
              <td class="dim">{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
