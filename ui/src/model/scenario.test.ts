import { expect, test } from "vitest";
import type { Scenario } from "../api/types";
import {
  bySavings,
  choiceOf,
  defaultsOf,
  groupsOf,
  isBound,
  namesOf,
  scenarioIn,
  textOf,
  valuesText,
} from "./scenario";

const CATALOGUE: Scenario[] = [
  {
    name: "amp",
    summary: "",
    ranked: true,
    keys: [{ name: "dtype", kind: "choice", choices: "fp16|bf16", otherwise: "fp16" }],
  },
  {
    name: "batch-size",
    summary: "",
    ranked: false,
    keys: [{ name: "n", kind: "count", choices: null, otherwise: null }],
  },
  { name: "cuda-graph", summary: "", ranked: true, keys: [] },
];

test("switches make a combination in the catalogue's order", () => {
  expect(textOf({}, CATALOGUE)).toBe("");
  expect(textOf({ "cuda-graph": {}, amp: { dtype: "bf16" } }, CATALOGUE)).toBe("amp:dtype=bf16+cuda-graph");
  expect(textOf({ amp: {} }, CATALOGUE)).toBe("amp:dtype=fp16");
});

test("a link brings the switches back", () => {
  const text = "amp:dtype=bf16+batch-size:n=64";
  expect(textOf(choiceOf(text, CATALOGUE), CATALOGUE)).toBe(text);
  expect(choiceOf("amp:dtype=bf16,evil=1+nothing", CATALOGUE)).toEqual({ amp: { dtype: "bf16" } });
  expect(choiceOf("", CATALOGUE)).toEqual({});
});

test("an address of somebody else's making names no key that only every object has", () => {
  for (const key of ["constructor", "__proto__", "toString"]) {
    const values = choiceOf(`amp:${key}=1`, CATALOGUE).amp ?? {};
    expect(Object.keys(values)).toEqual(["dtype"]);
    expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
    expect(choiceOf(`${key}:dtype=1`, CATALOGUE)).toEqual({});
  }
});

test("the scenario of a command", () => {
  expect(scenarioIn("headroom whatif 'my amp.json' amp+cuda-graph --steps 3:5", CATALOGUE)).toBe("amp+cuda-graph");
  expect(scenarioIn("headroom report trace.json", CATALOGUE)).toBe("");
});

test("what saves most comes first", () => {
  const saves: Record<string, number> = { "cuda-graph": 2, "batch-size": -1 };
  expect(bySavings(CATALOGUE, (name) => saves[name] ?? null).map((one) => one.name)).toEqual([
    "cuda-graph",
    "batch-size",
    "amp",
  ]);
});

test("what has no default begins with a value that the engine takes", () => {
  expect(CATALOGUE.map(defaultsOf)).toEqual([{ dtype: "fp16" }, { n: "2" }, {}]);
});

const alone = (saves_ms: number) => ({ saves_ms, at_best: false });

test("what applies, what needs a value, and what does not apply", () => {
  const groups = groupsOf(CATALOGUE, new Map([["amp", alone(2)]]), new Map([["cuda-graph", "it waits"]]));
  expect([groups.telling.map((one) => one.name), groups.asking.map((one) => one.name)]).toEqual([
    ["amp"],
    ["batch-size"],
  ]);
  expect(groups.abstaining.map(({ item, why }) => `${item.name}: ${why}`)).toEqual(["cuda-graph: it waits"]);
});

test("what is known at best alone stands behind what is likely", () => {
  const groups = groupsOf(
    CATALOGUE,
    new Map([
      ["cuda-graph", { saves_ms: 40, at_best: true }],
      ["amp", alone(2)],
    ]),
    new Map(),
  );
  expect(groups.telling.map((one) => one.name)).toEqual(["amp", "cuda-graph"]);
});

test("questions stand behind changes, however much they save", () => {
  const speed: Scenario = {
    name: "gpu-speed",
    summary: "",
    ranked: true,
    keys: [{ name: "factor", kind: "factor", choices: null, otherwise: "2" }],
  };
  const gist: Scenario = {
    name: "gist",
    summary: "",
    ranked: true,
    keys: [{ name: "sparsity", kind: "factor", choices: null, otherwise: "0.5" }],
  };
  expect([speed, gist, ...CATALOGUE].filter(isBound)).toEqual([speed]);
  const groups = groupsOf(
    [speed, ...CATALOGUE],
    new Map([
      ["gpu-speed", alone(38)],
      ["amp", alone(2)],
    ]),
    new Map(),
  );
  expect([groups.telling.map((one) => one.name), groups.bounds.map((one) => one.name)]).toEqual([
    ["amp"],
    ["gpu-speed"],
  ]);
  expect([speed, ...CATALOGUE].map(valuesText)).toEqual(["factor=2", "dtype=fp16", "n=2", ""]);
});

test("a combination by the names of its scenarios", () => {
  expect(namesOf("host-speed:factor=1000000+amp")).toBe("host-speed + amp");
});
