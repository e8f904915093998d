// Answers inside the page: `headroom report --html` writes them there, by what is asked behind `api/v1/`.

export type Answers = ReadonlyMap<string, unknown>;

export function answersOf(text: string): Answers {
  return new Map(Object.entries(JSON.parse(text) as Record<string, unknown>));
}

export function needsServer(): never {
  throw new Error(
    "This page is a file and knows no more than was asked when it was written. To ask this: headroom ui TRACE",
  );
}

/** Fails for what the file does not know, and as the question failed when it was asked. */
export function answerIn(answers: Answers, path: string): unknown {
  if (!answers.has(path)) needsServer();
  const answer = answers.get(path);
  const { schema, error } = answer as { schema?: string; error?: string };
  if (schema === "headroom.error/1") throw new Error(error);
  return answer;
}

/** Columns, which are kept as base64; null: the file does not hold them. */
export function bytesIn(answers: Answers, path: string): ArrayBuffer | null {
  const text = answers.get(path);
  if (typeof text !== "string") return null;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
}

let answers: Answers | null | undefined;

/** The page's own answers; null: it has a server to ask. */
export function embeddedAnswers(): Answers | null {
  if (answers === undefined) {
    const text = document.getElementById("answers")?.textContent;
    answers = text == null ? null : answersOf(text);
  }
  return answers;
}
