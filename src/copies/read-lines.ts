import { CopyFault } from "./copied-database.ts";

/** The lines of a file as bytes, without their ends. No more than one line is held at once. */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  mostBytes: number,
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      [parts, size, start] = [[], 0, end + 1];
    }
    parts.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > mostBytes) throw new CopyFault("it has a line that is too long");
  }
  if (size > 0) yield Buffer.concat(parts);
}

const lineEnd = 0x0a;
