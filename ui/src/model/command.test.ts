import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { quoted } from "./command";

test("a shell reads back what was meant, and runs none of it", () => {
  const words = ["amp:dtype=bf16+cuda-graph", "cached=50%", "my job.json", "scale:match=$(id)|gemm,factor=2", "it's `id`", "a;b&c>d\n*~", ""];
  for (const word of words) expect(execFileSync("/bin/sh", ["-c", `printf %s ${quoted(word)}`], { encoding: "utf8" })).toBe(word);
  expect(words.map(quoted).slice(0, 3)).toEqual(["amp:dtype=bf16+cuda-graph", "cached=50%", "'my job.json'"]);
});
