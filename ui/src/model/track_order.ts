// Which tracks of the timeline are shown, and in which order.
import type { Track } from "../api/timeline";

export type TrackSort = "recorded" | "name" | "spans";

export interface TrackChoice {
  hidden: ReadonlySet<number>; // Ids of tracks.
  pinned: ReadonlySet<number>; // These come first.
  sort: TrackSort;
}

/** Parses "3,17" of the address. */
export const idsOf = (text: string | undefined): Set<number> =>
  new Set(
    (text ?? "")
      .split(",")
      .filter((part) => /^\d+$/.test(part))
      .map(Number),
  );

export const textOfIds = (ids: ReadonlySet<number>): string => [...ids].sort((a, b) => a - b).join(",");

export const sortOf = (text: string | undefined): TrackSort =>
  text === "name" || text === "spans" ? text : "recorded";

const titleOf = (track: Track): string => `${track.name} ${track.group}`.toLowerCase();

/** Returns the shown tracks in order. */
export function arranged(tracks: Track[], { hidden, pinned, sort }: TrackChoice): Track[] {
  const shown = tracks.filter((track) => !hidden.has(track.id));
  if (sort === "name") shown.sort((a, b) => titleOf(a).localeCompare(titleOf(b), "en", { numeric: true }));
  if (sort === "spans") shown.sort((a, b) => b.spans - a.spans);
  return [...shown.filter((track) => pinned.has(track.id)), ...shown.filter((track) => !pinned.has(track.id))];
}

/** Returns the tracks whose title contains each word of a text. */
export const matching = (tracks: Track[], text: string): Track[] => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return tracks.filter((track) => words.every((word) => titleOf(track).includes(word)));
};

/** Returns a set with an id added, or removed if it was there. */
export function toggled(ids: ReadonlySet<number>, id: number): Set<number> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}
