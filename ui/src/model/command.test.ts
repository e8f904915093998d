import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { commandAdvised, quoted } from "./command";

test("a shell reads back what was meant, and runs none of it", () => {
  const words = [
    "amp:dtype=bf16+cuda-graph",
    "cached=50%",
    "my job.json",
    "scale:match=$(id)|gemm,factor=2",
    "it's `id`",
    "a;b&c>d\n*~",
    "",
  ];
  for (const word of words)
    expect(execFileSync("/bin/sh", ["-c", `printf %s ${quoted(word)}`], { encoding: "utf8" })).toBe(word);
  expect(words.map(quoted).slice(0, 3)).toEqual(["amp:dtype=bf16+cuda-graph", "cached=50%", "'my job.json'"]);
});

test("advice on flags becomes the command that takes them", () => {
  const advice =
    "not recorded on one GPU that is known; name the GPU with --from NAME, or add its data sheet with --gpu-file FILE";
  expect(commandAdvised("headroom predict", "my job.json", advice)).toBe("headroom predict 'my job.json' --from NAME");
  expect(commandAdvised("headroom predict", "a.json", "no GPU work was recorded")).toBeNull();
});
