// Tiles of the timeline: parsing, caching, and choosing the tiles of a view.
import type { Viewport } from "./viewport";
import { lengthOf } from "./viewport";

const FORMAT = 1;
const HEADER_BYTES = 16;
const COLUMNS = 8;

/** Columns by rectangle, grouped by lane and sorted by time (serve/tile_bytes.h). */
export interface Tile {
  begin: Float32Array; // In buckets from the start of the tile.
  end: Float32Array;
  fill: Float32Array;
  lane: Uint32Array;
  row: Uint32Array;
  name: Uint32Array;
  style: Uint32Array;
  count: Uint32Array;
  names: Map<number, string>;
  /** First rectangle of each lane, and one past its last. */
  lanes: Map<number, [number, number]>;
  bytes: number;
}

export function decodeTile(buffer: ArrayBuffer): Tile {
  const header = new Uint32Array(buffer, 0, 4);
  const rectangles = header[1] as number;
  const nameBytes = header[2] as number;
  if (header[0] !== FORMAT || buffer.byteLength !== HEADER_BYTES + 4 * COLUMNS * rectangles + nameBytes) {
    throw new Error("the page is older than the server: reload it");
  }
  const at = (column: number) => HEADER_BYTES + 4 * rectangles * column;
  const floats = (column: number) => new Float32Array(buffer, at(column), rectangles);
  const numbers = (column: number) => new Uint32Array(buffer, at(column), rectangles);
  const text = new TextDecoder().decode(new Uint8Array(buffer, at(COLUMNS), nameBytes));
  const lane = numbers(3);
  const lanes = new Map<number, [number, number]>();
  for (let i = 0, first = 0; i < rectangles; ++i) {
    if (i + 1 < rectangles && lane[i + 1] === lane[i]) continue;
    lanes.set(lane[i] as number, [first, i + 1]);
    first = i + 1;
  }
  return {
    begin: floats(0),
    end: floats(1),
    fill: floats(2),
    lane,
    row: numbers(4),
    name: numbers(5),
    style: numbers(6),
    count: numbers(7),
    names: new Map(
      Object.entries(JSON.parse(text) as Record<string, string>).map(([key, value]) => [Number(key), value]),
    ),
    lanes,
    bytes: buffer.byteLength,
  };
}

/** Returns the level whose buckets are at most a pixel long. */
export const levelOf = (nsPerPixel: number): number => Math.max(0, Math.floor(Math.log2(Math.max(nsPerPixel, 1))));

export const bucketNs = (level: number): number => 2 ** level;

/** Returns the tiles that a view shows. */
export function tilesOf(view: Viewport, level: number, tileBuckets: number, lengthNs: number): number[] {
  const tileNs = bucketNs(level) * tileBuckets;
  const last = Math.floor(lengthNs / tileNs);
  const from = Math.max(0, Math.floor(view.begin / tileNs));
  const to = Math.min(last, Math.floor(view.end / tileNs));
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}

export interface PlacedTile {
  tile: Tile;
  beginNs: number;
  bucketNs: number;
  /** Range that the tile must fill. */
  fromNs: number;
  toNs: number;
}

/** null: no tile of this resolution exists. */
type Fetch = (level: number, index: number, tracks: number[]) => Promise<ArrayBuffer | null>;

/** Tiles by level, index and track. Evicts the least recently used above a memory limit. */
export class TileCache {
  private readonly tiles = new Map<string, Tile | null>(); // null: requested or unavailable.
  private bytes = 0;

  constructor(
    private readonly fetch: Fetch,
    private readonly tileBuckets: number,
    private readonly lengthNs: number,
    private readonly onArrival: () => void,
    private readonly onFailure: (error: Error) => void,
    private readonly mostBytes = 64e6,
  ) {}

  /** Requests the missing tiles of a view. */
  request(view: Viewport, pixels: number, tracks: number[]): void {
    const level = levelOf(lengthOf(view) / pixels);
    for (const index of tilesOf(view, level, this.tileBuckets, this.lengthNs)) {
      const missing = tracks.filter((track) => !this.tiles.has(this.key(level, index, track)));
      if (missing.length > 0) void this.load(level, index, missing);
    }
  }

  /** Returns the available tiles of a track for a view: of the right level, else of coarser ones. */
  placed(view: Viewport, pixels: number, track: number): PlacedTile[] {
    const level = levelOf(lengthOf(view) / pixels);
    const placed: PlacedTile[] = [];
    for (const index of tilesOf(view, level, this.tileBuckets, this.lengthNs)) {
      const tileNs = bucketNs(level) * this.tileBuckets;
      const one = this.best(level, index, track, index * tileNs, (index + 1) * tileNs);
      if (one !== null) placed.push(one);
    }
    return placed;
  }

  private best(level: number, index: number, track: number, fromNs: number, toNs: number): PlacedTile | null {
    const COARSER = 24;
    for (let up = 0; up <= COARSER; ++up) {
      const at = Math.floor(index / 2 ** up);
      const key = this.key(level + up, at, track);
      const tile = this.tiles.get(key);
      if (tile == null) continue;
      this.tiles.delete(key); // Moves it to the end: most recently used.
      this.tiles.set(key, tile);
      const ns = bucketNs(level + up);
      return { tile, beginNs: at * ns * this.tileBuckets, bucketNs: ns, fromNs, toNs };
    }
    return null;
  }

  private key(level: number, index: number, track: number): string {
    return `${level}/${index}/${track}`;
  }

  private async load(level: number, index: number, tracks: number[]): Promise<void> {
    for (const track of tracks) this.tiles.set(this.key(level, index, track), null);
    try {
      const bytes = await this.fetch(level, index, tracks);
      if (bytes === null) return;
      const tile = decodeTile(bytes);
      for (const track of tracks) this.tiles.set(this.key(level, index, track), tile);
      this.bytes += tile.bytes;
      this.shrink();
      this.onArrival();
    } catch (error) {
      for (const track of tracks) this.tiles.delete(this.key(level, index, track));
      this.onFailure(error as Error);
    }
  }

  private shrink(): void {
    if (this.bytes <= this.mostBytes) return;
    const kept = new Set<Tile>();
    const newest = [...this.tiles].reverse();
    let bytes = 0;
    for (const [key, tile] of newest) {
      if (tile === null) continue;
      if (!kept.has(tile) && bytes + tile.bytes > this.mostBytes / 2) this.tiles.delete(key);
      else if (!kept.has(tile)) {
        kept.add(tile);
        bytes += tile.bytes;
      }
    }
    this.bytes = bytes;
  }
}
