import { createReadStream, createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { CopyFault } from "./copy-fault.ts";
import { blockBytes, countPadding, readHeader, writeHeader, type EntryHeader } from "./ustar.ts";

/**
 * Writes and reads backups: tar files that are compressed with gzip. A checksum at their end
 * reveals damage.
 */

export type ArchivedFile = { readonly name: string; readonly path: string };

type ArchiveOptions = { readonly made_at: number; readonly signal: AbortSignal };

export async function writeArchive(
  files: readonly ArchivedFile[],
  output: Writable,
  { made_at, signal }: ArchiveOptions,
): Promise<void> {
  async function* write() {
    for (const { name, path } of files) {
      const { size } = await stat(path);
      yield writeHeader({ name, size, mtime_s: Math.floor(made_at / 1000) });
      yield* createReadStream(path);
      yield Buffer.alloc(countPadding(size));
    }
    // A tar file ends with two blocks of zeros.
    yield Buffer.alloc(2 * blockBytes);
  }
  await pipeline(Readable.from(write()), createGzip(), output, { signal });
}

type ExtractOptions = {
  /** The names of the files that a backup may contain, with their maximum sizes. */
  readonly largest: ReadonlyMap<string, number>;
  readonly signal: AbortSignal;
};

/**
 * Extracts an archive to a folder, and returns the headers of its files. Throws a CopyFault if the
 * archive is damaged or contains an unknown file, because archives are not trusted.
 */
export async function extractArchive(
  packed: Readable,
  folder: string,
  { largest, signal }: ExtractOptions,
): Promise<readonly EntryHeader[]> {
  const unpacked = createGunzip();
  // Ignored here, because the loop below gets the same errors.
  const unpacking = pipeline(packed, unpacked, { signal }).catch(() => undefined);
  const chunks: AsyncIterator<Buffer> = unpacked[Symbol.asyncIterator]();
  const take = createByteReader(chunks);
  const headers: EntryHeader[] = [];
  const requireKnown = (header: EntryHeader | undefined) => {
    const most = largest.get(header?.name ?? "") ?? 0;
    const isKnown = header !== undefined && header.size > 0 && header.size <= most;
    if (isKnown && headers.every(({ name }) => name !== header.name)) return header;
    throw new CopyFault(foreign);
  };
  try {
    for (;;) {
      const block = await joinBytes(take(blockBytes));
      if (block.every((byte) => byte === 0)) break;
      const header = requireKnown(readHeader(block));
      headers.push(header);
      const path = join(folder, header.name);
      const file = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true });
      await pipeline(Readable.from(take(header.size)), file, { signal });
      await joinBytes(take(countPadding(header.size)));
    }
    // Read to the end, because gzip checks the checksum there.
    for (let isEnd = false; !isEnd;) isEnd = (await chunks.next()).done === true;
  } catch (error) {
    throw explainUnread(error);
  } finally {
    unpacked.destroy();
    await unpacking;
  }
  return headers;
}

/** Returns a function that reads a given number of bytes. Chunks may have any size. */
function createByteReader(chunks: AsyncIterator<Buffer>) {
  let rest: Buffer = Buffer.alloc(0);
  return async function* take(size: number): AsyncGenerator<Buffer> {
    for (let missing = size; missing > 0;) {
      if (rest.length === 0) {
        const next = await chunks.next();
        if (next.done === true) throw new CopyFault(cutOff);
        rest = next.value;
      }
      const piece = rest.subarray(0, missing);
      rest = rest.subarray(piece.length);
      missing -= piece.length;
      yield piece;
    }
  };
}

async function joinBytes(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

export const foreign = "it is damaged, or not a Waypost backup";
const cutOff = "the file is cut off";

function explainUnread(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "Z_BUF_ERROR") return new CopyFault(cutOff, { cause: error });
  return code === "Z_DATA_ERROR" ? new CopyFault(foreign, { cause: error }) : error;
}
