import type { Report } from "../api/types";
import { formatCount, formatMs, formatPercent } from "../format";
import { Bar } from "./bar";

/** If less than this share of the recording lies outside steps, the table is not shown. */
const WORTH_A_TABLE_PCT = 1;

/** The steps by kind, if kinds differ or their tokens are known. */
export function Kinds({ report }: { report: Report }) {
  const kinds = report.steps.kinds ?? [];
  if (kinds.length === 0) return null;
  return (
    <section aria-labelledby="kinds" class="card">
      <h2 id="kinds">Steps by kind</h2>
      {kinds.length > 1 && <p class="dim">{`Other figures are for the kind "${kinds[0]?.kind}".`}</p>}
      <table class="step-parts">
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col" class="number">
              Steps
            </th>
            <th scope="col" class="number">
              Time
            </th>
            <th scope="col" class="number">
              Mean step
            </th>
            <th scope="col" class="wide">
              Tokens
            </th>
          </tr>
        </thead>
        <tbody>
          {kinds.map((row) => (
            <tr key={row.kind}>
              <th scope="row">{row.kind ?? "unknown"}</th>
              <td class="number">{formatCount(row.count)}</td>
              <td class="number">{formatPercent(row.share_pct)}</td>
              <td class="number">{formatMs(row.mean_ms)}</td>
              <td class="wide">
                {row.tokens_per_s !== null && `${formatCount(Math.round(row.tokens_per_s))} tokens/s`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Time of the recording by part. */
export function Recording({ report }: { report: Report }) {
  const run = report.run;
  const usual = run?.parts[0];
  if (!run || !usual || 100 - usual.share_pct < WORTH_A_TABLE_PCT) return null;
  return (
    <section aria-labelledby="recording" class="card">
      <h2 id="recording">{formatMs(run.wall_ms)} recorded</h2>
      <table class="step-parts">
        <caption class="dim">Time of the recording by part: each moment belongs to one row.</caption>
        <tbody>
          {run.parts.map((part) => (
            <tr key={part.name}>
              <th scope="row" title={part.longest ?? undefined}>
                {part.name}
              </th>
              <td class="number">{formatMs(part.time_ms)}</td>
              <td class="number">{formatPercent(part.share_pct)}</td>
              <td class="wide">
                <Bar
                  share={part.share_pct / 100}
                  busy={part.share_pct / 100}
                  label={`${part.name}: ${formatMs(part.time_ms)} of the recording`}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
