import "./facts.css";

export interface Fact {
  title: string;
  value: string;
  note?: string;
}

/** A row of the most important figures. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ title, value, note }) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>
            {value}
            {note !== undefined && <span class="note">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
