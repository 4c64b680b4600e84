/**
 * The mark of a database that a copy is being put into. It is in the table of migrations, which
 * every start reads first.
 */

const prefix = "copying";

/** Who copies, and until when nobody else may take its place. */
export type CopyMark = { readonly id: string; readonly until: number };

export const copyUnderWay =
  "The database is incomplete: a restore or migration into it is still running, or was " +
  "interrupted. Run the same command again, or remove the files or tables it created.";

export function isCopyMark(name: string): boolean {
  return readCopyMark(name) !== undefined;
}

export function readCopyMark(name: string): CopyMark | undefined {
  const [kind, id = "", until] = name.split(" ");
  return kind === prefix ? { id, until: Number(until) } : undefined;
}

export function writeCopyMark({ id, until }: CopyMark): string {
  return `${prefix} ${id} ${until}`;
}
