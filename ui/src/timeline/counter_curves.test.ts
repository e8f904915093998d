import { expect, test } from "vitest";
import type { Timeline, Track } from "../api/timeline";
import { curvesOf, levelOfWhole } from "./counter_curves";
import type { Tile } from "./tiles";

const track = (id: number, kind: Track["kind"], rest: Partial<Track> = {}): Track => ({
  id,
  kind,
  name: "loader.ready",
  group: "counters",
  first_lane: id,
  lanes: 1,
  spans: 2,
  overlapping: 0,
  minimum: 0,
  maximum: 4,
  unit: "1",
  ...rest,
});

test("one tile holds the whole, in no more points than a chart shows", () => {
  expect(levelOfWhole(0)).toBe(0);
  expect(levelOfWhole(256)).toBe(0);
  expect(levelOfWhole(257)).toBe(1);
  for (const length of [1e3, 1e6, 123_456_789, 1e12]) {
    const buckets = length / 2 ** levelOfWhole(length);
    expect(buckets).toBeLessThan(257);
    expect(buckets).toBeGreaterThan(127);
  }
});

test("a sample holds until the next one", () => {
  // At level 20, a bucket is 1.048576 ms.
  const tile = {
    begin: Float32Array.of(0, 1, 3),
    end: Float32Array.of(9, 3, 3),
    fill: Float32Array.of(1, 0.5, 1),
    lanes: new Map([
      [0, [0, 1]],
      [1, [1, 3]],
    ]),
  } as unknown as Tile;
  const timeline = { tracks: [track(0, "thread"), track(1, "counter"), track(2, "counter", { name: "none" })] } as Timeline;
  expect(curvesOf(timeline, tile, 20)).toEqual([
    {
      name: "loader.ready",
      unit: "1",
      points: [
        { x: 1.048576, y: 2 },
        { x: 3.145728, y: 2 },
        { x: 3.145728, y: 4 },
      ],
    },
    { name: "none", unit: "1", points: [] },
  ]);
});
