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

/** "50 ms": a round number, at an axis. */
export function formatMsTick(ms: number): string {
  return formatMs(ms).replace(/\.0+ /, " ");
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

/** "12.34 us", from a thousand on "12.34 ms". */
export function formatUs(us: number | null): string {
  if (us === null) return "not known";
  if (Math.abs(us) >= 999.995 || us === 0) return formatMs(us / 1000);
  return `${us.toFixed(2)} us`;
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

/** "+1.2 points": between two percentages. */
export function formatPoints(points: number): string {
  const text = Math.abs(points).toFixed(1);
  if (Number(text) === 0) return "0 points";
  return `${points < 0 ? "−" : "+"}${text} points`;
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

/** Three digits and the largest of the units, each a thousand times the one before, that leaves one or more. */
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

/** "1.21 GB": powers of ten. */
export function formatBytes(bytes: number | null): string {
  return bytes === null ? "not known" : scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);
}

/** "1.21 GB/s". */
export function formatByteRate(bytesPerSecond: number | null): string {
  return bytesPerSecond === null ? "not known" : `${formatBytes(bytesPerSecond)}/s`;
}

/** "1.21 TFLOP". */
export function formatFlops(flops: number | null): string {
  return flops === null ? "not known" : scaled(flops, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]);
}

/** "1.21 TFLOP/s". */
export function formatFlopRate(flopsPerSecond: number | null): string {
  return flopsPerSecond === null ? "not known" : `${formatFlops(flopsPerSecond)}/s`;
}

/** "10 TFLOP/s": a round number, at an axis. */
export function formatFlopTick(flopsPerSecond: number): string {
  return formatFlopRate(flopsPerSecond).replace(/\.0+ /, " ");
}

/** "12.3 FLOP/B": work for each byte of memory traffic. */
export function formatIntensity(flopsPerByte: number | null): string {
  return flopsPerByte === null ? "not known" : `${formatNumber(flopsPerByte)} FLOP/B`;
}

/** "1,234", "12.3", "0.0123": three digits at most behind zeros, and no fewer than there are before the point. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 999.5) return formatCount(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** A figure in the unit that a trace gives it; null: it gives none. */
export function formatQuantity(value: number, unit: string | null): string {
  if (unit === "%") return formatPercent(value);
  if (unit === "bytes") return formatBytes(value);
  if (unit === "bytes/s") return formatByteRate(value);
  return unit === null || unit === "1" ? formatNumber(value) : `${formatNumber(value)} ${unit}`;
}

/** With a capital letter, as sentences of the report begin without; names of code keep theirs. */
export function formatSentence(text: string): string {
  const word = text.split(/[ ,]/, 1)[0] ?? "";
  return /^[a-z][a-z-]*$/.test(word) && word !== "headroom" ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** "1,234,567". */
export function formatCount(count: number): string {
  return count.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
