import { describe, expect, test } from "vitest";
import type { Track } from "../api/timeline";
import { scaleTexts, seenOf } from "./counter_scale";
import { foldedAtFirst, laneAt, lanesBetween, layoutTracks, scrollTo, TITLE_HEIGHT, trackOfLane } from "./layout";
import { labelsOf, paintLanes, placeAt } from "./paint";
import { contrastOf, fillOf, makePalette, textOn } from "./palette";
import { shareOfList, titleOf } from "./range_texts";
import { decodeTile, levelOf, TileCache, tilesOf } from "./tiles";
import { clamp, clip, marksOf, pan, readViewport, writeViewport, zoom } from "./viewport";

const track = (id: number, lanes: number, kind: Track["kind"] = "thread"): Track => ({
  id,
  kind,
  name: `track ${id}`,
  group: "",
  first_lane: id * 10,
  lanes,
  spans: 1,
  overlapping: 0,
  minimum: null,
  maximum: null,
  unit: null,
});

/** A tile in the server's format: [lane, begin, end] in buckets. */
function tileBytes(spans: [number, number, number][], names: Record<string, string> = {}): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(names));
  const buffer = new ArrayBuffer(16 + 32 * spans.length + text.length);
  new Uint32Array(buffer, 0, 4).set([1, spans.length, text.length, 0]);
  const floats = (column: number, values: number[]) =>
    new Float32Array(buffer, 16 + 4 * spans.length * column, spans.length).set(values);
  const numbers = (column: number, values: number[]) =>
    new Uint32Array(buffer, 16 + 4 * spans.length * column, spans.length).set(values);
  floats(
    0,
    spans.map((span) => span[1]),
  );
  floats(
    1,
    spans.map((span) => span[2]),
  );
  floats(
    2,
    spans.map(() => 1),
  );
  numbers(
    3,
    spans.map((span) => span[0]),
  );
  numbers(
    4,
    spans.map((_, i) => i),
  );
  numbers(
    5,
    spans.map((_, i) => i),
  );
  numbers(
    6,
    spans.map(() => 6),
  );
  numbers(
    7,
    spans.map(() => 1),
  );
  new Uint8Array(buffer, 16 + 32 * spans.length).set(text);
  return buffer;
}

describe("viewport", () => {
  test("what is under the pointer stays there", () => {
    const view = zoom({ begin: 100, end: 200 }, 0.5, 0.25);
    expect(view).toEqual({ begin: 112.5, end: 162.5 });
    expect(zoom(view, 2, 0.25)).toEqual({ begin: 100, end: 200 });
  });

  test("one cannot leave the trace", () => {
    expect(clamp({ begin: -5e6, end: 5e6 }, 1e6)).toEqual({ begin: -2e4, end: 1.02e6 });
    expect(clamp(pan({ begin: 0, end: 1e5 }, 100), 1e6)).toEqual({ begin: 9.2e5, end: 1.02e6 });
    const shortest = clamp({ begin: 500, end: 501 }, 1e6);
    expect(shortest.end - shortest.begin).toBe(50);
  });

  test("what is measured lies in the trace", () => {
    expect(clip({ begin: -2e4, end: 1.02e6 }, 1e6)).toEqual({ begin: 0, end: 1e6 });
    expect(clip({ begin: 10, end: 20 }, 1e6)).toEqual({ begin: 10, end: 20 });
  });

  test("the address keeps it, and takes nothing else", () => {
    expect(readViewport(writeViewport({ begin: -12.5, end: 99.2 }))).toEqual({ begin: -13, end: 100 });
    for (const text of [undefined, "", "5-1", "a-b", "1e3-2e3", `0-${"9".repeat(400)}`, `-${"9".repeat(400)}-0`])
      expect(readViewport(text)).toBeNull();
  });

  test("marks are round and no more than asked for", () => {
    expect(marksOf({ begin: 0, end: 1000 }, 10)).toEqual({
      at: [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000],
      step: 100,
    });
    expect(marksOf({ begin: 30, end: 95 }, 4).step).toBe(20);
  });
});

