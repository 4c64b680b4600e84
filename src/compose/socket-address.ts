import { mkdtempSync, rmdirSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

/** A system keeps 103 bytes of it, or 107, and what is longer Node cuts off without a word. */
const most_bytes = 100;

/**
 * Calls `use` with an address by which a socket is bound or reached, however long its path is. A
 * long one is named through a link to its folder, which is gone when this returns: the socket lies
 * where its path says, nobody else can put another in its place, and who is killed leaves nothing.
 * So `use` must be done with the address by then, as `listen` and `connect` of Node are.
 */
export function useAddress<T>(socket: string, use: (address: string) => T): T {
  const path = resolve(socket);
  if (fits(path)) return use(path);
  const room = makeRoom(chooseTemporary(path));
  const link = join(room, "d");
  try {
    symlinkSync(dirname(path), link);
    try {
      return use(join(link, basename(path)));
    } finally {
      unlinkSync(link);
    }
  } finally {
    rmdirSync(room);
  }
}

/** Nobody else may write there. */
function makeRoom(temporary: string): string {
  try {
    return mkdtempSync(join(temporary, "waypost-"));
  } catch (cause) {
    const message =
      "the path of the data folder is too long for a socket, and where a shorter name could be " +
      `made nothing can be written (${temporary}): processes cannot hand sessions on to each ` +
      "other; choose a shorter --data, or a TMPDIR";
    throw new Error(message, { cause });
  }
}

/** The temporary folder of a system, or of its settings, may be as long. */
function chooseTemporary(path: string): string {
  const folder = tmpdir();
  return fits(join(folder, "waypost-XXXXXX", "d", basename(path))) ? folder : "/tmp";
}

function fits(address: string): boolean {
  return Buffer.byteLength(address) <= most_bytes;
}
