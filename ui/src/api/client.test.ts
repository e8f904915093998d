import { expect, test } from "vitest";
import { ask, messageOf } from "./client";

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
