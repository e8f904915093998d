import { expect, test } from "vitest";
import {
  firstChoice,
  isInside,
  nodeAt,
  pathOfLayer,
  pathOfLine,
  pathOfStack,
  pathOfText,
  shortName,
  textOfPath,
  treeOf,
} from "./hierarchy";

test("layers split at dots, PyTorch's modules by class, lines by folder", () => {
  expect(pathOfLayer({ name: "layer::transformer.h.0.attn" })).toEqual(["transformer", "h", "0", "attn"]);
  expect(pathOfLayer({ name: "nn.Module: Linear_12" })).toEqual(["Linear", "Linear_12"]);
  expect(pathOfLayer({ name: "nn.Module: BertModel" })).toEqual(["BertModel"]);
  expect(pathOfLine({ location: "lib/train.py(28): step" })).toEqual(["lib", "train.py", "step (28)"]);
  expect(pathOfLine({ location: "somewhere" })).toEqual(["somewhere"]);
});

const TREE = treeOf(
  [
    { path: ["model", "a"], value: 1 },
    { path: ["model", "b", "c"], value: 4 },
    { path: ["model", "b", "d"], value: 2 },
    { path: ["model", "b"], value: 3 },
    { path: ["model", "b", "c"], value: 1 },
    { path: ["model", "e"], value: 0 },
  ],
  "all",
);

test("a node holds what is inside it, and what it does itself is a part", () => {
  expect(TREE.value).toBe(11);
  const b = nodeAt(TREE, ["model", "b"]);
  expect(b.value).toBe(10);
  expect(b.children.map((child) => [child.name, child.value])).toEqual([
    ["c", 5],
    ["itself", 3],
    ["d", 2],
  ]);
  expect(nodeAt(TREE, ["model"]).children.map((child) => child.name)).toEqual(["b", "a"]);
});

test("a path that is not there ends where the tree does", () => {
  expect(nodeAt(TREE, ["model", "a", "z"]).name).toBe("a");
  expect(firstChoice(TREE).name).toBe("model");
});

test("zooming keeps what lies inside", () => {
  expect(isInside(["model", "b", "c"], ["model", "b"])).toBe(true);
  expect(isInside(["model", "a"], ["model", "b"])).toBe(false);
  expect(isInside(["model", "b"], ["model", "b", "itself"])).toBe(true);
  expect(isInside(["model", "b", "c"], ["model", "b", "itself"])).toBe(false);
});

test("a path goes through the address", () => {
  const path = ["matmul", "void f<g<int> > const&(int)", "lib/a.py"];
  expect(pathOfText(textOfPath(path))).toEqual(path);
  expect(pathOfText("")).toEqual([]);
});

test("repeated layers keep their order", () => {
  const tree = treeOf(
    [2, 10, 1].map((layer) => ({ path: [`${layer}`], value: layer })),
    "all",
  );
  expect(tree.children.map((child) => child.name)).toEqual(["1", "2", "10"]);
});

test("names of kernels begin with what tells them apart", () => {
  expect(shortName("void at::native::(anonymous namespace)::copy_kernel<float>(int)")).toBe("copy_kernel<float>(int)");
  expect(shortName("void cutlass::Kernel2<cutlass_80_gemm>(x)")).toBe("Kernel2<cutlass_80_gemm>(x)");
  expect(shortName("aten::mm")).toBe("mm");
  expect(shortName("core.py")).toBe("core.py");
});

test("stacks begin with their part, and frames of packages lose the folder", () => {
  const stack = "train.py(3): <module>;site-packages/torch/nn/modules/module.py: Module.__call__;import";
  expect(pathOfStack({ part: "forward", stack })).toEqual([
    "forward",
    "train.py(3): <module>",
    "torch/nn/modules/module.py: Module.__call__",
    "import",
  ]);
});
