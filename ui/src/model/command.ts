// Quotes words for commands that users paste into a shell: words come from addresses and traces, which are untrusted.

/** Returns a word quoted for the shell. */
export const quoted = (word: string): string =>
  /^[\w./:=,%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/**
 * Returns the command with the flag that an answer advises ("... with --from NAME"), because the page has no flags;
 * null: it advises none.
 *
 * @param command  such as "headroom predict"
 */
export function commandAdvised(command: string, trace: string, advice: string): string | null {
  const flag = /(?:^|\s)(--[a-z][a-z-]*(?: [A-Z]+)?)/.exec(advice)?.[1];
  return flag === undefined ? null : `${command} ${quoted(trace)} ${flag}`;
}
