import { expect, test, vi } from "vitest";
import { ask, askOf, messageOf, pathOfRank, whenReadAgain } from "./client";

test("a failed answer gives its reason, whatever its form", () => {
  expect(messageOf(400, '{"schema": "headroom.error/1", "error": "no steps"}')).toBe("no steps");
  expect(messageOf(403, "ask with the token\n")).toBe("ask with the token");
  expect(messageOf(500, "")).toContain("500");
  expect(messageOf(414, "")).toContain("too long");
});

test("what is too long is not sent: no server answers it", async () => {
  Object.assign(globalThis, { document: { getElementById: () => null } });
  await expect(ask(`timeline/search?text=${"a".repeat(70_000)}`)).rejects.toThrow("too long");
});

test("a question is about the files that are shown, unless it says otherwise", async () => {
  Object.assign(globalThis, { document: { getElementById: () => null } });
  const told = vi.fn();
  whenReadAgain(told);
  const tags: (string | undefined)[] = [];
  let status = 200;
  vi.stubGlobal("fetch", (_path: string, { headers }: { headers: Record<string, string> }) => {
    tags.push(headers["If-Match"]);
    return Promise.resolve(new Response('{"error": "read again"}', { status }));
  });
  await ask("gpus");
  askOf(3, "");
  await ask("gpus");
  await ask("report", undefined, 4);
  await ask("state", undefined, null);
  expect(tags).toEqual([undefined, '"3"', '"4"', undefined]);
  expect(told).not.toHaveBeenCalled();
  status = 412;
  await expect(ask("gpus")).rejects.toThrow("read again");
  expect(told).toHaveBeenCalledOnce();
  vi.unstubAllGlobals();
});

test("requests about the trace of one rank name it", () => {
  expect(pathOfRank("whatif?scenario=tf32", "3")).toBe("whatif?scenario=tf32&rank=3");
  expect(pathOfRank("timeline", "3")).toBe("timeline?rank=3");
  expect(pathOfRank("timeline", "")).toBe("timeline");
  for (const path of [
    "traces",
    "diff?trace=2",
    "ranks/step?step=4",
    "scenarios",
    "state",
    "run/stop",
    "report?trace=2",
  ])
    expect(pathOfRank(path, "3")).toBe(path);
});