describe("layout", () => {
  const layout = layoutTracks([track(0, 2, "stream"), track(1, 3), track(2, 1, "counter")], new Set([1]));

  test("a folded track shows its title alone", () => {
    expect(layout.lanes.map((box) => box.lane)).toEqual([0, 1, 20]);
    expect(layout.tracks.map((box) => box.folded)).toEqual([false, true, false]);
    expect(layout.tracks[1]?.height).toBe(TITLE_HEIGHT);
  });

  test("what is at a height", () => {
    for (const box of layout.lanes) expect(laneAt(layout, box.y + 1)).toBe(box);
    expect(laneAt(layout, 1)).toBeNull();
    expect(lanesBetween(layout, layout.lanes[1]!.y, layout.lanes[1]!.y + 1).map((box) => box.lane)).toEqual([1]);
    expect(lanesBetween(layout, 0, layout.height)).toHaveLength(3);
  });

  test("one scrolls no further than a lane needs", () => {
    const lane = layout.lanes[2]!;
    expect(scrollTo(lane, 0, 500)).toBe(0);
    expect(scrollTo(lane, 0, 100)).toBe(lane.y + lane.height + TITLE_HEIGHT - 100);
    expect(scrollTo(lane, 400, 100)).toBe(lane.y - TITLE_HEIGHT);
    // If the lane does not fit, its top is visible.
    expect(scrollTo(lane, 0, 10)).toBe(lane.y - TITLE_HEIGHT);
  });

  test("the track of a lane, also of one that is folded", () => {
    const tracks = [track(0, 2, "stream"), track(1, 3)];
    expect(trackOfLane(tracks, 12)?.id).toBe(1);
    expect(trackOfLane(tracks, 2)).toBeNull();
  });

  test("many threads begin folded, streams never", () => {
    const many = [...Array(10)].map((_, i) => track(i, 10, i === 9 ? "stream" : "thread"));
    expect([...foldedAtFirst(many)]).toEqual([6, 7, 8]);
  });
});

describe("tiles", () => {
  test("are read as they were written", () => {
    const tile = decodeTile(
      tileBytes(
        [
          [3, 0, 1],
          [3, 2, 4],
          [5, -7, 600],
        ],
        { "1": "gemm" },
      ),
    );
    expect([...tile.begin]).toEqual([0, 2, -7]);
    expect(tile.lanes.get(3)).toEqual([0, 2]);
    expect(tile.lanes.get(5)).toEqual([2, 3]);
    expect(tile.names.get(1)).toBe("gemm");
    expect(() => decodeTile(new ArrayBuffer(32))).toThrow("reload");
  });

  test("the level has a bucket a pixel, or more", () => {
    expect(levelOf(1)).toBe(0);
    expect(levelOf(1023)).toBe(9);
    expect(levelOf(1024)).toBe(10);
    expect(tilesOf({ begin: -10, end: 1100 }, 0, 512, 2000)).toEqual([0, 1, 2]);
    expect(tilesOf({ begin: 0, end: 9999 }, 0, 512, 600)).toEqual([0, 1]);
  });

  test("are asked for once, and coarser ones stand in", async () => {
    const asked: string[] = [];
    const cache = new TileCache(
      async (level, index, tracks) => {
        asked.push(`${level}/${index}/${tracks}`);
        return tileBytes([[0, 0, 1]]);
      },
      512,
      4096,
      () => {},
      (error) => {
        throw error;
      },
    );
    cache.request({ begin: 0, end: 4096 }, 1024, [0, 1]);
    cache.request({ begin: 0, end: 4096 }, 1024, [0, 1]);
    await Promise.resolve();
    await Promise.resolve();
    expect(asked).toEqual(["2/0/0,1", "2/1/0,1", "2/2/0,1"]);
    // Level 0 has not arrived, so each of its tiles is filled from level 2.
    const placed = cache.placed({ begin: 0, end: 1024 }, 1024, 0);
    expect(placed.map((one) => [one.bucketNs, one.fromNs, one.toNs])).toEqual([
      [4, 0, 512],
      [4, 512, 1024],
      [4, 1024, 1536],
    ]);
  });
});

