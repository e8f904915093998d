// Every number of the page has its unit from here, as the command line writes it.

function decimalsOf(ms: number): number {
  const size = Math.abs(ms);
  if (size < 0.9995) return 3;
  return size < 999.995 ? 2 : 1;
}

/** "12.34 ms". */
export function formatMs(ms: number | null): string {
  if (ms === null) return "not known";
  if (ms === 0) return "0 ms";
  return `${ms.toFixed(decimalsOf(ms))} ms`;
}

const TIME_UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

/** "1.234 ms", "350 ns": in the unit that fits, to the nanosecond at most. */
export function formatNs(ns: number): string {
  const [size, unit] = TIME_UNITS.find(([one]) => Math.abs(ns) >= one) ?? [1, "ns"];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

/** Places on an axis with marks every `step` ns: all in one unit, with the decimals that tell them apart. */
export function formatMark(ns: number, step: number): string {
  const [size, unit] = TIME_UNITS.find(([one]) => step >= one) ?? [1, "ns"];
  return `${formatCount(Math.round(ns / size))} ${unit}`;
}

/** "+12.34 ms", "−12.34 ms": a difference. */
export function formatChange(ms: number): string {
  const text = formatMs(Math.abs(ms));
  if (Number.parseFloat(text) === 0) return "0 ms";
  return `${ms < 0 ? "−" : "+"}${text}`;
}

/** "12.3 %". */
export function formatPercent(percent: number | null): string {
  if (percent === null) return "not known";
  if (percent === 0) return "0 %";
  if (Math.abs(percent) < 0.05) return percent < 0 ? ">-0.1 %" : "<0.1 %";
  return `${percent.toFixed(1)} %`;
}

/** "1.23x". */
export function formatSpeedup(factor: number | null): string {
  return factor === null ? "not known" : `${factor.toFixed(2)}x`;
}

/** As C++ writes `{:.Ng}`, but never as a power of ten: "1666", "63.5". */
function digits(value: number, count: number): string {
  if (Math.abs(value) >= 10 ** count) return formatCount(Math.round(value));
  return Number(value.toPrecision(count)).toString();
}

/** "119.8 samples/s". */
export function formatRate(perSecond: number | null, of: string): string {
  return perSecond === null ? "not known" : `${digits(perSecond, 4)} ${of}/s`;
}

/** "64.8 J". */
export function formatJoules(joules: number | null): string {
  return joules === null ? "not known" : `${digits(joules, 3)} J`;
}

/** "0.313 USD". */
export function formatMoney(money: number | null, currency: string | null): string {
  return money === null ? "no price" : `${digits(money, 3)} ${currency ?? ""}`.trim();
}

/** "25 Gbit/s". */
export function formatGbps(gbps: number): string {
  return `${digits(gbps, 3)} Gbit/s`;
}

/** "1.21 GB": powers of ten. */
export function formatBytes(bytes: number | null): string {
  if (bytes === null) return "not known";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

/** With a capital letter, as sentences of the report begin without. */
export function formatSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "1,234,567". */
export function formatCount(count: number): string {
  return count.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
