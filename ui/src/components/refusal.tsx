import { formatSentence } from "../format";
import { commandAdvised } from "../model/command";

/** Why there is no answer, and where it advises a flag, the command that takes it. */
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
          The page takes no flags; the command does: <code>{advised}</code>
        </p>
      )}
    </>
  );
}
