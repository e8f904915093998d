import { expect, test } from "vitest";
import { formatMs } from "../format";
import { csvOf, fileNameOf } from "./csv";

test("values as they are, with their unit; text is quoted and no formula", () => {
  const columns = [
    { title: "Name", cell: (row: [string, number | null]) => row[0] },
    { title: "GPU\ntime", cell: (row: [string, number | null]) => row[1], format: formatMs },
  ];
  expect(
    csvOf(columns, [
      ["void f<4, int>", 1.23456789],
      ['say "hi"', null],
      ["=1+2", 0],
    ]),
  ).toBe('Name,GPU time (ms)\r\n"void f<4, int>",1.23456789\r\n"say ""hi""",\r\n"\'=1+2",0\r\n');
});

test("a file is named after its table", () => {
  expect(fileNameOf("GPU time per step", "csv")).toBe("gpu-time-per-step.csv");
  expect(fileNameOf("../../!", "png")).toBe("headroom.png");
});
