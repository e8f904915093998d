// Answers inside the page, which `headroom report --html` writes there. Their keys are the paths after `api/v1/`.

export type Answers = ReadonlyMap<string, unknown>;

export function answersOf(text: string): Answers {
  return new Map(Object.entries(JSON.parse(text) as Record<string, unknown>));
}

export function needsServer(): never {
  throw new Error(
    "This page is a file and holds only the answers saved with it. To get this answer, run: headroom ui TRACE",
  );
}

/** Throws if the file has no answer, or if the saved answer is an error. */
export function answerIn(answers: Answers, path: string): unknown {
  const ofFirst = path.replace(/[?&]rank=\d+$/, "");
  if (!answers.has(path) && ofFirst !== path && answers.has(ofFirst)) {
    throw new Error(
      `This page is a file, which holds this answer only for rank ${firstRankIn(answers)}: choose that rank, or run: headroom ui FOLDER`,
    );
  }
  if (!answers.has(path)) needsServer();
  const answer = answers.get(path);
  const { schema, error } = answer as { schema?: string; error?: string };
  if (schema === "headroom.error/1") throw new Error(error);
  return answer;
}

/** Returns the rank whose answers the file holds without a parameter `rank`; null: the job has only one rank. */
export const firstRankIn = (answers: Answers): number | null =>
  (answers.get("traces") as { first_rank?: number | null } | undefined)?.first_rank ?? null;

/** Binary columns, kept as base64; null: the file does not hold them. */
export function bytesIn(answers: Answers, path: string): ArrayBuffer | null {
  const text = answers.get(path);
  if (typeof text !== "string") return null;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
}

let answers: Answers | null | undefined;

/** Answers inside the page; null: the page has a server. */
export function embeddedAnswers(): Answers | null {
  if (answers === undefined) {
    const text = document.getElementById("answers")?.textContent;
    answers = text == null ? null : answersOf(text);
  }
  return answers;
}
