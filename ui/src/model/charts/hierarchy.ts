// Turns the names of a table into a tree: `encoder.layer.0.attention` is inside `encoder.layer.0`.
import type { AttributedRow, KernelRow, LineRow, StackRow } from "../../api/report_tables";

/** A size and its path in the tree. */
export interface Leaf {
  path: string[];
  value: number;
}

export interface TreeNode {
  name: string;
  path: string[];
  value: number; // Includes all children.
  children: TreeNode[];
}

/** Name of the child for a node's own size, without its other children. */
export const ITSELF = "itself";

/** Splits "layer::encoder.layer.0.attention" at dots, and PyTorch's "nn.Module: Linear_7" by class. */
export function pathOfLayer(row: Pick<AttributedRow, "name">): string[] {
  const module = row.name.match(/^nn\.Module: (.+?)(_\d+)?$/);
  if (module !== null) {
    const [, type = "", number] = module;
    return number === undefined ? [type] : [type, type + number];
  }
  return row.name
    .replace(/^layer::/, "")
    .split(".")
    .filter((part) => part !== "");
}

/** Returns the part of the step and the frames below it, outermost first, without the folder of packages. */
export const pathOfStack = (row: Pick<StackRow, "part" | "stack">): string[] => [
  row.part,
  ...row.stack.split(";").map((frame) => frame.replace(/^(site|dist)-packages\//, "")),
];

/** Splits "src/train.py(28): step" into folders, file and function. */
export function pathOfLine(row: Pick<LineRow, "location">): string[] {
  const parts = row.location.match(/^(.*)\((\d+)\): (.*)$/);
  if (parts === null) return [row.location];
  const [, file = "", line = "", name = ""] = parts;
  return [...file.split("/").filter((part) => part !== ""), `${name} (${line})`];
}

export const pathOfOperator = (row: Pick<AttributedRow, "name" | "family">): string[] => [
  row.family ?? "other",
  row.name,
];

export const pathOfKernel = (row: Pick<KernelRow, "name" | "class">): string[] => [row.class ?? "other", row.name];

/** Returns a name without result type and namespaces, so that it begins with its distinctive part. */
export function shortName(name: string): string {
  const isFunction = name.includes("(") || name.includes("<") || name.startsWith("aten::");
  return isFunction ? name.replace(/^(void )?((\w+|\(anonymous namespace\))::)*/, "") : name;
}

/** Sorts by size, largest first; repeated layers by number. */
function ordered(children: TreeNode[]): TreeNode[] {
  const numbered = children.every((child) => /^\d+$/.test(child.name));
  return children.sort((a, b) => (numbered ? Number(a.name) - Number(b.name) : b.value - a.value));
}

function childOf(node: TreeNode, name: string): TreeNode {
  const found = node.children.find((child) => child.name === name);
  if (found !== undefined) return found;
  const child = { name, path: [...node.path, name], value: 0, children: [] };
  node.children.push(child);
  return child;
}

/** Adds up leaves with the same path, and drops leaves of size 0. */
export function treeOf(leaves: Leaf[], name: string): TreeNode {
  const root: TreeNode = { name, path: [], value: 0, children: [] };
  const own = new Map<TreeNode, number>([[root, 0]]);
  for (const leaf of leaves) {
    if (leaf.value <= 0) continue;
    let node = root;
    for (const part of leaf.path) node = childOf(node, part);
    own.set(node, (own.get(node) ?? 0) + leaf.value);
  }
  const finish = (node: TreeNode) => {
    const itself = own.get(node) ?? 0;
    if (itself > 0 && node.children.length > 0) own.set(childOf(node, ITSELF), itself);
    node.children.forEach(finish);
    const inside = node.children.reduce((sum, child) => sum + child.value, 0);
    node.value = node.children.length > 0 ? inside : itself;
    ordered(node.children);
  };
  finish(root);
  return root;
}

/** Returns the node at this path, or its last existing ancestor. */
export function nodeAt(root: TreeNode, path: string[]): TreeNode {
  let node = root;
  for (const part of path) {
    const next = node.children.find((child) => child.name === part);
    if (next === undefined) return node;
    node = next;
  }
  return node;
}

/** Descends to the first node with more than one child: a folder with a single folder gives no information. */
export function firstChoice(node: TreeNode): TreeNode {
  const only = node.children.length === 1 ? node.children[0] : undefined;
  return only === undefined || only.children.length === 0 ? node : firstChoice(only);
}

/** Returns true if `path` is the node at `zoom` or inside it. */
export function isInside(path: string[], zoom: string[]): boolean {
  const parts = zoom.at(-1) === ITSELF ? zoom.slice(0, -1) : zoom;
  const exact = parts.length < zoom.length;
  return parts.every((part, level) => path[level] === part) && (!exact || path.length === parts.length);
}

/** Does not occur in C++ templates or paths. */
const SEPARATOR = " / ";
export const textOfPath = (path: string[]): string => path.join(SEPARATOR);
export const pathOfText = (text: string): string[] => (text === "" ? [] : text.split(SEPARATOR));
