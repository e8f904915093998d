import { expect, test } from "vitest";
import { TABLE_KINDS } from "./table_kinds";

test("an operator's backward is no part of its GPU time, a layer's is", () => {
  const meaning = (id: string) => TABLE_KINDS.find((kind) => kind.id === id)?.backward.meaning;
  expect(meaning("operators")).toContain("not for this operator");
  expect(meaning("layers")).toContain("GPU time launched in");
  expect(meaning("lines")).toContain("GPU time launched in");
});
