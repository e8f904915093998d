// What is said of a stretch.
import type { Track } from "../api/timeline";
import { formatCount } from "../format";

/** An answer holds no more names (kMostNames of serve/timeline_answers.cc). */
const MOST_NAMES = 200;

/** A track by its name and, as streams of several GPUs have the same, its group. */
export function titleOf(tracks: Track[], id: number): string {
  const track = tracks.find((one) => one.id === id);
  return track === undefined ? `track ${id}` : `${track.name} ${track.group}`.trim();
}

/** Behind the title of a list that is cut: "; the 12 longest of 40 names". */
export function shareOfList(shown: number, all: number): string {
  if (shown >= all) return "";
  return `; the ${formatCount(shown)} longest of ${all >= MOST_NAMES ? `${formatCount(MOST_NAMES)} names or more` : `${formatCount(all)} names`}`;
}
