// Scenarios in the form of the controls, and in the engine's syntax: "amp:dtype=bf16+batch-size:n=64".
import type { Forecast, Scenario, ScenarioGroup, ScenarioKey } from "../api/types";

/** Values of the keys of each scenario that is switched on, by name. */
export type Choice = Record<string, Record<string, string>>;

/** Returns an initial value for a key without a default in the catalogue. */
function initialValueOf(key: ScenarioKey): string {
  if (key.otherwise !== null) return key.otherwise;
  if (key.kind === "choice") return (key.choices ?? "").split("|")[0] ?? "";
  return key.kind === "regex" ? ".*" : "2";
}

export function defaultsOf(scenario: Scenario): Record<string, string> {
  return Object.fromEntries(scenario.keys.map((key) => [key.name, initialValueOf(key)]));
}

/** Returns the engine's text, in the catalogue's order; empty: nothing is switched on. */
export function textOf(choice: Choice, catalogue: Scenario[]): string {
  const calls: string[] = [];
  for (const scenario of catalogue) {
    const values = choice[scenario.name];
    if (values === undefined) continue;
    const given = scenario.keys.map((key) => `${key.name}=${values[key.name] ?? initialValueOf(key)}`);
    calls.push(given.length === 0 ? scenario.name : `${scenario.name}:${given.join(",")}`);
  }
  return calls.join("+");
}

/** Returns the titles without their settings: "Mixed precision + CUDA graphs". */
export const titlesOf = (text: string, catalogue: Scenario[]): string =>
  text
    .split("+")
    .map((call) => call.split(":")[0] ?? "")
    .map((name) => catalogue.find((one) => one.name === name)?.title ?? name)
    .join(" + ");

/** Returns the titles with their settings: "Mixed precision (dtype=bf16) + CUDA graphs". */
export const namesOf = (text: string, catalogue: Scenario[]): string =>
  text
    .split("+")
    .map((call) => {
      const colon = call.indexOf(":");
      const title = titlesOf(call, catalogue);
      return colon < 0 ? title : `${title} (${call.slice(colon + 1).replaceAll(",", ", ")})`;
    })
    .join(" + ");

/** Sorts scenarios by their own savings, largest first; then the rest in the catalogue's order. */
export function bySavings(catalogue: Scenario[], savesMs: (name: string) => number | null): Scenario[] {
  const worth = (scenario: Scenario) => savesMs(scenario.name) ?? -Infinity;
  return [...catalogue].sort((a, b) => (worth(a) === worth(b) ? 0 : worth(b) - worth(a)));
}

/**
 * Inverse of textOf(); drops names that the catalogue lacks. Values of regular expressions may contain any character
 * except the separators; the page writes only such values.
 */
export function choiceOf(text: string, catalogue: Scenario[]): Choice {
  const choice: Choice = {};
  for (const call of text.split("+")) {
    const colon = call.indexOf(":");
    const name = colon < 0 ? call : call.slice(0, colon);
    const scenario = catalogue.find((one) => one.name === name);
    if (scenario === undefined) continue;
    const values = defaultsOf(scenario);
    for (const pair of colon < 0 ? [] : call.slice(colon + 1).split(",")) {
      const equals = pair.indexOf("=");
      const key = pair.slice(0, equals);
      if (equals > 0 && Object.hasOwn(values, key)) values[key] = pair.slice(equals + 1);
    }
    choice[name] = values;
  }
  return choice;
}

const GROUP_TITLES: [ScenarioGroup, string][] = [
  ["usual", "Usual changes"],
  ["memory", "Less memory"],
  ["many-gpus", "Many GPUs"],
  ["training", "Another training"],
  ["research", "From research"],
  ["bound", "Upper bounds: a part of the work becomes faster"],
];

export interface Groups {
  /** Changes that may apply. In each group, those with a known saving come first, sorted by it. */
  groups: { id: ScenarioGroup; title: string; items: Scenario[] }[];
  abstaining: { item: Scenario; why: string }[]; // They do not apply to this job.
}

/** Returns the values of the ranking, such as "factor=2"; empty: the scenario has none. */
export const valuesText = (scenario: Scenario): string =>
  scenario.keys.map((key) => `${key.name}=${initialValueOf(key)}`).join(", ");

/** Effect of a scenario alone. */
export type Alone = Pick<Forecast, "saves_ms" | "at_best" | "upper_bound">;

/** Returns true if the saving is the most that the change can save. */
export const isUpperBound = (forecast: Pick<Forecast, "at_best" | "upper_bound">): boolean =>
  forecast.at_best || forecast.upper_bound;

/**
 * Returns the catalogue in groups, sorted for the user. A best-case saving does not rank above expected ones.
 *
 * @param alone  effect of each scenario alone, by name; missing: not ranked
 * @param whyNot  why a scenario does not apply, by name
 */
export function groupsOf(catalogue: Scenario[], alone: Map<string, Alone>, whyNot: Map<string, string>): Groups {
  const atBest = (item: Scenario) => {
    const forecast = alone.get(item.name);
    return forecast !== undefined && isUpperBound(forecast);
  };
  const saving = bySavings(catalogue, (name) => alone.get(name)?.saves_ms ?? null);
  const known = saving.filter((one) => alone.has(one.name));
  const ordered = [
    ...known.filter((one) => !atBest(one)),
    ...known.filter(atBest),
    ...saving.filter((one) => !alone.has(one.name)),
  ];
  const mayApply = ordered.filter((one) => !whyNot.has(one.name));
  return {
    groups: GROUP_TITLES.map(([id, title]) => ({
      id,
      title,
      items: mayApply.filter((one) => one.group === id),
    })).filter(({ items }) => items.length > 0),
    abstaining: ordered.flatMap((item) => {
      const why = whyNot.get(item.name);
      return why === undefined ? [] : [{ item, why }];
    }),
  };
}

const MAX_MATCH = 200;

/** Returns the scenario in which GPU work under this name takes half its time. */
export function halfTimeOf(name: string): string {
  // A regular expression without separators of scenarios.
  const pattern = name.slice(0, MAX_MATCH).replaceAll(/[^\w:<>-]/g, ".");
  return `scale:match=^${pattern}${name.length > MAX_MATCH ? "" : "$"},factor=0.5`;
}
