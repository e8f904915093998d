// What the report says of memory: how much there is, who moves how much of it.
import type { AttributedRow, KernelRow } from "../api/report_tables";

/** Copies and sets, the longest first. */
export const copiesOf = (kernels: KernelRow[]): KernelRow[] => kernels.filter((row) => row.class === "memcpy" || row.class === "memset");

export interface Mover {
  name: string;
  rank: number | null;
  bytes: number;
  totalUs: number;
  bytesPerS: number;
  peakPct: number | null; // Of the bandwidth of the device.
}

/** Operators by the traffic that their shapes ask for. */
export function moversOf(operators: AttributedRow[], bandwidthGbs: number | null): Mover[] {
  return operators.flatMap((row) => {
    if (row.bytes === null || row.bytes === 0 || row.total_us === null || row.total_us <= 0) return [];
    const bytesPerS = row.bytes / (row.total_us / 1e6);
    const peakPct = bandwidthGbs === null ? null : (100 * bytesPerS) / (bandwidthGbs * 1e9);
    return [{ name: row.name, rank: row.rank, bytes: row.bytes, totalUs: row.total_us, bytesPerS, peakPct }];
  });
}
