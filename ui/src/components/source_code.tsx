import { useAnswer } from "../api/use_answer";
import "./source_code.css";

interface Source {
  path: string;
  line: number;
  first_line: number;
  lines: string[];
}

/** The code at a place that the trace names. */
export function SourceCode({ location }: { location: string }) {
  const { answer, error } = useAnswer<Source>(`source?location=${encodeURIComponent(location)}`);
  if (error !== "") return <p class="card error">{error}</p>;
  if (answer === null) return null;
  return (
    <section class="card" aria-labelledby="code">
      <h2 id="code">{location}</h2>
      <p class="dim">{answer.path}</p>
      <pre class="source-code" tabIndex={0}>
        {answer.lines.map((text, index) => {
          const number = answer.first_line + index;
          return (
            <div key={number} class={number === answer.line ? "marked" : ""}>
              <span class="dim">{number}</span> {text}
            </div>
          );
        })}
      </pre>
    </section>
  );
}
