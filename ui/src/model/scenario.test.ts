import { expect, test } from "vitest";
import type { Scenario } from "../api/types";
import {
  bySavings,
  choiceOf,
  defaultsOf,
  groupsOf,
  halfTimeOf,
  namesOf,
  textOf,
  titlesOf,
  valuesText,
} from "./scenario";

const CATALOGUE: Scenario[] = [
  {
    name: "amp",
    title: "Mixed precision",
    group: "usual",
    summary: "",
    ranked: true,
    keys: [{ name: "dtype", kind: "choice", choices: "fp16|bf16", otherwise: "fp16" }],
  },
  {
    name: "batch-size",
    title: "Batch size",
    group: "usual",
    summary: "",
    ranked: false,
    keys: [{ name: "n", kind: "count", choices: null, otherwise: null }],
  },
  { name: "cuda-graph", title: "CUDA graphs", group: "usual", summary: "", ranked: true, keys: [] },
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

const alone = (saves_ms: number) => ({ saves_ms, at_best: false, upper_bound: false });

/** Returns "usual: amp, batch-size". */
const textsOf = ({ groups }: ReturnType<typeof groupsOf>) =>
  groups.map(({ id, items }) => `${id}: ${items.map((one) => one.name).join(", ")}`);

test("what applies, what needs a value, and what does not apply", () => {
  const groups = groupsOf(CATALOGUE, new Map([["amp", alone(2)]]), new Map([["cuda-graph", "it waits"]]));
  expect(textsOf(groups)).toEqual(["usual: amp, batch-size"]);
  expect(groups.abstaining.map(({ item, why }) => `${item.name}: ${why}`)).toEqual(["cuda-graph: it waits"]);
});

test("what is known at best alone stands behind what is likely", () => {
  const groups = groupsOf(
    CATALOGUE,
    new Map([
      ["cuda-graph", { saves_ms: 40, at_best: false, upper_bound: true }],
      ["amp", alone(2)],
    ]),
    new Map(),
  );
  expect(textsOf(groups)).toEqual(["usual: amp, cuda-graph, batch-size"]);
});

test("upper bounds stand behind changes, however much they save", () => {
  const speed: Scenario = {
    name: "gpu-speed",
    title: "Faster GPU",
    group: "bound",
    summary: "",
    ranked: true,
    keys: [{ name: "factor", kind: "factor", choices: null, otherwise: "2" }],
  };
  const groups = groupsOf(
    [speed, ...CATALOGUE],
    new Map([
      ["gpu-speed", alone(38)],
      ["amp", alone(2)],
    ]),
    new Map(),
  );
  expect(textsOf(groups)).toEqual(["usual: amp, batch-size, cuda-graph", "bound: gpu-speed"]);
  expect([speed, ...CATALOGUE].map(valuesText)).toEqual(["factor=2", "dtype=fp16", "n=2", ""]);
});

test("a combination by the titles of its scenarios", () => {
  expect(titlesOf("unknown:factor=1000000+amp:dtype=bf16", CATALOGUE)).toBe("unknown + Mixed precision");
  expect(namesOf("unknown+amp:dtype=bf16,x=1", CATALOGUE)).toBe("unknown + Mixed precision (dtype=bf16, x=1)");
});

test("half the time of a name, in a pattern without separators", () => {
  expect(halfTimeOf("void f<4, a+b>(int)")).toBe("scale:match=^void.f<4..a.b>.int.$,factor=0.5");
  expect(halfTimeOf("x".repeat(300))).toBe(`scale:match=^${"x".repeat(200)},factor=0.5`);
});
