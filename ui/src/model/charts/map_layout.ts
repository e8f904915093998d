// Positions of the parts of a tree in pixels.
import { type HierarchyRectangularNode, hierarchy, partition, treemap } from "d3-hierarchy";
import type { TreeNode } from "./hierarchy";

export type MapShape = "icicle" | "treemap";

export interface Box {
  node: TreeNode;
  parent: number; // Index in the list; -1: none.
  depth: number;
  left: number;
  top: number;
  width: number;
  height: number;
}

export const ROW_PX = 26;
export const HEADER_PX = 18;
const LEAST_PX = 1.5;

function placed(root: TreeNode, shape: MapShape, width: number, height: number): HierarchyRectangularNode<TreeNode> {
  // Only leaves count: a node's own size is a leaf too.
  const tree = hierarchy(root).sum((node) => (node.children.length === 0 ? node.value : 0));
  if (shape === "icicle") return partition<TreeNode>().size([width, (tree.height + 1) * ROW_PX])(tree);
  return treemap<TreeNode>()
    .size([width, height])
    .paddingTop(HEADER_PX)
    .paddingInner(2)
    .paddingRight(2)
    .paddingBottom(2)
    .paddingLeft(2)
    .round(true)(tree);
}

/** Returns boxes with parents before their children; omits parts too small to see. */
export function boxesOf(root: TreeNode, shape: MapShape, width: number, height: number): Box[] {
  const boxes: Box[] = [];
  const add = (node: HierarchyRectangularNode<TreeNode>, parent: number) => {
    const box = {
      node: node.data,
      parent,
      depth: node.depth,
      left: node.x0,
      top: node.y0,
      width: node.x1 - node.x0,
      height: node.y1 - node.y0,
    };
    if (box.width < LEAST_PX || box.height < LEAST_PX) return;
    const place = boxes.push(box) - 1;
    for (const child of node.children ?? []) add(child, place);
  };
  add(placed(root, shape, width, height), -1);
  return boxes;
}

export const heightOf = (boxes: Box[]): number => Math.max(0, ...boxes.map((box) => box.top + box.height));

/** Returns the box that an arrow key leads to. */
export function neighbourOf(boxes: Box[], from: number, key: string): number {
  const box = boxes[from];
  if (box === undefined) return 0;
  if (key === "ArrowUp") return Math.max(0, box.parent);
  if (key === "ArrowDown") {
    const child = boxes.findIndex((one) => one.parent === from);
    return child === -1 ? from : child;
  }
  const level = boxes.map((_, index) => index).filter((index) => boxes[index]?.depth === box.depth);
  const next = level.indexOf(from) + (key === "ArrowRight" ? 1 : -1);
  return level[next] ?? from;
}

/** Returns one of `colors` color indices. Names that differ only in numbers, as repeated layers do, share a color. */
export function colorIndexOf(name: string, colors: number): number {
  let hash = 0;
  for (const character of name.replace(/\d+/g, "#")) hash = (hash * 31 + character.charCodeAt(0)) >>> 0;
  return hash % colors;
}
