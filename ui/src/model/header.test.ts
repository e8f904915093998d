import { expect, test } from "vitest";
import type { Report } from "../api/types";
import { fileNameOf, gpusText, pathOf, ranksOf, rankText, stepsText } from "./header";

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

test("the ranks of a job, with their hosts where these differ", () => {
  const job = (...clocks: { rank: number; host: string | null }[]) => ({ job_ranks: { clocks } }) as unknown as Report;
  expect(ranksOf(job({ rank: 1, host: "b" }, { rank: 0, host: "a" }))).toEqual([
    { rank: 0, title: "rank 0 on a" },
    { rank: 1, title: "rank 1 on b" },
  ]);
  expect(ranksOf(job({ rank: 0, host: "a" }, { rank: 1, host: "a" }))[0]?.title).toBe("rank 0");
  expect(ranksOf({ job_ranks: null })).toEqual([]);
});

test("several files have the path of their folder", () => {
  const files = (...paths: string[]) => ({ inputs: paths.map((path) => ({ path })) }) as unknown as Report;
  expect(pathOf(files("runs/traces/a.json", "runs/traces/b.json"))).toBe("runs/traces");
  expect(pathOf(files("a.json", "b.json"))).toBe("a.json");
  expect(pathOf(files("runs/a.json"))).toBe("runs/a.json");
});
