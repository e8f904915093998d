import { describe, expect, test } from "vitest";
import type { TimelineStep } from "../api/timeline";
import { drawMarked, drawRuler, drawStepLines } from "./draw_over";
import { FittedText } from "./fitted_text";
import { layoutTracks } from "./layout";
import { makePalette } from "./palette";
import { stepsSeen } from "./steps";

/** A context that records its draw calls. Each character is 6 px wide. */
function makeContext() {
  const rectangles: number[][] = [];
  const texts: string[] = [];
  const boxes: number[][] = [];
  let curves = 0;
  const context = {
    globalAlpha: 1,
    measureText: (text: string) => ({ width: 6 * text.length }),
    fillRect: (...place: number[]) => rectangles.push([...place, context.globalAlpha]),
    fillText: (text: string) => texts.push(text),
    strokeRect: (...place: number[]) => boxes.push(place),
    beginPath: () => {},
    moveTo: () => {},
    bezierCurveTo: () => ++curves,
    stroke: () => {},
  };
  return { context: context as unknown as CanvasRenderingContext2D, rectangles, texts, boxes, curves: () => curves };
}

const palette = makePalette(false);
const stepsOf = (count: number, lengthNs: number): TimelineStep[] =>
  Array.from({ length: count }, (_, index) => ({ index, start_ns: index * lengthNs, wall_ns: lengthNs }));

describe("steps", () => {
  test("3,000 in sight leave the spans to be seen", () => {
    const { context, rectangles } = makeContext();
    drawStepLines(context, 600, stepsSeen(stepsOf(3000, 1000), { begin: 0, end: 3e6 }, 1200), palette);
    expect(rectangles).toEqual([]);
  });

  test("where they have room, each has a line that spans are seen through", () => {
    const { context, rectangles } = makeContext();
    drawStepLines(context, 600, stepsSeen(stepsOf(3000, 1000), { begin: 1_000_500, end: 1_003_500 }, 1200), palette);
    expect(rectangles.map(([x]) => x)).toEqual([-200, 200, 600, 1000]);
    expect(rectangles.every((place) => (place[4] as number) < 1)).toBe(true);
  });

  test("a frame asks few of them, however many there are", () => {
    let asked = 0;
    const counted = new Proxy(stepsOf(100_000, 1000), {
      get: (all, key) => {
        ++asked;
        return Reflect.get(all, key);
      },
    });
    stepsSeen(counted, { begin: 0, end: 1e8 }, 1200);
    expect(asked).toBeLessThan(20_000);
    asked = 0;
    stepsSeen(counted, { begin: 5e7, end: 5e7 + 4000 }, 1200);
    expect(asked).toBeLessThan(100);
  });

  test("a long one among short ones has its line", () => {
    const steps = [
      ...stepsOf(10, 10),
      { index: 10, start_ns: 100, wall_ns: 1000 },
      { index: 11, start_ns: 1100, wall_ns: 10 },
    ];
    expect(stepsSeen(steps, { begin: 0, end: 1200 }, 120).map((step) => step.index)).toEqual([10]);
    expect(stepsSeen(steps, { begin: 500, end: 600 }, 120)).toEqual([{ index: 10, from: -480, to: 720 }]);
  });

  test("the ruler names those that have room", () => {
    const { context, texts } = makeContext();
    const view = { begin: 500, end: 3500 };
    drawRuler(context, 1200, view, stepsSeen(stepsOf(9, 1000), view, 1200), palette);
    expect(texts.filter((text) => text.startsWith("step"))).toEqual(["step 0", "step 1", "step 2", "step 3"]);
  });
});

describe("what is marked", () => {
  const layout = layoutTracks(
    [
      {
        id: 0,
        kind: "stream",
        name: "",
        group: "",
        first_lane: 0,
        lanes: 2,
        spans: 2,
        overlapping: 0,
        minimum: null,
        maximum: null,
        unit: null,
      },
    ],
    new Set(),
  );
  const area = { view: { begin: 0, end: 100 }, width: 100, height: 50, scrollTop: 0 };
  const span = (lane: number, start_ns: number) => ({ lane, row: 0, start_ns, duration_ns: 10, label: "" });

  test("a span has a box, and a curve to each of its links that is shown", () => {
    const { context, boxes, curves } = makeContext();
    drawMarked(context, area, layout, { range: null, span: span(0, 20), links: [span(1, 50), span(7, 50)] }, palette);
    expect(boxes.map(([x]) => x)).toEqual([19, 49]);
    expect(curves()).toBe(1);
  });

  test("a stretch is as wide as its time", () => {
    const { context, rectangles } = makeContext();
    drawMarked(context, area, layout, { range: { begin: 20, end: 50 }, span: null, links: [] }, palette);
    expect(rectangles).toEqual([[20, 0, 30, 50, 1]]);
  });
});

test("a text is cut where the dots have room", () => {
  const { context } = makeContext();
  const fitted = new FittedText();
  expect(fitted.fit(context, "kernel", 36)).toBe("kernel");
  expect(fitted.fit(context, "kernel", 30)).toBe("kern…");
});
