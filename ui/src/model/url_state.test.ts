import { expect, test } from "vitest";
import { readState, withView, writeState } from "./url_state";

const VIEWS = ["overview", "what-if", "tables"];

test("a view and its question survive the address", () => {
  const state = { view: "what-if", query: { scenario: "amp:dtype=bf16+batch-size:n=64", sort: "total" } };
  expect(readState(writeState(state), VIEWS)).toEqual(state);
  expect(writeState({ view: "overview", query: { scenario: "" } })).toBe("#overview");
});

test("an address of somebody else's making", () => {
  expect(readState("", VIEWS)).toEqual({ view: "overview", query: {} });
  expect(readState("#<script>?scenario=%00", VIEWS)).toEqual({ view: "overview", query: { scenario: "\0" } });
});

test("the scenario goes along to another view, settings of a view do not", () => {
  expect(withView({ view: "tables", query: { scenario: "amp", sort: "total" } }, "what-if")).toEqual({
    view: "what-if",
    query: { scenario: "amp" },
  });
});
