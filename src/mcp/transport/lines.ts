import type { Readable } from "node:stream";

export type LineReading = {
  readonly onLine: (line: string) => void;
  /** Called at the line's end, with its first and its last bytes. */
  readonly onTooLong: (ends: LineEnds) => void;
  readonly onEnd: () => void;
};

export type LineEnds = { readonly head: string; readonly tail: string };

const newline = 10;
/** So much of each end of a line that is too long: enough for an id. */
const keptBytes = 512;

/**
 * Cuts a stream into lines of at most so many bytes. A line that is longer is reported once, and
 * skipped to its end; what stands after the last newline is a line as well.
 */
export function readLines(
  input: Readable,
  mostBytes: number,
  { onLine, onTooLong, onEnd }: LineReading,
): void {
  let parts: Buffer[] = [];
  let size = 0;
  let [head, tail] = [Buffer.alloc(0), Buffer.alloc(0)];

  function add(part: Buffer): void {
    const before = size;
    size += part.length;
    parts.push(part);
    if (size <= mostBytes) return;
    const known = before <= mostBytes ? Buffer.concat(parts) : Buffer.concat([tail, part]);
    // Copies, because a part of a buffer keeps the whole of it.
    if (before <= mostBytes) head = Buffer.from(known.subarray(0, keptBytes));
    tail = Buffer.from(known.subarray(-keptBytes));
    parts = [];
  }

  function finishLine(): void {
    const isTooLong = size > mostBytes;
    const line = Buffer.concat(parts).toString("utf8");
    parts = [];
    size = 0;
    if (isTooLong) onTooLong({ head: head.toString("utf8"), tail: tail.toString("utf8") });
    else if (line.trim() !== "") onLine(line);
  }

  function take(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      finishLine();
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }

  input.on("data", take).once("end", finishLine).once("end", onEnd).once("close", onEnd);
  // A terminal that hangs up is an error on its stream, and the end of it all the same.
  input.on("error", onEnd);
}
