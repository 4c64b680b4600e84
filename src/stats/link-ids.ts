/** The ids of many links, and their counts, in as few bytes as can be read at once. */

const idBytes = 16;
/** An id is so many numbers of 32 bits. */
export const idWords = 4;
const pattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/** Every link that we make has such an id; whatever else there is cannot be packed. */
export function isPackedId(id: string): boolean {
  return pattern.test(id);
}

export function packIds(ids: readonly string[]): string {
  return packId(ids.join("")).toString("base64");
}

export function packId(id: string): Buffer {
  return Buffer.from(id.replaceAll("-", ""), "hex");
}

/** Sixteen bytes for each. */
export function unpackIds(text: string): Buffer {
  return Buffer.from(text, "base64");
}

export function readId(ids: Buffer, place: number): string {
  const hex = ids.toString("hex", place * idBytes, (place + 1) * idBytes);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** As numbers, of which the first that differ tell the order of two ids; the bytes are used up. */
export function readIdWords(ids: Buffer): Uint32Array {
  const isAligned = ids.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset, byteLength } = (isAligned ? ids : Buffer.from(ids)).swap32();
  return new Uint32Array(buffer, byteOffset, byteLength / Uint32Array.BYTES_PER_ELEMENT);
}

/** Whole numbers, seven bits to a byte: most of them take one. */
export function packNumbers(numbers: readonly number[]): string {
  const bytes: number[] = [];
  for (let left of numbers) {
    while (left >= 0x80) {
      bytes.push((left % 0x80) | 0x80);
      left = Math.floor(left / 0x80);
    }
    bytes.push(left);
  }
  return Buffer.from(bytes).toString("base64");
}

/**
 * Ids and numbers of several rows, in one piece of memory: to make and to clear away one for each
 * would cost half as much as adding them up.
 */
export function unpackRows(rows: readonly { readonly ids: string; readonly sums: string }[]) {
  const texts = [...rows.map(({ ids }) => ids), ...rows.map(({ sums }) => sums)];
  const size = texts.reduce((sum, text) => sum + Buffer.byteLength(text, "base64"), 0);
  const bytes = Buffer.allocUnsafeSlow(size);
  let end = 0;
  const parts = texts.map((text) => {
    const start = end;
    end += bytes.write(text, start, "base64");
    return bytes.subarray(start, end);
  });
  return rows.map((_, place) => ({
    ids: readIdWords(parts[place] ?? bytes),
    numbers: parts[rows.length + place] ?? bytes,
  }));
}

/** Packed numbers, of which those before `at` were read. */
export type NumbersReader = { readonly numbers: Buffer; at: number };

export function readNumber(reader: NumbersReader): number {
  const { numbers } = reader;
  let byte = numbers[reader.at++] ?? 0;
  let number = byte & 0x7f;
  for (let unit = 0x80; byte >= 0x80; unit *= 0x80) {
    byte = numbers[reader.at++] ?? 0;
    number += (byte & 0x7f) * unit;
  }
  return number;
}
