import { expect, test } from "vitest";
import { Latest } from "./latest";

/** A server that answers only when the test resolves a request. */
function slow() {
  const asked: string[] = [];
  const waiting: { resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  const ask = (question: string) => {
    asked.push(question);
    return new Promise<string>((resolve, reject) => waiting.push({ resolve, reject }));
  };
  return { asked, waiting, ask };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("what came meanwhile is skipped, but for the last", async () => {
  const told: string[] = [];
  const { asked, waiting, ask } = slow();
  const latest = new Latest(ask, (question: string, answer: string | null) => told.push(`${question}=${answer}`));
  for (const question of ["a", "b", "c", "d"]) latest.request(question);
  expect(asked).toEqual(["a"]);
  waiting[0]?.resolve("1");
  await settled();
  expect(asked).toEqual(["a", "d"]);
  waiting[1]?.resolve("4");
  await settled();
  expect(told).toEqual(["a=1", "d=4"]);
});

test("a failure is told, and the next question asked", async () => {
  const told: string[] = [];
  const { waiting, ask } = slow();
  const latest = new Latest(ask, (question: string, answer: string | null, error) =>
    told.push(`${question}=${answer}${error}`),
  );
  latest.request("a");
  latest.request("b");
  waiting[0]?.reject(new Error("no"));
  await settled();
  waiting[1]?.resolve("2");
  await settled();
  expect(told).toEqual(["a=nullno", "b=2"]);
});

test("a dropped question is not asked", async () => {
  const { asked, waiting, ask } = slow();
  const latest = new Latest(ask, () => {});
  latest.request("a");
  latest.request("b");
  latest.drop();
  waiting[0]?.resolve("1");
  await settled();
  expect(asked).toEqual(["a"]);
});
