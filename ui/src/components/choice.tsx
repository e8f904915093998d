import "./choice.css";

/** A choice between a few values. */
export function Choice<Id extends string>({
  label,
  options,
  value,
  onValue,
}: {
  label: string;
  options: { id: Id; title: string }[];
  value: Id;
  onValue: (id: Id) => void;
}) {
  return (
    <span class="choice" role="group" aria-label={label}>
      {options.map(({ id, title }) => (
        <button key={id} type="button" aria-pressed={id === value} onClick={() => onValue(id)}>
          {title}
        </button>
      ))}
    </span>
  );
}
