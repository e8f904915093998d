import { expect, test } from "vitest";
import { formatBytes, formatCount, formatMark, formatMs, formatNs, formatPercent, formatSentence, formatSpeedup } from "./format";

test("milliseconds as the command line writes them", () => {
  expect(formatMs(0)).toBe("0 ms");
  expect(formatMs(0.12345)).toBe("0.123 ms");
  expect(formatMs(0.9996)).toBe("1.00 ms");
  expect(formatMs(79.616)).toBe("79.62 ms");
  expect(formatMs(999.996)).toBe("1000.0 ms");
  expect(formatMs(-12.37)).toBe("-12.37 ms");
  expect(formatMs(null)).toBe("not known");
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
