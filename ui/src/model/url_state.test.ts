import { expect, test } from "vitest";
import { readState, writeState } from "./url_state";

test("a view and its question survive the address", () => {
  const state = { view: "what-if" as const, scenario: "amp:dtype=bf16+batch-size:n=64" };
  expect(readState(writeState(state))).toEqual(state);
  expect(writeState({ view: "overview", scenario: "" })).toBe("#overview");
});

test("an address of somebody else's making", () => {
  expect(readState("")).toEqual({ view: "overview", scenario: "" });
  expect(readState("#<script>?scenario=%00")).toEqual({ view: "overview", scenario: "\0" });
});
