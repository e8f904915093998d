// The server's answers, or those inside a page that is a file. Every failure is a sentence for the user.
import { answerIn, embeddedAnswers } from "./embedded";
import type { Report, Scenario } from "./types";

/** An address that is longer is refused, or dropped without a word. */
const MOST_PATH_LENGTH = 8000;
const TOO_LONG = "This is too long to be asked: shorten it.";
const URI_TOO_LONG = 414;
const OTHER_FILES = 412;

/** The reading of the files that the page shows; null: none yet. */
let shown: number | null = null;
let onOther = () => {};

/** From here on, questions are about this reading of the files, and fail where they were read again since. */
export function askOf(generation: number): void {
  shown = generation;
}

/** @param call  called whenever a question was about another reading of the files than there is now */
export function whenReadAgain(call: () => void): void {
  onOther = call;
}

/** What a failed answer says: a refusal is plain text, or none at all. */
export function messageOf(status: number, text: string): string {
  if (status === URI_TOO_LONG) return TOO_LONG;
  try {
    return (JSON.parse(text) as { error: string }).error;
  } catch {
    return text.trim() === "" ? `headroom answers with status ${status} and no reason.` : text.trim();
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

/** One answer, by its path behind `api/v1/`.
 *
 * @param generation  of the files that it is about: those shown, unless others are named; null: any */
export async function ask<T>(path: string, signal?: AbortSignal, generation?: number | null): Promise<T> {
  const answers = embeddedAnswers();
  if (answers !== null) return answerIn(answers, path) as T;
  return (await get(path, signal, generation)).json() as Promise<T>;
}

/** The same for columns, of a server. */
export async function askBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await get(path, signal)).arrayBuffer();
}

/** Has a server do something, which answers what has come of it. */
export const tell = async <T>(path: string): Promise<T> => (await send(path, { method: "POST" })).json() as Promise<T>;

export const fetchReport = (generation: number): Promise<Report> => ask("report", undefined, generation);

export const fetchScenarios = async (generation: number): Promise<Scenario[]> =>
  (await ask<{ scenarios: Scenario[] }>("scenarios", undefined, generation)).scenarios;
