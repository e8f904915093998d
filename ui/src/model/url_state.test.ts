import { expect, test } from "vitest";
import { readState, withRank, withView, writeState } from "./url_state";

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

test("a link that names no rank keeps the rank", () => {
  const before = { view: "overview", query: { rank: "3", sort: "name" } };
  expect(withRank({ view: "timeline", query: { find: "x" } }, before).query).toEqual({ find: "x", rank: "3" });
  expect(withRank({ view: "timeline", query: { rank: "5" } }, before).query).toEqual({ rank: "5" });
  expect(withRank({ view: "overview", query: { rank: "" } }, before).query).toEqual({ rank: "" });
  expect(withRank({ view: "timeline", query: {} }, { view: "overview", query: {} }).query).toEqual({});
});
