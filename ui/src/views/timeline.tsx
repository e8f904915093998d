import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { embeddedAnswers } from "../api/embedded";
import {
  fetchPlace,
  fetchRange,
  fetchSearch,
  fetchSpan,
  fetchTimeline,
  type NameTotal,
  type Range,
  type Search,
  type Span,
  type SpanPlace,
  sourceOf,
  type Timeline as Tracks,
} from "../api/timeline";
import { formatCount, formatNs, formatPercent } from "../format";
import { defaultsOf, namesOf, textOf } from "../model/scenario";
import { arranged, idsOf, sortOf, type TrackChoice, textOfIds, toggled } from "../model/track_order";
import { KeyHelp } from "../timeline/key_help";
import { listenToKeys } from "../timeline/keys";
import { trackOfLane } from "../timeline/layout";
import { OverviewStrip } from "../timeline/overview_strip";
import { Pane, type Selected } from "../timeline/pane";
import { shareOfList, titleOf } from "../timeline/range_texts";
import { SearchBox } from "../timeline/search_box";
import { SharedView } from "../timeline/shared_view";
import { TrackList } from "../timeline/track_list";
import { around, clip, pan, readViewport, type Viewport, writeViewport, zoom } from "../timeline/viewport";
import type { ViewProps } from "./view";
import "./timeline.css";

/** Delay before the view is written to the address: browsers limit the rate of changes. */
const ADDRESS_DELAY_MS = 400;
const SEARCH_DELAY_MS = 150;
/** A constant, because a new list would redraw. */
const NO_LINKS: SpanPlace[] = [];

/** Returns the range of all steps; without steps, the whole trace. */
function firstView(tracks: Tracks, named?: string): Viewport {
  const step = tracks.steps.find((one) => String(one.index) === named);
  if (step !== undefined) return around(step.start_ns, step.wall_ns);
  const [first, last] = [tracks.steps[0], tracks.steps.at(-1)];
  if (first === undefined || last === undefined) return { begin: 0, end: tracks.length_ns };
  return { begin: first.start_ns, end: last.start_ns + last.wall_ns };
}

const SHOWN_NAMES = 12;

