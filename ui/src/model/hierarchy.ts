// Names of a table as a tree: what is called `encoder.layer.0.attention` is inside `encoder.layer.0`.
import type { AttributedRow, KernelRow, LineRow } from "../api/report_tables";

/** Something of this size and place. */
export interface Leaf {
  path: string[];
  value: number;
}

export interface TreeNode {
  name: string;
  path: string[];
  value: number; // With all inside.
  children: TreeNode[];
}

/** What a node holds itself, beside its children. */
export const ITSELF = "itself";

/** "layer::encoder.layer.0.attention" by its dots; PyTorch's "nn.Module: Linear_7" by its class. */
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

/** "src/train.py(28): step" by folders, file and function. */
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

/** Without result type and namespaces: what tells a function from others comes first. */
export function shortName(name: string): string {
  const isFunction = name.includes("(") || name.includes("<") || name.startsWith("aten::");
  return isFunction ? name.replace(/^(void )?((\w+|\(anonymous namespace\))::)*/, "") : name;
}

/** Largest first; numbered ones, as repeated layers are, by number. */
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

/** Leaves of one path are added up, those of no size left out. */
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

/** The node at this path; where the tree ends before it, the last one on the way. */
export function nodeAt(root: TreeNode, path: string[]): TreeNode {
  let node = root;
  for (const part of path) {
    const next = node.children.find((child) => child.name === part);
    if (next === undefined) return node;
    node = next;
  }
  return node;
}

/** Down to the first node that has a choice: folders that hold one folder say nothing. */
export function firstChoice(node: TreeNode): TreeNode {
  const only = node.children.length === 1 ? node.children[0] : undefined;
  return only === undefined || only.children.length === 0 ? node : firstChoice(only);
}

/** Whether what lies at `path` is the node at `zoom`, or inside it. */
export function isInside(path: string[], zoom: string[]): boolean {
  const parts = zoom.at(-1) === ITSELF ? zoom.slice(0, -1) : zoom;
  const exact = parts.length < zoom.length;
  return parts.every((part, level) => path[level] === part) && (!exact || path.length === parts.length);
}

/** Nothing that C++ templates or paths hold. */
const SEPARATOR = " / ";
export const textOfPath = (path: string[]): string => path.join(SEPARATOR);
export const pathOfText = (text: string): string[] => (text === "" ? [] : text.split(SEPARATOR));
