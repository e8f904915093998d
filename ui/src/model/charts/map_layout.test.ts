import { expect, test } from "vitest";
import { treeOf } from "./hierarchy";
import { boxesOf, colorIndexOf, heightOf, neighbourOf, ROW_PX } from "./map_layout";

const TREE = treeOf(
  [
    { path: ["a", "x"], value: 3 },
    { path: ["a", "y"], value: 1 },
    { path: ["b"], value: 4 },
    { path: ["dust"], value: 0.001 },
  ],
  "all",
);
const BOXES = boxesOf(TREE, "icicle", 800, 0);
const names = BOXES.map((box) => box.node.name);

test("widths are shares, levels are rows, dust is left out", () => {
  expect(names).toEqual(["all", "a", "x", "y", "b"]);
  expect(BOXES[1]?.width).toBeCloseTo(400, 0);
  expect(BOXES[2]?.top).toBe(2 * ROW_PX);
  expect(heightOf(BOXES)).toBe(3 * ROW_PX);
});

test("a tree map fills its area", () => {
  const boxes = boxesOf(TREE, "treemap", 800, 400);
  expect(boxes[0]).toMatchObject({ left: 0, top: 0, width: 800, height: 400 });
  expect(boxes.every((box) => box.left >= 0 && box.left + box.width <= 800)).toBe(true);
});

test("arrow keys go to parent, child and neighbours of the level", () => {
  const go = (from: string, key: string) => names[neighbourOf(BOXES, names.indexOf(from), key)];
  expect(go("all", "ArrowUp")).toBe("all");
  expect(go("a", "ArrowDown")).toBe("x");
  expect(go("y", "ArrowUp")).toBe("a");
  expect(go("a", "ArrowRight")).toBe("b");
  expect(go("b", "ArrowRight")).toBe("b");
  expect(go("b", "ArrowDown")).toBe("b");
});

test("repeated layers have one colour", () => {
  expect(colorIndexOf("h.11", 6)).toBe(colorIndexOf("h.2", 6));
});
