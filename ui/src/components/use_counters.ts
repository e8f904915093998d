import { useEffect, useState } from "preact/hooks";
import { fetchTile, fetchTimeline, type TimelineStep } from "../api/timeline";
import { type CounterCurve, curvesOf, levelOfWhole } from "../timeline/counter_curves";
import { decodeTile } from "../timeline/tiles";

export interface Counters {
  curves: CounterCurve[];
  steps: TimelineStep[];
  lengthMs: number; // Of the whole recording, which all charts show.
}

const NONE: Counters = { curves: [], steps: [], lengthMs: 0 };

async function fetchCounters(signal: AbortSignal): Promise<Counters> {
  const timeline = await fetchTimeline("", signal);
  const tracks = timeline.tracks.filter((track) => track.kind === "counter").map((track) => track.id);
  if (tracks.length === 0) return NONE;
  const level = levelOfWhole(timeline.length_ns);
  const bytes = await fetchTile("", level, 0, tracks);
  return bytes === null ? NONE : { curves: curvesOf(timeline, decodeTile(bytes), level), steps: timeline.steps, lengthMs: timeline.length_ns / 1e6 };
}

/** All counters over the whole recording; null: not there yet.
 *
 * @param isWanted  else nothing is asked */
export function useCounters(isWanted: boolean): { counters: Counters | null; error: string } {
  const [counters, setCounters] = useState<Counters | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    if (!isWanted) return;
    const abort = new AbortController();
    fetchCounters(abort.signal).then(setCounters, (failure: Error) => !abort.signal.aborted && setError(failure.message));
    return () => abort.abort();
  }, [isWanted]);
  return { counters, error };
}
