// Requests to the server, or to the answers inside a page that is a file. Every failure is a sentence for the user.
import { answerIn, embeddedAnswers } from "./embedded";
import type { Report, Scenario } from "./types";

/** The server may refuse or drop longer addresses. */
const MOST_PATH_LENGTH = 8000;
const TOO_LONG = "This request is too long: shorten it.";
const URI_TOO_LONG = 414;
const OTHER_FILES = 412;

/** Generation of the files that the page shows; null: none yet. */
let shown: number | null = null;
/** Rank that the page shows; empty: the one that the server chooses, or the job has only one. */
let shownRank = "";
let onOther = () => {};

/**
 * Sets the generation and the rank that later requests are about. Requests fail if the server has read the files again
 * since.
 */
export function askOf(generation: number, rank: string): void {
  shown = generation;
  shownRank = rank;
}

/** Requests that are not about the trace of one rank. */
const OF_ALL_RANKS = /^(state|run|traces|diff|ranks|scenarios|clusters)\b|[?&]trace=/;

/** Adds the rank to the path of a request. */
export const pathOfRank = (path: string, rank: string = shownRank): string =>
  rank === "" || OF_ALL_RANKS.test(path) ? path : `${path}${path.includes("?") ? "&" : "?"}rank=${rank}`;

/** @param call  called after a request about an older generation than the server has */
export function whenReadAgain(call: () => void): void {
  onOther = call;
}

/** Returns the message of a failed answer. A refusal is plain text, or empty. */
export function messageOf(status: number, text: string): string {
  if (status === URI_TOO_LONG) return TOO_LONG;
  try {
    return (JSON.parse(text) as { error: string }).error;
  } catch {
    return text.trim() === "" ? `headroom answered with status ${status} but gave no reason.` : text.trim();
  }
}

async function send(path: string, request: RequestInit): Promise<Response> {
  if (path.length > MOST_PATH_LENGTH) throw new Error(TOO_LONG);
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}`, request);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new Error("headroom does not answer: is it still running?");
  }
  if (response.ok) return response;
  if (response.status === OTHER_FILES) onOther();
  throw new Error(messageOf(response.status, await response.text()));
}

const get = (path: string, signal?: AbortSignal, generation: number | null = shown) =>
  send(path, { signal: signal ?? null, headers: generation === null ? {} : { "If-Match": `"${generation}"` } });

/**
 * Requests one answer, by its path after `api/v1/`.
 *
 * @param generation  generation of the files that the request is about; default: the files shown; null: any
 */
export async function ask<T>(path: string, signal?: AbortSignal, generation?: number | null): Promise<T> {
  const answers = embeddedAnswers();
  if (answers !== null) return answerIn(answers, pathOfRank(path)) as T;
  return (await get(pathOfRank(path), signal, generation)).json() as Promise<T>;
}

/** Like ask(), for binary columns. Requires a server. */
export async function askBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await get(pathOfRank(path), signal)).arrayBuffer();
}

/** Returns the page as one HTML file. Requires a server. */
export const fetchFile = async (): Promise<Blob> => (await get("file")).blob();

/** Makes the server act, and returns the result. */
export const tell = async <T>(path: string): Promise<T> => (await send(path, { method: "POST" })).json() as Promise<T>;

/** @param rank  empty: the rank that the server chooses */
export async function fetchReport(generation: number, rank: string): Promise<Report> {
  const path = pathOfRank("report", rank);
  const answers = embeddedAnswers();
  if (answers !== null) return answerIn(answers, path) as Report;
  return (await get(path, undefined, generation)).json() as Promise<Report>;
}

export const fetchScenarios = async (generation: number): Promise<Scenario[]> =>
  (await ask<{ scenarios: Scenario[] }>("scenarios", undefined, generation)).scenarios;
