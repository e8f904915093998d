import { useEffect, useState } from "preact/hooks";
import { askOf, fetchReport, fetchScenarios, whenReadAgain } from "./api/client";
import type { OpenTrace, Report, Scenario } from "./api/types";
import { useAnswer } from "./api/use_answer";
import { useRun } from "./api/use_run";
import { useStateOfFiles } from "./api/use_state_of_files";
import { Boundary } from "./components/boundary";
import { Header } from "./components/header";
import { RunButton, RunPanel } from "./components/run_panel";
import { useViewFocus } from "./components/use_view_focus";
import { readState, type UrlState, writeState } from "./model/url_state";
import { VIEW_IDS, VIEWS } from "./views/registry";

export function App() {
  const [state, setState] = useState<UrlState>(() => readState(location.hash, VIEW_IDS));
  const files = useStateOfFiles();
  const run = useRun(files.can_run, files.look);
  const [shownReport, setShownReport] = useState<{ report: Report; generation: number } | null>(null);
  const report = shownReport?.report ?? null;
  const [catalogue, setCatalogue] = useState<Scenario[] | null>(null);
  const [error, setError] = useState("");
  useViewFocus(state.view);

  useEffect(() => {
    const follow = () => setState(readState(location.hash, VIEW_IDS));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => whenReadAgain(files.look), [files.look]);
  useEffect(() => {
    const { generation } = files;
    if (generation === null) return;
    let isLatest = true;
    setError("");
    Promise.all([fetchReport(generation), fetchScenarios(generation)]).then(
      ([next, scenarios]) => {
        if (!isLatest) return;
        askOf(generation);
        setShownReport({ report: next, generation });
        setCatalogue(scenarios);
      },
      (failure: Error) => isLatest && setError(failure.message),
    );
    return () => {
      isLatest = false;
    };
  }, [files.generation]);
  const go = (next: UrlState, replace = false) => {
    if (!replace) {
      location.hash = writeState(next);
      return;
    }
    history.replaceState(null, "", writeState(next));
    setState(next);
  };
  const path = report?.inputs[0]?.path ?? "";
  useEffect(() => {
    document.title = path === "" ? "Headroom" : `Headroom: ${path.split("/").pop()}`;
  }, [path]);
  const traces = useAnswer<{ traces: OpenTrace[] }>(report === null ? null : "traces").answer?.traces.length ?? 1;
  const shown = VIEWS.find((view) => view.id === state.view);

  return (
    <>
      <Header report={report} state={state} shown={shown} traces={traces}>
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
          <Boundary key={`${shown.id} ${shownReport?.generation}`}>
            <shown.Component report={report} catalogue={catalogue} state={state} go={go} />
          </Boundary>
        )}
      </main>
    </>
  );
}
