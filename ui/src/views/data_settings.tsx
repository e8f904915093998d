// Forecasts for other settings of the loader, updated while the sliders move.
import { useMemo } from "preact/hooks";
import type { Loader, Loading, LoadingForecast, LoadingOption } from "../api/loading";
import { useAnswer } from "../api/use_answer";
import { Chart } from "../components/chart";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { Slider } from "../components/slider";
import { useDraft } from "../components/use_draft";
import {
  formatBytes,
  formatCount,
  formatMs,
  formatNumber,
  formatPercent,
  formatRate,
  formatSentence,
  formatSpeedup,
} from "../format";
import type { ChartSeries } from "../model/charts/chart";
import {
  CACHED,
  changeOf,
  commandOf,
  curveOf,
  DEFAULTS,
  doubtsOf,
  FACTOR,
  type LoadingSettings,
  namableStages,
  type OptionRow,
  PREFETCH,
  pathOf,
  queryOf,
  rowsOf,
  settingsOf,
  workersRange,
} from "../model/loading";
import type { ViewProps } from "./view";

/** PyTorch's default. */
const DEFAULT_PREFETCH = 2;

const COLUMNS: Column<OptionRow>[] = [
  { key: "setting", title: "Setting", cell: (row) => row.setting, kind: "name" },
  { key: "notes", title: "Note", cell: (row) => row.notes.join(", ") },
  { key: "step", title: "Step", cell: (row) => row.step_ms.mid, format: formatMs },
  {
    key: "range",
    title: "Interval",
    meaning: "Sorted by the lower end of the interval",
    cell: (row) => row.step_ms.low,
    format: (low, row) => `${formatMs(low)} to ${formatMs(row.step_ms.high)}`,
  },
  {
    key: "speed",
    title: "Speed",
    meaning: "Compared with the recorded setting",
    cell: (row) => row.speedup,
    format: formatSpeedup,
  },
  { key: "samples", title: "Samples per second", cell: (row) => row.samples_per_s, format: formatNumber },
  {
    key: "wait",
    title: "Waits",
    meaning: "Time per step that the loop waits for its batch",
    cell: (row) => row.wait_ms,
    format: formatMs,
  },
  {
    key: "cpus",
    title: "CPUs busy",
    meaning: "Logical CPUs used by the loop and the workers",
    cell: (row) => row.busy_cpus,
    format: formatNumber,
  },
  {
    key: "use",
    title: "Workers busy",
    meaning: "Busy share of their time",
    cell: (row) => 100 * row.worker_use,
    format: formatPercent,
  },
  {
    key: "memory",
    title: "Memory",
    meaning: "Memory of batches in progress, at most",
    cell: (row) => row.memory_bytes,
    format: formatBytes,
  },
];

interface ControlsProps {
  settings: LoadingSettings;
  loading: Loading;
  loader: Loader;
  forecast: LoadingForecast;
  onChange: (change: Partial<LoadingSettings>, moves?: boolean) => void;
}

function Controls({ settings, loading, loader, forecast, onChange }: ControlsProps) {
  const stages = namableStages(loading.stages);
  const number = (least: number, most: number, use: (value: number) => void) => (text: string) => {
    const value = Number(text);
    if (text.trim() !== "" && value >= least && value <= most) use(value);
  };
  const workers = settings.workers ?? loader.workers;
  return (
    <div class="loading-controls">
      <fieldset>
        <legend>Workers</legend>
        <Slider
          label="Workers"
          value={String(workers)}
          range={workersRange(loader, forecast)}
          onValue={number(0, 4096, (value) =>
            onChange({ workers: Math.round(value) === loader.workers ? null : Math.round(value) }, true),
          )}
        />
      </fieldset>
      <fieldset disabled={workers === 0}>
        <legend>Batches ahead per worker</legend>
        <Slider
          label="Batches ahead"
          value={String(settings.prefetch ?? loader.prefetch_factor ?? DEFAULT_PREFETCH)}
          range={PREFETCH}
          onValue={number(1, 4096, (value) =>
            onChange({ prefetch: Math.round(value) === loader.prefetch_factor ? null : Math.round(value) }, true),
          )}
        />
      </fieldset>
      <fieldset>
        <legend>Transformed samples kept in memory</legend>
        <Slider
          label="Cached"
          value={String(settings.cached)}
          range={CACHED}
          unit="%"
          onValue={number(0, 100, (cached) => onChange({ cached }, true))}
        />
      </fieldset>
      {stages.length > 0 && (
        <fieldset>
          <legend>A stage becomes faster</legend>
          <select
            aria-label="Stage"
            value={settings.stage}
            onChange={(event) => onChange({ stage: event.currentTarget.value })}
          >
            <option value="">none</option>
            {stages.map((stage) => (
              <option key={stage} value={stage}>
                {stage}
              </option>
            ))}
          </select>
          {settings.stage !== "" && (
            <Slider
              label="Speedup"
              value={String(settings.factor)}
              range={FACTOR}
              unit="x"
              onValue={number(1e-3, 1e6, (factor) => onChange({ factor }, true))}
            />
          )}
        </fieldset>
      )}
    </div>
  );
}

