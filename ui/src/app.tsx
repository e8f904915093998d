import { useEffect, useState } from "preact/hooks";
import { askOf, fetchReport, fetchScenarios, whenReadAgain } from "./api/client";
import { embeddedAnswers, firstRankIn } from "./api/embedded";
import type { OpenTrace, Report, Scenario } from "./api/types";
import { useAnswer } from "./api/use_answer";
import { useRun } from "./api/use_run";
import { useStateOfFiles } from "./api/use_state_of_files";
import { Boundary } from "./components/boundary";
import { Header } from "./components/header";
import { RunButton, RunPanel } from "./components/run_panel";
import { useViewFocus } from "./components/use_view_focus";
import { readState, type UrlState, withRank, writeState } from "./model/url_state";
import { VIEW_IDS, VIEWS } from "./views/registry";

/** Returns the rank that the address names; empty: none. */
const rankIn = ({ query }: UrlState): string => (/^-?\d+$/.test(query.rank ?? "") ? (query.rank ?? "") : "");

/** A file holds the answers of its first rank without naming it. */
function rankToAsk(rank: string): string {
  const answers = embeddedAnswers();
  return answers !== null && rank === String(firstRankIn(answers) ?? "") ? "" : rank;
}

/** State of the browser's entries that the page has shown; a link opens one without. */
const SEEN = "seen";

/** Returns the rank that views of one rank show if none is named; empty: the job has one trace. */
function firstRank(job: Report | undefined): string {
  const answers = embeddedAnswers();
  return String((answers === null ? job?.summary.rank : firstRankIn(answers)) ?? "");
}

/** The reports of one reading of the files. */
interface Reports {
  generation: number;
  job: Report; // Covers all ranks.
  ofRanks: Map<string, Report>;
}

export function App() {
  const [state, setState] = useState<UrlState>(() => readState(location.hash, VIEW_IDS));
  const files = useStateOfFiles();
  const run = useRun(files.can_run, files.look);
  const [reports, setReports] = useState<Reports | null>(null);
  const [catalogue, setCatalogue] = useState<Scenario[] | null>(null);
  const [error, setError] = useState("");
  useViewFocus(state.view);

  const shown = VIEWS.find((view) => view.id === state.view);
  // A job of one trace has no ranks to name.
  const named = reports !== null && reports.job.job_ranks == null ? "" : rankIn(state);
  // Most views show one rank.
  const rank = named === "" && shown?.ofAllRanks !== true ? firstRank(reports?.job) : named;
  const report = reports === null ? null : rank === "" ? reports.job : (reports.ofRanks.get(rank) ?? null);
  if (reports !== null) askOf(reports.generation, rankToAsk(rank));

  useEffect(() => {
    history.replaceState(SEEN, "");
    const follow = () =>
      setState((before) => {
        const to = readState(location.hash, VIEW_IDS);
        // Back and forward lead to entries that name their rank, or none on purpose.
        const next = history.state === null ? withRank(to, before) : to;
        history.replaceState(SEEN, "", writeState(next));
        return next;
      });
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => whenReadAgain(files.look), [files.look]);
  useEffect(() => {
    const { generation } = files;
    if (generation === null) return;
    let isLatest = true;
    setError("");
    Promise.all([fetchReport(generation, ""), fetchScenarios(generation)]).then(
      ([job, scenarios]) => {
        if (!isLatest) return;
        setReports({ generation, job, ofRanks: new Map() });
        setCatalogue(scenarios);
      },
      (failure: Error) => isLatest && setError(failure.message),
    );
    return () => {
      isLatest = false;
    };
  }, [files.generation]);
  useEffect(() => {
    if (reports === null) return;
    setError("");
    if (rank === "" || reports.ofRanks.has(rank)) return;
    let isLatest = true;
    fetchReport(reports.generation, rank).then(
      (next) => {
        if (!isLatest) return;
        // A rank's report leaves out what all ranks share.
        const ofRank = { ...next, job_ranks: reports.job.job_ranks ?? null };
        setReports({ ...reports, ofRanks: new Map(reports.ofRanks).set(rank, ofRank) });
      },
      (failure: Error) => isLatest && setError(failure.message),
    );
    return () => {
      isLatest = false;
    };
  }, [reports, rank]);
  const go = (to: UrlState, replace = false) => {
    const next = withRank(to, state);
    if (replace || writeState(next) === location.hash) history.replaceState(SEEN, "", writeState(next));
    else history.pushState(SEEN, "", writeState(next));
    setState(next);
  };
  const record = run.run?.phase === "idle" ? run.begin : null;
  const path = report?.inputs[0]?.path ?? "";
  useEffect(() => {
    document.title = path === "" ? "Headroom" : `Headroom: ${path.split("/").pop()}`;
  }, [path]);
  const traces = useAnswer<{ traces: OpenTrace[] }>(report === null ? null : "traces").answer?.traces.length ?? 1;

  return (
    <>
      <Header
        job={reports?.job ?? null}
        report={report}
        rank={rank}
        state={state}
        shown={shown}
        traces={traces}
        go={go}
      >
        <RunButton state={run} />
      </Header>
      <main>
        {error !== "" && (
          <p class="card error" role="alert">
            {error}
          </p>
        )}
        {files.isGone && (
          <p class="card error" role="alert">
            headroom no longer answers: it has ended, or the connection is closed. This page shows its last answers.
          </p>
        )}
        {files.problem !== null && (
          <p class="card error" role="alert">
            The trace file has changed but is unreadable: {files.problem}. This page shows the last readable version.
          </p>
        )}
        {!files.isGone && <RunPanel state={run} />}
        {error === "" && (report === null || catalogue === null) && <p class="dim">Reading the report …</p>}
        {shown !== undefined && report !== null && catalogue !== null && (
          <Boundary key={`${shown.id} ${reports?.generation} ${rank}`}>
            <shown.Component report={report} catalogue={catalogue} state={state} record={record} go={go} />
          </Boundary>
        )}
      </main>
    </>
  );
}
