// Answers inside the page: `headroom report --html` writes them there, by what is asked behind `api/v1/`.

export type Answers = ReadonlyMap<string, unknown>;

export function answersOf(text: string): Answers {
  return new Map(Object.entries(JSON.parse(text) as Record<string, unknown>));
}

/** Fails for what the file does not know. */
export function answerIn(answers: Answers, path: string): unknown {
  if (answers.has(path)) return answers.get(path);
  throw new Error("This page is a file and knows no more than was asked when it was written. To ask this: headroom ui TRACE");
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
