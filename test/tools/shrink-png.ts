import { crc32, deflateSync, inflateSync } from "node:zlib";

/** Rewrites a screenshot with at most 256 colours, which needs a third of the bytes. */
export function shrinkPng(png: Buffer): Buffer {
  const { width, height, pixels } = readPixels(png);
  const { palette, indexes } = choosePalette(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    rows.set(indexes.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits for each index into the palette.
  header.set([8, 3], 8);
  return Buffer.concat([
    png.subarray(0, 8),
    writeChunk("IHDR", header),
    writeChunk("PLTE", Buffer.from(palette.flatMap((colour) => splitColour(colour)))),
    writeChunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    writeChunk("IEND", Buffer.alloc(0)),
  ]);
}

type Pixels = { readonly width: number; readonly height: number; readonly pixels: Uint32Array };

const bytesPerPixel = 3;

/** Reads three bytes for each pixel, as screenshots without transparency have them. */
function readPixels(png: Buffer): Pixels {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  if (png[24] !== 8 || png[25] !== 2) throw new Error("The PNG is not in 24-bit colour.");
  const length = width * bytesPerPixel;
  const data = inflateSync(readData(png));
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(length);
  for (let y = 0; y < height; y += 1) {
    const start = y * (length + 1);
    const row = data.subarray(start + 1, start + 1 + length);
    undoFilter(data[start] ?? 0, row, above);
    for (let x = 0; x < width; x += 1) pixels[y * width + x] = row.readUIntBE(x * 3, 3);
    above = row;
  }
  return { width, height, pixels };
}

function readData(png: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    const length = png.readUInt32BE(at);
    const isData = png.toString("latin1", at + 4, at + 8) === "IDAT";
    if (isData) parts.push(png.subarray(at + 8, at + 8 + length));
  }
  return Buffer.concat(parts);
}

/** PNG writes each byte as its difference from its neighbours. */
function undoFilter(filter: number, row: Buffer, above: Buffer): void {
  for (let at = 0; at < row.length; at += 1) {
    const left = row[at - bytesPerPixel] ?? 0;
    const up = above[at] ?? 0;
    const corner = above[at - bytesPerPixel] ?? 0;
    const guesses = [0, left, up, (left + up) >> 1, predict(left, up, corner)];
    row[at] = (row[at] ?? 0) + (guesses[filter] ?? 0);
  }
}

/** The neighbour closest to left + up - corner. */
function predict(left: number, up: number, corner: number): number {
  const [toLeft, toUp] = [Math.abs(up - corner), Math.abs(left - corner)];
  const toCorner = Math.abs(left + up - 2 * corner);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

const mostColours = 256;

/** Similar colours become the most frequent of them, so that plain areas keep theirs. */
function choosePalette(pixels: Uint32Array) {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const byUse = [...counts.keys()].toSorted((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  for (let step = 1; ; step += 1) {
    const places = new Map<string, number>();
    const palette: number[] = [];
    const indexOf = new Map<number, number>();
    for (const colour of byUse) {
      const group = splitColour(colour)
        .map((part) => Math.floor(part / step))
        .join();
      const place = places.get(group) ?? palette.push(colour) - 1;
      places.set(group, place);
      indexOf.set(colour, place);
    }
    if (palette.length <= mostColours) {
      return { palette, indexes: Uint8Array.from(pixels, (colour) => indexOf.get(colour) ?? 0) };
    }
  }
}

function splitColour(colour: number): number[] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

function writeChunk(name: string, content: Buffer): Buffer {
  const chunk = Buffer.alloc(content.length + 12);
  chunk.writeUInt32BE(content.length, 0);
  chunk.write(name, 4, "latin1");
  chunk.set(content, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), content.length + 8);
  return chunk;
}
