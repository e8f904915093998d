// What is shown as a command is to be pasted into a shell: words of it come from addresses and traces.

/** A word as a shell reads it back. */
export const quoted = (word: string): string => (/^[\w./:=,%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
