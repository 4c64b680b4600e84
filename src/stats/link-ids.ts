/** The ids of many links, and their counts, in as few bytes as can be read at once. */

const idBytes = 16;
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

export function unpackNumbers(text: string): readonly number[] {
  const bytes = Buffer.from(text, "base64");
  const numbers: number[] = [];
  let number = 0;
  let unit = 1;
  for (const byte of bytes) {
    number += (byte & 0x7f) * unit;
    unit *= 0x80;
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0;
    unit = 1;
  }
  return numbers;
}
