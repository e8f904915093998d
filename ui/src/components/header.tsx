import { Download, Moon, Sun, SunMoon } from "lucide-preact";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { fetchFile } from "../api/client";
import { embeddedAnswers } from "../api/embedded";
import type { Report } from "../api/types";
import { formatMs } from "../format";
import { fileNameOf, gpusText, pathOf, ranksOf, rankText, stepsText } from "../model/header";
import { type UrlState, withView, writeState } from "../model/url_state";
import { VIEWS, type View } from "../views/registry";
import { save } from "./save";
import { type Theme, useTheme } from "./use_theme";
import "./header.css";

const THEMES: Record<Theme, { icon: typeof Sun; name: string }> = {
  system: { icon: SunMoon, name: "Theme: system" },
  light: { icon: Sun, name: "Theme: light" },
  dark: { icon: Moon, name: "Theme: dark" },
};

function ThemeButton() {
  const [theme, next] = useTheme();
  const { icon: Icon, name } = THEMES[theme];
  return (
    <button type="button" class="icon-button" aria-label={name} title={name} onClick={next}>
      <Icon size={18} aria-hidden="true" />
    </button>
  );
}

/** Saves the page as one HTML file. */
function SaveButton({ name }: { name: string }) {
  const [state, setState] = useState<{ saves: boolean; error: string }>({ saves: false, error: "" });
  const press = () => {
    if (state.saves) return;
    setState({ saves: true, error: "" });
    fetchFile().then(
      (file) => {
        save(name, file);
        setState({ saves: false, error: "" });
      },
      (failure: Error) => setState({ saves: false, error: failure.message }),
    );
  };
  return (
    <>
      {state.error !== "" && (
        <span class="error save-error" role="alert">
          Not saved: {state.error}
        </span>
      )}
      <button
        type="button"
        class="icon-button"
        aria-label="Save as one HTML file"
        title="Save as one HTML file"
        aria-disabled={state.saves}
        onClick={press}
      >
        <Download size={18} aria-hidden="true" />
        {state.saves && "Saving …"}
      </button>
    </>
  );
}

function Brand() {
  return (
    <h1 class="brand">
      <svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true">
        <rect x="1" y="9" width="14" height="6" rx="1.5" fill="var(--accent)" />
        <path d="M8 1v6M5 3.5 8 1l3 2.5" stroke="var(--accent)" stroke-width="1.8" fill="none" stroke-linecap="round" />
      </svg>
      <span class="brand-name">Headroom</span>
    </h1>
  );
}

/** The trace, its GPUs and steps, and the step time. `isOnlyRank`: no RankChoice shows the rank. */
function Trace({ report, isOnlyRank }: { report: Report; isOnlyRank: boolean }) {
  const path = pathOf(report);
  const { steps, summary } = report;
  const facts = [gpusText(report), isOnlyRank ? rankText(report) : "", stepsText(report)];
  return (
    <p class="header-trace">
      <strong title={path}>{path.split("/").pop()}</strong>
      <span class="dim header-facts">{facts.filter((fact) => fact !== "").join(" · ")}</span>
      {summary.step_ms !== null && (
        <span class="header-step" title={steps.corrected_step_ms === null ? "As recorded" : "Without the profiler"}>
          <strong>{formatMs(summary.step_ms.mid)}</strong>{" "}
          <span class="dim">{steps.step_time_ms === null ? "in total" : "per step"}</span>
        </span>
      )}
    </p>
  );
}

interface RankChoiceProps extends Pick<HeaderProps, "rank" | "state" | "go"> {
  job: Report;
  ofAll: boolean; // The view can show all ranks at once.
}

interface HeaderProps {
  job: Report | null; // Covers all ranks.
  report: Report | null; // Covers the shown ranks.
  rank: string; // The shown rank; empty: all.
  state: UrlState;
  shown: View | undefined;
  traces: number; // Number of open traces.
  go: (next: UrlState) => void;
  children?: ComponentChildren; // Buttons.
}

/** Selects the rank that the page shows; nothing if the job has one trace. */
function RankChoice({ job, rank, ofAll, state, go }: RankChoiceProps) {
  const ranks = ranksOf(job);
  if (ranks.length === 0) return null;
  const isKnown = rank === "" || ranks.some((one) => String(one.rank) === rank);
  return (
    <select
      aria-label="Rank"
      class="rank-choice"
      value={rank}
      onChange={(event) =>
        go({ view: state.view, query: { ...withView(state, state.view).query, rank: event.currentTarget.value } })
      }
    >
      {ofAll && <option value="">all ranks</option>}
      {!isKnown && <option value={rank}>{`rank ${rank}: missing`}</option>}
      {ranks.map((one) => (
        <option key={one.rank} value={String(one.rank)}>
          {one.title}
        </option>
      ))}
    </select>
  );
}

/** Stays at the top of the page. */
export function Header({ job, report, rank, state, shown, traces, go, children }: HeaderProps) {
  return (
    <header class="header">
      <div class="header-inner">
        <div class="header-line">
          <Brand />
          {report === null ? <p class="header-trace" /> : <Trace report={report} isOnlyRank={job?.job_ranks == null} />}
          {job !== null && (
            <RankChoice job={job} rank={rank} ofAll={shown?.ofAllRanks === true} state={state} go={go} />
          )}
          {children}
          {embeddedAnswers() === null && job !== null && <SaveButton name={fileNameOf(job)} />}
          <ThemeButton />
        </div>
        <nav aria-label="Views" class="views">
          {VIEWS.map((view) => {
            const missing = job === null ? "" : view.missing(job, traces);
            return (
              <a
                key={view.id}
                class={missing === "" ? "view-tab" : "view-tab empty"}
                title={missing === "" ? undefined : missing}
                href={writeState(withView(state, view.id))}
                aria-current={view === shown ? "page" : undefined}
              >
                <view.icon size={16} aria-hidden="true" />
                {view.title}
              </a>
            );
          })}
        </nav>
      </div>
    </header>
  );
}