function Totals({ title, rows, length }: { title: string; rows: NameTotal[]; length: number }) {
  if (rows.length === 0) return null;
  const shown = rows.slice(0, SHOWN_NAMES);
  return (
    <table class="totals">
      <caption>{title + shareOfList(shown.length, rows.length)}</caption>
      <thead>
        <tr>
          <th scope="col">name</th>
          <th scope="col" class="number">
            time
          </th>
          <th scope="col" class="number">
            share
          </th>
          <th scope="col" class="number">
            spans
          </th>
        </tr>
      </thead>
      <tbody>
        {shown.map((row) => (
          <tr key={row.label}>
            <th scope="row">{row.label}</th>
            <td class="number">{formatNs(row.total_ns)}</td>
            <td class="number">{formatPercent((100 * row.total_ns) / length)}</td>
            <td class="number">{formatCount(row.count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RangePanel({
  range,
  tracks,
  onShow,
  onDrop,
}: {
  range: Range;
  tracks: Tracks;
  onShow: () => void;
  onDrop: () => void;
}) {
  const length = Math.max(1, range.to_ns - range.from_ns);
  const share = (ns: number) => `${formatNs(ns)} (${formatPercent((100 * ns) / length)})`;
  return (
    <section class="card timeline-panel" aria-labelledby="range" aria-live="polite">
      <h2 id="range">{formatNs(length)} selected</h2>
      <p>
        <button type="button" onClick={onShow}>
          Zoom in
        </button>{" "}
        <button type="button" onClick={onDrop}>
          Clear
        </button>
      </p>
      <ul>
        {range.streams.map((stream) => (
          <li key={stream.track}>
            {titleOf(tracks.tracks, stream.track)}: busy {share(stream.busy_ns)}; idle because of late launches{" "}
            {share(stream.idle_for_host_ns)}, idle while waiting for other GPU work {share(stream.idle_for_others_ns)}
            {stream.idle_unknown_ns > 0 && `, idle for unknown reasons ${share(stream.idle_unknown_ns)}`}
            {stream.idle_others_work_ns > 0 && `; idle while another stream works ${share(stream.idle_others_work_ns)}`}
            .
          </li>
        ))}
      </ul>
      <div class="totals-pair">
        <Totals title="On the GPU" rows={range.gpu} length={length} />
        <Totals title="On threads, including nested spans" rows={range.host} length={length} />
      </div>
    </section>
  );
}

function SpanPanel({
  selected,
  span,
  onGo,
}: {
  selected: Selected;
  span: Span | null;
  onGo: (place: SpanPlace) => void;
}) {
  return (
    <section class="card timeline-panel" aria-labelledby="span" aria-live="polite">
      <h2 id="span" title={span?.name}>
        {span?.name ?? (selected.label || "A span")}
      </h2>
      <p>
        <strong>{formatNs(span?.duration_ns ?? selected.duration_ns)}</strong> from{" "}
        {formatNs(span?.start_ns ?? selected.start_ns)} on.
        {selected.count > 1 && (
          <span class="dim">
            {" "}
            The longest of {formatCount(selected.count)} spans that are too close to draw separately.
          </span>
        )}
      </p>
      {span !== null && (
        <>
          <dl class="span-facts">
            {Object.entries(span.facts ?? {}).map(([name, value]) => (
              <div key={name}>
                <dt class="dim">{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          {span.links.length > 0 && (
            <ul class="links">
              {span.links.map((link) => (
                <li key={`${link.relation} ${link.lane} ${link.row}`}>
                  <span class="dim">{link.relation}</span>{" "}
                  <button type="button" onClick={() => onGo(link)}>
                    {link.label}
                  </button>{" "}
                  {formatNs(link.duration_ns)}
                </li>
              ))}
            </ul>
          )}
          {span.args != null && (
            <details>
              <summary>As recorded</summary>
              <code>{span.args}</code>
            </details>
          )}
        </>
      )}
    </section>
  );
}

/** The panes, rendered once the tracks have arrived. */
function Loaded({ tracks, catalogue, state, go }: Omit<ViewProps, "report" | "record"> & { tracks: Tracks }) {
  const scenario = state.query.scenario ?? "";
  const [shared] = useState(
    () => new SharedView(readViewport(state.query.t) ?? firstView(tracks, state.query.step), tracks.length_ns),
  );
  const [selected, setSelected] = useState<Selected | null>(null);
  const [span, setSpan] = useState<Span | null>(null);
  const [range, setRange] = useState<Viewport | null>(null);
  const [sums, setSums] = useState<Range | null>(null);
  const [search, setSearch] = useState<Search | null>(null);
  const [forecast, setForecast] = useState<Tracks | null>(null);
  const [error, setError] = useState("");
  const [helps, setHelps] = useState(false);
  const text = state.query.find ?? "";
  const searchBox = useRef<HTMLInputElement>(null);
  const latest = useRef(state);
  latest.current = state;
  const fail = (failure: Error) => setError(failure.message);
  const isFile = embeddedAnswers() !== null;
  const ranked = useMemo(
    () => catalogue.filter((one) => one.ranked).map((one) => textOf({ [one.name]: defaultsOf(one) }, catalogue)),
    [catalogue],
  );

  // Writes the view to the address. Follows an address that something else changed, such as Back or a link.
  const written = useRef(state.query.t);
  const writing = useRef(0);
  useEffect(() => {
    const end = shared.subscribe(() => {
      clearTimeout(writing.current);
      writing.current = window.setTimeout(() => {
        written.current = writeViewport(shared.view);
        go({ ...latest.current, query: { ...latest.current.query, t: written.current } }, true);
      }, ADDRESS_DELAY_MS);
    });
    return () => {
      clearTimeout(writing.current);
      end();
    };
  }, [shared]);
  useEffect(() => {
    if (state.query.t === written.current) return;
    written.current = state.query.t;
    shared.set(readViewport(state.query.t) ?? firstView(tracks, state.query.step));
    clearTimeout(writing.current);
  }, [state.query.t]);

  // A link from SQL names a time on its clock.
  const at = state.query.at ?? "";
  useEffect(() => {
    if (at === "" || isFile) return;
    const abort = new AbortController();
    fetchPlace(at, abort.signal).then(
      (place) => {
        const { span } = place;
        if (span !== null) select(span);
        // Keeps the view of an address that has one: the user moved it.
        if (latest.current.query.t === undefined)
          shared.set(
            span === null ? around(place.start_ns, place.duration_ns) : around(span.start_ns, span.duration_ns),
          );
      },
      (failure: Error) => !abort.signal.aborted && fail(failure),
    );
    return () => abort.abort();
  }, [at]);

  useEffect(() => {
    setSpan(null);
    if (selected === null || isFile) return;
    const abort = new AbortController();
    fetchSpan(selected.lane, selected.row, abort.signal).then(
      setSpan,
      (failure: Error) => !abort.signal.aborted && fail(failure),
    );
    return () => abort.abort();
  }, [selected]);

  useEffect(() => {
    setSums(null);
    if (range === null || isFile) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      fetchRange(range.begin, range.end, abort.signal).then(
        setSums,
        (failure: Error) => !abort.signal.aborted && fail(failure),
      );
    }, SEARCH_DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [range]);

  useEffect(() => {
    setSearch(null);
    if (text === "" || isFile) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      fetchSearch(text, abort.signal).then(setSearch, (failure: Error) => !abort.signal.aborted && fail(failure));
    }, SEARCH_DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  useEffect(() => {
    setError("");
    setForecast(null);
    if (scenario === "" || isFile) return;
    const abort = new AbortController();
    fetchTimeline(sourceOf(scenario), abort.signal).then(
      setForecast,
      (failure: Error) => !abort.signal.aborted && fail(failure),
    );
    return () => abort.abort();
  }, [scenario]);

  /** Selects a span, and shows its track. */
  const select = (place: SpanPlace) => {
    const track = trackOfLane(tracks.tracks, place.lane);
    const hidden = idsOf(latest.current.query.hide);
    if (track !== null && hidden.has(track.id)) set({ hide: textOfIds(toggled(hidden, track.id)) }, true);
    setSelected({ ...place, count: 1, style: 0 });
  };
  /** Removes `at`, so that the address does not select another span. */
  const leaveAt = () => (latest.current.query.at ?? "") !== "" && set({ at: "" }, true);
  const onSelect = (next: Selected | null) => {
    setSelected(next);
    leaveAt();
  };
  const goTo = (place: SpanPlace) => {
    leaveAt();
    select(place);
    shared.set(around(place.start_ns, place.duration_ns));
  };
  useEffect(
    () =>
      listenToKeys(
        helps
          ? { Escape: () => setHelps(false) }
          : {
              w: () => shared.set(zoom(shared.view, 0.7, 0.5)),
              s: () => shared.set(zoom(shared.view, 1 / 0.7, 0.5)),
              a: () => shared.set(pan(shared.view, -0.2)),
              d: () => shared.set(pan(shared.view, 0.2)),
              // Selects the span alone, in place of spans that were too close to draw separately.
              f: () =>
                span !== null
                  ? goTo(span)
                  : selected !== null && shared.set(around(selected.start_ns, selected.duration_ns)),
              "/": () => searchBox.current?.focus(),
              "0": () => shared.set({ begin: 0, end: tracks.length_ns }),
              "?": () => setHelps(true),
              Escape: () => {
                onSelect(null);
                setRange(null);
              },
            },
      ),
    [shared, selected, span, helps],
  );
  const choice = useMemo(
    (): TrackChoice => ({
      hidden: idsOf(state.query.hide),
      pinned: idsOf(state.query.pin),
      sort: sortOf(state.query.order),
    }),
    [state.query.hide, state.query.pin, state.query.order],
  );
  const shownTracks = useMemo(() => arranged(tracks.tracks, choice), [tracks, choice]);
  const onChoice = ({ hidden, pinned, sort }: TrackChoice) =>
    set({ hide: textOfIds(hidden), pin: textOfIds(pinned), order: sort === "recorded" ? "" : sort }, true);
  /** Keys and answers call it later, and several calls may precede the next rendering. */
  const set = (query: Record<string, string>, replace = false) => {
    latest.current = { ...latest.current, query: { ...latest.current.query, ...query } };
    go(latest.current, replace);
  };
  const found = useMemo(() => (search === null ? null : new Set(search.names)), [search]);

  return (
    <>
      <section aria-label="Controls" class="timeline-controls">
        <SearchBox
          text={text}
          search={search}
          input={searchBox}
          hidden={isFile}
          onText={(find) => set({ find }, true)}
          onGo={goTo}
        />
        <label>
          Go to{" "}
          <select
            value=""
            onChange={(event) => {
              const step = tracks.steps[Number(event.currentTarget.value)];
              shared.set(
                step === undefined ? { begin: 0, end: tracks.length_ns } : around(step.start_ns, step.wall_ns),
              );
              event.currentTarget.value = "";
            }}
          >
            <option value="">…</option>
            <option value="-1">the whole trace</option>
            {tracks.steps.map((step, i) => (
              <option key={i} value={i}>
                step {step.index}: {formatNs(step.wall_ns)}
              </option>
            ))}
          </select>
        </label>
        {!isFile && (
          <button type="button" onClick={() => setRange(clip(shared.view, tracks.length_ns))}>
            Measure this view
          </button>
        )}
        <label hidden={isFile}>
          Forecast below{" "}
          <select value={scenario} onChange={(event) => set({ scenario: event.currentTarget.value })}>
            <option value="">none</option>
            {scenario !== "" && !ranked.includes(scenario) && (
              <option value={scenario}>{namesOf(scenario, catalogue)}</option>
            )}
            {ranked.map((one) => (
              <option key={one} value={one}>
                {namesOf(one, catalogue)}
              </option>
            ))}
          </select>
        </label>
        <TrackList tracks={tracks.tracks} choice={choice} onChoice={onChoice} />
        <button type="button" aria-label="Keys" title="Keys (?)" onClick={() => setHelps(true)}>
          ?
        </button>
      </section>
      <KeyHelp open={helps} onClose={() => setHelps(false)} />
      {error !== "" && (
        <p class="card error" role="alert">
          {error}
        </p>
      )}
      <section aria-label="As recorded" class={forecast === null ? "" : "pane-half"}>
        {forecast !== null && <h2>As recorded</h2>}
        <OverviewStrip timeline={tracks} shared={shared} onFailure={fail} />
        <Pane
          label="Timeline as recorded"
          source=""
          timeline={tracks}
          tracks={shownTracks}
          shared={shared}
          found={found}
          selected={selected}
          links={span?.links ?? NO_LINKS}
          range={range}
          onSelect={onSelect}
          onRange={setRange}
          onFailure={fail}
        />
      </section>
      {forecast !== null && (
        <ForecastPane
          forecast={forecast}
          title={namesOf(forecast.scenario ?? "", catalogue)}
          shared={shared}
          onFailure={fail}
        />
      )}
      {sums !== null && range !== null && (
        <RangePanel range={sums} tracks={tracks} onShow={() => shared.set(range)} onDrop={() => setRange(null)} />
      )}
      {selected !== null && <SpanPanel selected={selected} span={span} onGo={goTo} />}
      {isFile && (
        <p class="card">
          This page is a file. For search, forecasts, facts about spans and finer detail, run:{" "}
          <code>headroom ui TRACE</code>
        </p>
      )}
    </>
  );
}

/** A forecast's pane has its own selection, because the trace does not contain its spans. */
function ForecastPane({
  forecast,
  title,
  shared,
  onFailure,
}: {
  forecast: Tracks;
  title: string;
  shared: SharedView;
  onFailure: (error: Error) => void;
}) {
  const [selected, setSelected] = useState<Selected | null>(null);
  const CHANGED = 0x100;
  const INSERTED = 0x200;
  useEffect(() => setSelected(null), [forecast]);
  const mark =
    selected === null ? "" : selected.style & CHANGED ? ", changed" : selected.style & INSERTED ? ", new" : "";
  return (
    <section class="pane-half" aria-label={`Forecast of ${title}`}>
      <h2>Forecast: {title}</h2>
      <Pane
        label={`Forecast timeline of ${title}`}
        source={sourceOf(forecast.scenario ?? "")}
        timeline={forecast}
        tracks={forecast.tracks}
        shared={shared}
        found={null}
        selected={selected}
        links={NO_LINKS}
        range={null}
        onSelect={setSelected}
        onRange={() => {}}
        onFailure={onFailure}
      />
      {selected !== null && (
        <p aria-live="polite">
          {selected.label || "A span"}: {formatNs(selected.duration_ns)}
          {mark}.
        </p>
      )}
    </section>
  );
}

export function Timeline({ catalogue, state, go }: ViewProps) {
  const [tracks, setTracks] = useState<Tracks | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    fetchTimeline("").then(setTracks, (failure: Error) => setError(failure.message));
  }, []);
  if (error !== "") {
    return (
      <p class="card error" role="alert">
        {error}
      </p>
    );
  }
  if (tracks === null) return <p class="dim">Laying out the timeline …</p>;
  if (tracks.tracks.length === 0) return <p class="card">The trace has no spans to draw.</p>;
  return <Loaded tracks={tracks} catalogue={catalogue} state={state} go={go} />;
}
