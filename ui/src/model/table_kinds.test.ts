import { expect, test } from "vitest";
import { TABLE_KINDS } from "./table_kinds";

test("an operator's backward is no part of its GPU time, a layer's is", () => {
  const meaning = (id: string) => TABLE_KINDS.find((kind) => kind.id === id)?.backward.meaning;
  expect(meaning("operators")).toContain("no part of its own GPU time");
  expect(meaning("layers")).toContain("The part of GPU time");
  expect(meaning("lines")).toContain("The part of GPU time");
});