describe("painting", () => {
  const layout = layoutTracks([track(0, 1, "stream")], new Set());
  const palette = makePalette(false);
  const tile = decodeTile(
    tileBytes(
      [
        [0, 0, 10],
        [0, 20, 20.5],
        [0, 40, 100],
      ],
      { "2": "gemm" },
    ),
  );
  const placed = [{ tile, beginNs: 0, bucketNs: 1, fromNs: 0, toNs: 512 }];
  const input = {
    lanes: layout.lanes,
    placed: () => placed,
    view: { begin: 0, end: 100 },
    palette,
    found: null,
    scrollTop: 0,
    ratio: 1,
  };

  test("a lane is filled where its spans are", () => {
    const pixels = new Uint32Array(100 * 60);
    paintLanes(pixels, 100, 60, input);
    const row = pixels.subarray((TITLE_HEIGHT + 3) * 100, (TITLE_HEIGHT + 4) * 100);
    const colour = fillOf(palette, 6);
    expect(row[5]).toBe(colour);
    expect(row[15]).toBe(palette.stripe);
    expect(row[20]).not.toBe(palette.stripe); // Half a pixel is visible too.
    expect(row[99]).toBe(colour);
    expect(pixels[0]).toBe(palette.background);
  });

  test("idle time that costs nothing is faint", () => {
    const channels = (colour: number) => [0, 8, 16].map((shift) => (colour >>> shift) & 0xff);
    const LATE = 9;
    const OTHERS_WORK = 13;
    for (const own of [palette, makePalette(true)]) {
      const distance = (style: number) =>
        Math.max(
          ...channels(fillOf(own, style)).map((value, index) => Math.abs(value - (channels(own.stripe)[index] ?? 0))),
        );
      expect(distance(OTHERS_WORK)).toBeGreaterThan(8);
      expect(distance(OTHERS_WORK)).toBeLessThan(distance(LATE) / 3);
    }
  });

  test("kernels stand out more than host work, and text on every fill is readable", () => {
    const [KERNEL, OPERATOR] = [6, 2];
    for (const own of [palette, makePalette(true)]) {
      const away = (style: number) => contrastOf(fillOf(own, style), own.stripe);
      expect(away(KERNEL)).toBeGreaterThan(1.3 * away(OPERATOR));
      for (const fill of own.fills) {
        const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(textOn(fill).slice(at, at + 2), 16));
        expect(contrastOf(fill, red! | (green! << 8) | (blue! << 16))).toBeGreaterThan(4.5);
      }
    }
  });

  test("labels are where there is room", () => {
    expect(labelsOf(input, 100, 30)).toMatchObject([{ x: 40, y: TITLE_HEIGHT, width: 60, text: "gemm" }]);
    expect(labelsOf({ ...input, view: { begin: 60, end: 160 } }, 100, 30)).toMatchObject([
      { x: 0, y: TITLE_HEIGHT, width: 40, text: "gemm" },
    ]);
  });

  test("what is under the pointer, or near it", () => {
    const lane = layout.lanes[0]!;
    expect(placeAt(lane, placed, 5, 1)?.index).toBe(0);
    expect(placeAt(lane, placed, 21, 2)?.index).toBe(1);
    expect(placeAt(lane, placed, 30, 2)).toBeNull();
  });
});

