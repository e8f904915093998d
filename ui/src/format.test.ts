import { expect, test } from "vitest";
import {
  formatBytes,
  formatChange,
  formatCount,
  formatFlopRate,
  formatFlops,
  formatFlopTick,
  formatGbps,
  formatIntensity,
  formatJoules,
  formatMark,
  formatMoney,
  formatMs,
  formatMsTick,
  formatNs,
  formatPercent,
  formatPoints,
  formatQuantity,
  formatRate,
  formatSentence,
  formatSpeedup,
  formatUs,
} from "./format";

test("milliseconds as the command line writes them", () => {
  expect(formatMs(0)).toBe("0 ms");
  expect(formatMs(0.12345)).toBe("0.123 ms");
  expect(formatMs(0.9996)).toBe("1.00 ms");
  expect(formatMs(79.616)).toBe("79.62 ms");
  expect(formatMs(999.996)).toBe("1000.0 ms");
  expect(formatMs(-12.37)).toBe("-12.37 ms");
  expect(formatMs(null)).toBe("unknown");
  expect([0.5, 50, 2000].map(formatMsTick)).toEqual(["0.500 ms", "50 ms", "2000 ms"]);
});

test("shares, factors, bytes and counts", () => {
  expect(formatPercent(41.06)).toBe("41.1 %");
  expect(formatPercent(0.01)).toBe("<0.1 %");
  expect(formatSpeedup(2.617)).toBe("2.62x");
  expect(formatBytes(512)).toBe("512 B");
  expect(formatBytes(-2_690_000_000)).toBe("-2.69 GB");
  expect(formatBytes(999_600)).toBe("1.00 MB");
  expect(formatCount(1234567)).toBe("1,234,567");
  expect(formatSentence("the GPU idles")).toBe("The GPU idles");
  expect(formatSentence("")).toBe("");
});

test("times on an axis and of spans", () => {
  expect([0, 350, 1234, 1234567, 2.5e9].map(formatNs)).toEqual(["0 ns", "350 ns", "1.234 us", "1.235 ms", "2.5 s"]);
  expect(formatMark(1_500_000, 500_000)).toBe("1,500 us");
  expect(formatMark(30_000_000, 10_000_000)).toBe("30 ms");
});

test("rates, energy and money", () => {
  expect(formatRate(1666.2, "samples")).toBe("1,666 samples/s");
  expect(formatRate(299977.1, "samples")).toBe("299,977 samples/s");
  expect(formatRate(63.5015, "samples")).toBe("63.5 samples/s");
  expect(formatRate(null, "samples")).toBe("unknown");
  expect(formatJoules(34.97)).toBe("35 J");
  expect(formatJoules(7.674)).toBe("7.67 J");
  expect(formatMoney(0.08033, "USD")).toBe("0.0803 USD");
  expect(formatMoney(null, null)).toBe("no price");
  expect(formatGbps(3200)).toBe("3,200 Gbit/s");
});

test("microseconds become milliseconds", () => {
  expect(formatUs(2.368)).toBe("2.37 us");
  expect(formatUs(999.996)).toBe("1.00 ms");
  expect(formatUs(144409.166)).toBe("144.41 ms");
  expect(formatUs(0)).toBe("0 ms");
  expect(formatUs(null)).toBe("unknown");
});

test("work, rates and what metrics measure", () => {
  expect(formatFlops(7_020_415_549_440)).toBe("7.02 TFLOP");
  expect(formatFlopRate(989.4e12)).toBe("989 TFLOP/s");
  expect(formatFlopTick(1e16)).toBe("10 PFLOP/s");
  expect(formatQuantity(0.08, null)).toBe("0.08");
  expect(formatIntensity(275.88)).toBe("276 FLOP/B");
  expect(formatQuantity(90.8746, "%")).toBe("90.9 %");
  expect(formatQuantity(11245751.07, "bytes/s")).toBe("11.2 MB/s");
  expect(formatQuantity(13396.4, "1/s")).toBe("13,396 1/s");
  expect(formatQuantity(1.7855, "cores")).toBe("1.79 cores");
  expect(formatQuantity(0, "1")).toBe("0");
  expect(formatQuantity(404.67, null)).toBe("405");
});

test("differences have a sign, and none that is shown as zero", () => {
  expect(formatChange(-12.345)).toBe("−12.35 ms");
  expect(formatChange(0.5)).toBe("+0.500 ms");
  expect(formatChange(-0.0004)).toBe("0 ms");
});

test("a sentence begins with a capital letter, and code as it is", () => {
  expect(formatSentence("the host is late")).toBe("The host is late");
  expect(formatSentence("torch.compile fuses them")).toBe("torch.compile fuses them");
  expect(formatSentence("amp: dtype=zz is not one of fp16|bf16")).toBe("amp: dtype=zz is not one of fp16|bf16");
  expect(formatSentence("tf32 changes nothing more")).toBe("tf32 changes nothing more");
  expect(formatSentence("")).toBe("");
});

test("between two percentages", () => {
  expect([12.34, -0.06, 0.04].map(formatPoints)).toEqual(["+12.3 points", "−0.1 points", "0 points"]);
});
