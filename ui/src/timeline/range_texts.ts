// Texts about a selected range.
import type { Track } from "../api/timeline";
import { formatCount } from "../format";

/** Most names in an answer (kMostNames of serve/timeline_answers.cc). */
const MOST_NAMES = 200;

/** Returns a track's name with its group, because streams of several GPUs share names. */
export function titleOf(tracks: Track[], id: number): string {
  const track = tracks.find((one) => one.id === id);
  return track === undefined ? `track ${id}` : `${track.name} ${track.group}`.trim();
}

/** Returns a suffix for the title of a truncated list: "; the 12 longest of 40 names". */
export function shareOfList(shown: number, all: number): string {
  if (shown >= all) return "";
  return `; the ${formatCount(shown)} longest of ${all >= MOST_NAMES ? `${formatCount(MOST_NAMES)} names or more` : `${formatCount(all)} names`}`;
}