describe("the scale of a counter", () => {
  const counter: Track = { ...track(0, 1, "counter"), maximum: 80e9, unit: "bytes" };
  /** Each sample is [begin, end, share of the maximum, samples]. */
  const placedOf = (samples: [number, number, number, number][]) => {
    const tile = decodeTile(tileBytes(samples.map(([begin, end]) => [0, begin, end])));
    samples.forEach(([, , fill, count], i) => {
      tile.fill[i] = fill;
      tile.count[i] = count;
    });
    return [{ tile, beginNs: 0, bucketNs: 1, fromNs: 0, toNs: 512 }];
  };
  const steps = placedOf([
    [0, 10, 0.25, 1],
    [10, 20, 1, 1],
    [20, 30, 0.5, 1],
  ]);

  test("is of the samples that are seen", () => {
    const seen = (begin: number, end: number) => seenOf(counter, 0, steps, { begin, end });
    expect(seen(-5, 600)).toEqual({ least: 20e9, most: 80e9 });
    expect(seen(22, 28)).toEqual({ least: 40e9, most: 40e9 });
    expect(seen(0, 10)).toEqual({ least: 20e9, most: 20e9 });
    expect(seen(40, 50)).toBeNull();
    expect(seenOf(counter, 1, steps, { begin: 0, end: 10 })).toBeNull();
  });

  test("has no more digits than a tile", () => {
    const share = placedOf([[0, 10, 0.1, 1]]);
    expect(seenOf({ ...counter, maximum: 1e10 }, 0, share, { begin: 0, end: 10 })).toEqual({ least: 1e9, most: 1e9 });
  });

  test("begins at the least value where that is negative", () => {
    const loss = { ...counter, minimum: -4, maximum: 12, unit: null };
    expect(seenOf(loss, 0, steps, { begin: 0, end: 30 })).toEqual({ least: 0, most: 12 });
    expect(seenOf(loss, 0, placedOf([[0, 10, 0, 1]]), { begin: 0, end: 10 })).toEqual({ least: -4, most: -4 });
  });

  test("tells no least value where samples are drawn as one", () => {
    expect(
      seenOf(
        counter,
        0,
        placedOf([
          [0, 10, 0.25, 7],
          [10, 20, 0.5, 1],
        ]),
        { begin: 0, end: 20 },
      ),
    ).toEqual({ least: null, most: 40e9 });
  });

  test("has the trace's unit, and says how much the full height is where that is not seen", () => {
    expect(scaleTexts(counter, { least: 20e9, most: 80e9 })).toEqual(["20.0 GB to 80.0 GB"]);
    expect(scaleTexts(counter, { least: 40e9, most: 40e9 })).toEqual(["40.0 GB; full height 80.0 GB", "40.0 GB"]);
    expect(scaleTexts(counter, { least: null, most: 40e9 })).toEqual([
      "up to 40.0 GB; full height 80.0 GB",
      "up to 40.0 GB",
    ]);
    const loss = { ...counter, minimum: -4, maximum: 12, unit: null };
    expect(scaleTexts(loss, null)).toEqual(["full height -4 to 12"]);
    expect(scaleTexts(loss, { least: -4, most: 12 })).toEqual(["-4 to 12"]);
    expect(scaleTexts(loss, { least: 0, most: 12 })).toEqual(["0 to 12; full height -4 to 12", "0 to 12"]);
    expect(scaleTexts({ ...counter, maximum: 93, unit: "%" }, null)).toEqual(["full height 93.0 %"]);
    expect(scaleTexts({ ...counter, maximum: 7, unit: null }, { least: 0, most: 7 })).toEqual(["0 to 7"]);
  });
});

describe("the sums of a stretch", () => {
  test("tell streams of two GPUs apart", () => {
    const streams = [0, 1].map((id): Track => ({ ...track(id, 1, "stream"), name: "stream 7", group: `GPU ${id}` }));
    expect(streams.map((stream) => titleOf(streams, stream.id))).toEqual(["stream 7 GPU 0", "stream 7 GPU 1"]);
    expect(titleOf([track(3, 1)], 3)).toBe("track 3");
  });

  test("say how many names they leave out", () => {
    expect(shareOfList(12, 12)).toBe("");
    expect(shareOfList(12, 40)).toBe("; the 12 longest of 40 names");
    expect(shareOfList(12, 200)).toBe("; the 12 longest of 200 names or more");
  });
});