/** Figures of one setting. */
function Figures({ option }: { option: LoadingOption }) {
  const { low, mid, high } = option.step_ms;
  return (
    <>
      <p class="answer">
        <strong>{formatSpeedup(option.speedup)}</strong> {formatMs(mid)} per step
      </p>
      <p>
        <bdi>
          <code>{option.setting}</code>
        </bdi>
        : {formatMs(low)} to {formatMs(high)}
        {option.samples_per_s !== null && `, ${formatRate(option.samples_per_s, "samples")}`}; the loop waits{" "}
        {formatMs(option.wait_ms)} per step for its batch, and {formatNumber(option.busy_cpus)} logical CPUs are busy.
        {option.oversubscribed && " Oversubscribed: more threads are ready to run than there are cores."}
        {option.exceeds_memory &&
          ` Its batches in progress take ${formatBytes(option.memory_bytes)}, more than the free memory: the system would kill workers.`}
      </p>
    </>
  );
}

function Curve({
  forecast,
  loader,
  asked,
  workers,
}: {
  forecast: LoadingForecast;
  loader: Loader;
  asked: LoadingOption | null;
  workers: number;
}) {
  const curve = useMemo(() => curveOf(forecast, loader, asked, workers), [forecast, loader, asked, workers]);
  const series = useMemo(() => {
    const all: ChartSeries[] = [
      { label: "simulated, with its interval", points: curve.line, color: "--series-1" },
      { label: "as recorded", kind: "points", points: curve.recorded, color: "--text" },
      { label: "enough", kind: "points", points: curve.enough, color: "--series-3" },
      { label: "requested", kind: "points", points: curve.asked, color: "--series-2" },
    ];
    return all.filter((one) => one.points.length > 0);
  }, [curve]);
  const format = curve.inSamples ? (value: number) => formatRate(value, "samples") : formatSpeedup;
  const last = curve.line.at(-1);
  if (last === undefined) return null;
  return (
    <Chart
      label={`${curve.inSamples ? "Samples per second" : "Speed"} over workers: ${format(last.y)} with ${formatCount(last.x)}.`}
      series={series}
      x={{
        label: "workers",
        format: formatNumber,
        tick: (value) => (Number.isInteger(value) ? formatCount(value) : ""),
        min: 0,
      }}
      y={{
        label: curve.inSamples ? "samples per second" : "times the recorded speed",
        format,
        tick: formatNumber,
        min: 0,
      }}
      height={260}
    />
  );
}

/** @param loading  the answer without a change, for the loader in the address */
export function LoaderSettings({
  loading,
  loader,
  forecast,
  state,
  go,
}: { loading: Loading; loader: Loader; forecast: LoadingForecast } & Pick<ViewProps, "state" | "go">) {
  const outer = new URLSearchParams(queryOf(settingsOf(state.query))).toString();
  const [draft, setDraft] = useDraft(outer, (text) =>
    go({ ...state, query: { ...state.query, ...Object.fromEntries(new URLSearchParams(text)) } }),
  );
  const settings = useMemo(() => settingsOf(Object.fromEntries(new URLSearchParams(draft))), [draft]);
  const change = changeOf(settings, loader);
  const { answer, error, pending } = useAnswer<Loading>(change === "" ? null : pathOf(settings.loader, change), true);
  const asked = change === "" || error !== "" ? null : (answer?.forecast?.asked[0] ?? null);
  const rows = useMemo(
    () => rowsOf({ ...forecast, asked: asked === null ? [] : [asked] }, loader),
    [forecast, asked, loader],
  );
  const { order, onOrder } = useOrder("");
  const enough = forecast.options.find((option) => option.setting === forecast.cheapest);
  const onChange = (next: Partial<LoadingSettings>, moves?: boolean) =>
    setDraft(new URLSearchParams(queryOf({ ...settings, ...next })).toString(), moves);
  const doubts = doubtsOf(loading);
  return (
    <section class="card" aria-labelledby="would">
      <h2 id="would">Gains from other settings</h2>
      <Controls settings={settings} loading={loading} loader={loader} forecast={forecast} onChange={onChange} />
      <div class={pending ? "stale" : ""} aria-live="polite">
        {error !== "" && <p class="error">{formatSentence(error)}</p>}
        {error === "" && change !== "" && asked === null && <p class="dim">Simulating the loader …</p>}
        {asked !== null && <Figures option={asked} />}
        {change === "" && enough !== undefined && (
          <>
            <p class="dim">The cheapest setting within 2 % of the best one:</p>
            <Figures option={enough} />
          </>
        )}
      </div>
      {change !== "" && (
        <p>
          <button type="button" onClick={() => onChange({ ...DEFAULTS, loader: settings.loader })}>
            As recorded
          </button>
        </p>
      )}
      <Curve forecast={forecast} loader={loader} asked={asked} workers={settings.workers ?? loader.workers} />
      <DataTable label="Settings" columns={COLUMNS} rows={rows} order={order} onOrder={onOrder} />
      <p class="dim">
        Without waits for batches, a step would take {formatMs(forecast.ideal.step_ms.mid)}. Check: the simulated
        recorded setting takes {formatMs(forecast.simulated_step_ms)}, the recording{" "}
        {`${formatMs(loading.loop.step_ms)}; `} forecasts are corrected by the difference.
        {rows.some((row) => row.oversubscribed) &&
          " Oversubscribed: more threads are ready to run than there are cores."}
      </p>
      {doubts.map((doubt) => (
        <p key={doubt}>{doubt}</p>
      ))}
      <p class="dim">
        The same as a command: <code>{commandOf(loading.path, settings.loader, change)}</code>. It supports more
        changes: batch size, pinned memory, cached files, cores, storage, the loop's own time.
      </p>
    </section>
  );
}
