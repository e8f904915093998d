import { expect, test } from "vitest";
import { sqlOf } from "./row_sql";

test("names are quoted", () => {
  expect(sqlOf("kernels", "it's")?.sql).toContain("name = 'it''s'");
  expect(sqlOf("layers", "nn.Module: A_0")?.sql).toContain("layer = 'nn.Module: A_0'");
  expect(sqlOf("regions", "BATCH")).toBeNull();
});
