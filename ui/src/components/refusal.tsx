import { formatSentence } from "../format";
import { commandAdvised } from "../model/command";

/** Shows the reason for a missing answer. If the reason advises a flag, shows the command that takes it. */
export function Refusal({
  why,
  command,
  trace,
  isError = true,
}: {
  why: string;
  command: string;
  trace: string;
  isError?: boolean;
}) {
  const advised = commandAdvised(command, trace, why);
  return (
    <>
      <p class={isError ? "error" : ""}>{formatSentence(why)}</p>
      {advised !== null && (
        <p>
          The page has no flags; run the command instead: <code>{advised}</code>
        </p>
      )}
    </>
  );
}
