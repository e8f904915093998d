import { expect, test } from "vitest";
import { fileNameOf, gpusText, rankText, stepsText } from "./header";

type Known = Parameters<typeof gpusText>[0];

test("GPUs that ran work, by their model", () => {
  const report = (devices: object[], used: object[]) => ({ inputs: [{ devices }], gpu_time: used }) as unknown as Known;
  expect(gpusText(report([], []))).toBe("");
  const two = [
    { rank: 0, device: 0 },
    { rank: 0, device: 1 },
  ];
  expect(gpusText(report([{ model: "NVIDIA H200", name: "x" }], two))).toBe("2 x NVIDIA H200");
  expect(gpusText(report([{ model: null, name: null }], two.slice(1)))).toBe("1 x GPU");
});

test("the rank, if there are several", () => {
  const report = (rank: number | null, world_size: number | null) =>
    ({ inputs: [{ rank, world_size }] }) as unknown as Parameters<typeof rankText>[0];
  expect(rankText(report(3, 8))).toBe("rank 3 of 8");
  expect([rankText(report(0, 1)), rankText(report(null, 8)), rankText(report(0, null))]).toEqual(["", "", ""]);
});

test("the steps, by number and index", () => {
  const report = (...indices: number[]) =>
    ({ steps: { count: indices.length, list: indices.map((index) => ({ index })) } }) as unknown as Parameters<
      typeof stepsText
    >[0];
  expect([report(), report(4), report(2, 3, 4)].map(stepsText)).toEqual(["no steps", "1 step", "3 steps, 2 to 4"]);
});

test("a file for the page", () => {
  const report = (path: string) => ({ inputs: [{ path }] }) as unknown as Parameters<typeof fileNameOf>[0];
  expect(["runs/trace.json.gz", ".hidden", ""].map(report).map(fileNameOf)).toEqual([
    "trace.html",
    "headroom.html",
    "headroom.html",
  ]);
});
