import { useEffect, useState } from "preact/hooks";
import { fetchReport, fetchScenarios } from "./api/client";
import type { Report, Scenario } from "./api/types";
import { readState, type UrlState, VIEWS, writeState } from "./model/url_state";
import { Overview } from "./views/overview";
import { WhatIf } from "./views/what_if";

const TITLES: Record<(typeof VIEWS)[number], string> = { overview: "Overview", "what-if": "What if" };

export function App() {
  const [state, setState] = useState<UrlState>(() => readState(location.hash));
  const [report, setReport] = useState<Report | null>(null);
  const [catalogue, setCatalogue] = useState<Scenario[]>([]);
  const [error, setError] = useState("");

  useEffect(() => {
    const follow = () => setState(readState(location.hash));
    addEventListener("hashchange", follow);
    const fail = (failure: Error) => setError(failure.message);
    fetchReport().then(setReport, fail);
    fetchScenarios().then(setCatalogue, fail);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const go = (next: UrlState) => {
    location.hash = writeState(next);
  };
  const path = report?.inputs[0]?.path ?? "";
  useEffect(() => {
    document.title = path === "" ? "Headroom" : `Headroom: ${path.split("/").pop()}`;
  }, [path]);

  return (
    <>
      <header>
        <h1>Headroom</h1>
        <p class="dim path">{path}</p>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a key={view} href={writeState({ ...state, view })} aria-current={state.view === view ? "page" : undefined}>
              {TITLES[view]}
            </a>
          ))}
        </nav>
      </header>
      <main>
        {error !== "" && (
          <p class="card error" role="alert">
            {error}
          </p>
        )}
        {report === null && error === "" && <p class="dim">Reading the report …</p>}
        {report !== null && state.view === "overview" && (
          <Overview report={report} catalogue={catalogue} onTry={(scenario) => go({ view: "what-if", scenario })} />
        )}
        {catalogue.length > 0 && state.view === "what-if" && (
          <WhatIf catalogue={catalogue} scenario={state.scenario} onChange={(scenario) => go({ ...state, scenario })} />
        )}
      </main>
    </>
  );
}
