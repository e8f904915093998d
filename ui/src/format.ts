// Formats every number of the page with its unit, as the command line does.

function decimalsOf(ms: number): number {
  const size = Math.abs(ms);
  if (size < 0.9995) return 3;
  return size < 999.995 ? 2 : 1;
}

/** Returns, for example, "12.34 ms". */
export function formatMs(ms: number | null): string {
  if (ms === null) return "unknown";
  if (ms === 0) return "0 ms";
  return `${ms.toFixed(decimalsOf(ms))} ms`;
}

/** Returns a round number for an axis: "50 ms". */
export function formatMsTick(ms: number): string {
  return formatMs(ms).replace(/\.0+ /, " ");
}

const TIME_UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

/** Returns "1.234 ms" or "350 ns": in a suitable unit, with at most nanosecond resolution. */
export function formatNs(ns: number): string {
  const [size, unit] = TIME_UNITS.find(([one]) => Math.abs(ns) >= one) ?? [1, "ns"];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

/** Returns the text of an axis mark; marks are `step` ns apart. All use one unit, with enough decimals to differ. */
export function formatMark(ns: number, step: number): string {
  const [size, unit] = TIME_UNITS.find(([one]) => step >= one) ?? [1, "ns"];
  return `${formatCount(Math.round(ns / size))} ${unit}`;
}

/** Returns "12.34 us"; from 1,000 us on, "12.34 ms". */
export function formatUs(us: number | null): string {
  if (us === null) return "unknown";
  if (Math.abs(us) >= 999.995 || us === 0) return formatMs(us / 1000);
  return `${us.toFixed(2)} us`;
}

/** Returns a difference: "+12.34 ms", "−12.34 ms". */
export function formatChange(ms: number): string {
  const text = formatMs(Math.abs(ms));
  if (Number.parseFloat(text) === 0) return "0 ms";
  return `${ms < 0 ? "−" : "+"}${text}`;
}

/** Returns, for example, "12.3 %". */
export function formatPercent(percent: number | null): string {
  if (percent === null) return "unknown";
  if (percent === 0) return "0 %";
  if (Math.abs(percent) < 0.05) return percent < 0 ? ">-0.1 %" : "<0.1 %";
  return `${percent.toFixed(1)} %`;
}

/** Returns the difference of two percentages: "+1.2 points". */
export function formatPoints(points: number): string {
  const text = Math.abs(points).toFixed(1);
  if (Number(text) === 0) return "0 points";
  return `${points < 0 ? "−" : "+"}${text} points`;
}

/** Returns, for example, "1.23x". */
export function formatSpeedup(factor: number | null): string {
  return factor === null ? "unknown" : `${factor.toFixed(2)}x`;
}

/** Formats like C++ `{:.Ng}`, but never with an exponent: "1666", "63.5". */
function digits(value: number, count: number): string {
  if (Math.abs(value) >= 10 ** count) return formatCount(Math.round(value));
  return Number(value.toPrecision(count)).toString();
}

/** Returns, for example, "119.8 samples/s". */
export function formatRate(perSecond: number | null, of: string): string {
  if (perSecond === null) return "unknown";
  return `${perSecond >= 999.95 ? formatCount(Math.round(perSecond)) : digits(perSecond, 4)} ${of}/s`;
}

/** Returns, for example, "64.8 J". */
export function formatJoules(joules: number | null): string {
  return joules === null ? "unknown" : `${digits(joules, 3)} J`;
}

/** Returns, for example, "0.313 USD". */
export function formatMoney(money: number | null, currency: string | null): string {
  return money === null ? "no price" : `${digits(money, 3)} ${currency ?? ""}`.trim();
}

/** Returns, for example, "25 Gbit/s". */
export function formatGbps(gbps: number): string {
  return `${digits(gbps, 3)} Gbit/s`;
}

/** Returns three digits with the largest unit that gives at least 1; units differ by factors of 1,000. */
function scaled(size: number, units: string[]): string {
  let value = size;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  const plain = unit === 0 && Number.isInteger(value);
  return `${plain ? value : Number(value.toPrecision(3)) === 0 ? 0 : value.toPrecision(3)} ${units[unit]}`;
}

/** Returns "1.21 GB": decimal units. */
export function formatBytes(bytes: number | null): string {
  return bytes === null ? "unknown" : scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);
}

/** Returns, for example, "1.21 GB/s". */
export function formatByteRate(bytesPerSecond: number | null): string {
  return bytesPerSecond === null ? "unknown" : `${formatBytes(bytesPerSecond)}/s`;
}

/** Returns, for example, "1.21 TFLOP". */
export function formatFlops(flops: number | null): string {
  return flops === null ? "unknown" : scaled(flops, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]);
}

/** Returns, for example, "1.21 TFLOP/s". */
export function formatFlopRate(flopsPerSecond: number | null): string {
  return flopsPerSecond === null ? "unknown" : `${formatFlops(flopsPerSecond)}/s`;
}

/** Returns a round number for an axis: "10 TFLOP/s". */
export function formatFlopTick(flopsPerSecond: number): string {
  return formatFlopRate(flopsPerSecond).replace(/\.0+ /, " ");
}

/** Returns "12.3 FLOP/B": arithmetic per byte of memory traffic. */
export function formatIntensity(flopsPerByte: number | null): string {
  return flopsPerByte === null ? "unknown" : `${formatNumber(flopsPerByte)} FLOP/B`;
}

/** Returns "1,234", "12.3" or "0.0123": three significant digits, and all digits before the decimal point. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 999.5) return formatCount(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** Formats a value in the unit from the trace; null: without a unit. */
export function formatQuantity(value: number, unit: string | null): string {
  if (unit === "%") return formatPercent(value);
  if (unit === "bytes") return formatBytes(value);
  if (unit === "bytes/s") return formatByteRate(value);
  return unit === null || unit === "1" ? formatNumber(value) : `${formatNumber(value)} ${unit}`;
}

/** Capitalizes the first letter, because sentences of the report begin in lower case. Keeps identifiers unchanged. */
export function formatSentence(text: string): string {
  const word = text.split(/[ ,]/, 1)[0] ?? "";
  return /^[a-z][a-z-]*$/.test(word) && word !== "headroom" ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** Returns, for example, "1,234,567". */
export function formatCount(count: number): string {
  return count.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Splits a text after its first sentence. */
export function firstSentence(text: string): [first: string, rest: string] {
  const end = text.indexOf(". ");
  return end === -1 ? [text, ""] : [text.slice(0, end + 1), text.slice(end + 2)];
}
