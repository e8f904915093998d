// What is shown as a command is to be pasted into a shell: words of it come from addresses and traces.

/** A word as a shell reads it back. */
export const quoted = (word: string): string =>
  /^[\w./:=,%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Where an answer advises a flag ("... with --from NAME"), which a page cannot take: the command that takes it; null:
 * it advises none.
 *
 * @param command  as "headroom predict" */
export function commandAdvised(command: string, trace: string, advice: string): string | null {
  const flag = /(?:^|\s)(--[a-z][a-z-]*(?: [A-Z]+)?)/.exec(advice)?.[1];
  return flag === undefined ? null : `${command} ${quoted(trace)} ${flag}`;
}
