import { TextDecoder } from "node:util";

/** Text from wherever it comes, piece by piece. */

export type TextSource = string | AsyncIterable<string | Uint8Array>;

type TextPiece = {
  readonly text: string;
  /** Why nothing follows, where the source could not be read as text. */
  readonly fault?: string;
};

const notUtf8 = "From here on, the text is not UTF-8; save the file as UTF-8 and try again";

/** Some spreadsheets write UTF-16, and a mark of the byte order that tells so. */
export function findEncoding(bytes: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** A mark of the byte order at the beginning is left out. */
export async function* readText(source: TextSource): AsyncGenerator<TextPiece> {
  let decoder: TextDecoder | undefined;
  let isFirst = true;
  for await (const chunk of typeof source === "string" ? [source] : joinFirst(source)) {
    if (typeof chunk !== "string") {
      decoder ??= new TextDecoder(findEncoding(chunk), { fatal: true });
    }
    const piece = typeof chunk === "string" ? { text: chunk } : decode(decoder, chunk);
    yield isFirst ? { ...piece, text: piece.text.replace(/^\ufeff/, "") } : piece;
    if (piece.fault !== undefined) return;
    isFirst &&= piece.text === "";
  }
  const end = decode(decoder);
  if (end.fault !== undefined) yield end;
}

/** The first bytes tell the encoding; a source may bring them one by one. */
async function* joinFirst(
  source: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  let first: Uint8Array | undefined;
  let isOver = false;
  for await (const chunk of source) {
    if (isOver || typeof chunk === "string") {
      yield chunk;
      continue;
    }
    first = first === undefined ? chunk : Buffer.concat([first, chunk]);
    isOver = first.length > 1;
    if (isOver) yield first;
  }
  if (!isOver && first !== undefined) yield first;
}

/** Without a chunk, decodes the bytes that are left over from the last one. */
function decode(decoder: TextDecoder | undefined, chunk?: Uint8Array): TextPiece {
  if (decoder === undefined) return { text: "" };
  try {
    return { text: chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode() };
  } catch {
    const readable = new TextDecoder(decoder.encoding).decode(chunk);
    return { text: readable.slice(0, Math.max(0, readable.indexOf("\ufffd"))), fault: notUtf8 };
  }
}
