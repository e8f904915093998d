import { useMemo, useRef, useState } from "preact/hooks";
import { formatPercent } from "../format";
import { firstChoice, nodeAt, shortName, type TreeNode } from "../model/charts/hierarchy";
import {
  type Box,
  boxesOf,
  colorIndexOf,
  HEADER_PX,
  heightOf,
  type MapShape,
  neighbourOf,
  ROW_PX,
} from "../model/charts/map_layout";
import "./node_map.css";
import { useWidth } from "./use_width";

const TREEMAP_PX = 380;
const TEXT_PX = 7.4; // Approximate width of a character.
const COLORS = 6;

/** Returns the part of a name that fits; empty: none. */
function labelOf(box: Box): string {
  const room = Math.floor((box.width - 8) / TEXT_PX);
  if (box.height < HEADER_PX - 3 || room < 2) return "";
  const name = shortName(box.node.name);
  return name.length <= room ? name : `${name.slice(0, room - 1)}…`;
}

/** Path from the root of the map to the shown part. */
function Crumbs({ root, path, onZoom }: { root: TreeNode; path: string[]; onZoom: (path: string[]) => void }) {
  const outermost = firstChoice(root).path.length;
  const steps = [root.name, ...path.slice(outermost)];
  return (
    <nav aria-label="Position in the map">
      <ol class="crumbs">
        {steps.map((name, level) => (
          <li key={level}>
            <button
              type="button"
              aria-current={level === steps.length - 1 ? "true" : undefined}
              onClick={() => onZoom(level === 0 ? [] : path.slice(0, outermost + level))}
            >
              {shortName(name)}
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/**
 * Shows a tree by size, as an icicle (parents above their parts) or a tree map (parts inside their parents). A click
 * zooms in. The path above the map, Escape, or a click on the outermost part zooms out.
 */
export function NodeMap({
  label,
  root,
  zoom,
  shape,
  format,
  onZoom,
}: {
  label: string;
  root: TreeNode;
  zoom: string[];
  shape: MapShape;
  format: (value: number) => string;
  onZoom: (path: string[]) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const [active, setActive] = useState(0);
  const [pointed, setPointed] = useState<TreeNode | null>(null);
  const top = useMemo(() => (zoom.length === 0 ? firstChoice(root) : nodeAt(root, zoom)), [root, zoom]);
  const boxes = useMemo(() => (width === 0 ? [] : boxesOf(top, shape, width, TREEMAP_PX)), [top, shape, width]);
  const height = heightOf(boxes);
  const said = pointed ?? top;
  const saidOf = (node: TreeNode) =>
    `${node.path.join(" › ") || node.name}: ${format(node.value)}, ${formatPercent((100 * node.value) / root.value)} of ${root.name.toLowerCase()}`;

  const zoomTo = (path: string[]) => {
    setActive(0);
    setPointed(null);
    onZoom(path);
  };
  const open = (node: TreeNode) => zoomTo(node === top ? node.path.slice(0, -1) : node.path);
  const onKeyDown = (event: KeyboardEvent) => {
    const node = boxes[active]?.node;
    if (event.key.startsWith("Arrow")) {
      const next = neighbourOf(boxes, active, event.key);
      setActive(next);
      host.current?.querySelectorAll<SVGGElement>(".node-map-box")[next]?.focus();
    } else if (event.key === "Enter" && node !== undefined) open(node);
    else if (event.key === "Escape") zoomTo(top.path.slice(0, -1));
    else return;
    event.preventDefault();
  };

  return (
    <div class="node-map">
      <Crumbs root={root} path={top.path} onZoom={zoomTo} />
      <div ref={host}>
        <svg
          width={width}
          height={height}
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the tree is drawn, its element is an <svg>
          role="tree"
          aria-label={`${label}. Arrow keys move, Enter zooms in, Escape zooms out.`}
          onKeyDown={onKeyDown}
          onMouseLeave={() => setPointed(null)}
        >
          {boxes.map((box, index) => {
            const color = box.parent === -1 ? "var(--dim)" : `var(--series-${colorIndexOf(box.node.name, COLORS) + 1})`;
            return (
              <g
                key={box.node.path.join("\n")}
                class="node-map-box"
                role="treeitem"
                aria-level={box.depth + 1}
                tabindex={index === active ? 0 : -1}
                onClick={() => open(box.node)}
                onMouseEnter={() => setPointed(box.node)}
                onFocus={() => {
                  setActive(index);
                  setPointed(box.node);
                }}
              >
                <title>{saidOf(box.node)}</title>
                <rect
                  x={box.left}
                  y={box.top}
                  width={Math.max(1, box.width)}
                  height={box.height}
                  rx="2"
                  style={{
                    fill: `color-mix(in srgb, ${color} ${shape === "treemap" && box.node.children.length > 0 ? 14 : 32}%, var(--card))`,
                  }}
                />
                {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: an SVG <text> takes no focus */}
                <text aria-hidden="true" x={box.left + 5} y={box.top + (shape === "icicle" ? ROW_PX / 2 + 4 : 14)}>
                  {labelOf(box)}
                </text>
              </g>
            );
          })}
        </svg>
      </div>
      <p class="node-map-said">{saidOf(said)}</p>
    </div>
  );
}
