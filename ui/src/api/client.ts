// The server's answers, or those inside a page that is a file. Every failure is a sentence for the user.
import { answerIn, embeddedAnswers } from "./embedded";
import type { Report, Scenario } from "./types";

async function send(path: string, request: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}`, request);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new Error("headroom does not answer: is it still running?");
  }
  if (response.ok) return response;
  const text = await response.text();
  let message = text.trim();
  try {
    message = (JSON.parse(text) as { error: string }).error;
  } catch {
    // A refusal is plain text.
  }
  throw new Error(message);
}

const get = (path: string, signal?: AbortSignal) => send(path, { signal: signal ?? null });

/** One answer, by its path behind `api/v1/`. */
export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answers = embeddedAnswers();
  if (answers !== null) return answerIn(answers, path) as T;
  return (await get(path, signal)).json() as Promise<T>;
}

/** The same for columns, of a server. */
export async function askBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await get(path, signal)).arrayBuffer();
}

/** Has a server do something, which answers what has come of it. */
export const tell = async <T>(path: string): Promise<T> => (await send(path, { method: "POST" })).json() as Promise<T>;

export const fetchReport = (): Promise<Report> => ask("report");

export const fetchScenarios = async (): Promise<Scenario[]> => (await ask<{ scenarios: Scenario[] }>("scenarios")).scenarios;
