/**
 * The environment of a command whose clock goes ahead of the machine's: for it the lease of a
 * process that was killed is over already, and need not be waited for.
 */
export function setClockAhead(milliseconds: number): { readonly NODE_OPTIONS: string } {
  const program = `const { now } = Date; Date.now = () => now() + ${milliseconds};`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` };
}
