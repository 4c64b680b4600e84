import { crc32, deflateSync } from "node:zlib";

/** Draws QR codes of URLs, in black and white with the quiet zone that scanners need. */

const border = 4;
/** Pixels per module in a PNG. */
const scale = 10;

/** The capacity of the largest code for each error correction level, in bytes. */
const capacities = [
  { level: "M", bytes: 2331 },
  { level: "L", bytes: 2953 },
] as const;

/** Returns undefined if the URL is too long for a QR code. */
export async function drawSvg(address: string): Promise<string | undefined> {
  const modules = await encode(address);
  if (modules === undefined) return undefined;
  const side = modules.length + 2 * border;
  const rows = modules.map(drawRow);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}"`,
    ` shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${side}v${side}H0z"/>`,
    `<path stroke="#000" d="${rows.join("")}"/></svg>`,
  ].join("");
}

export async function drawPng(address: string): Promise<Uint8Array | undefined> {
  const modules = await encode(address);
  if (modules === undefined) return undefined;
  const width = (modules.length + 2 * border) * scale;
  const blank = Array.from({ length: border }, () => []);
  const rows = [...blank, ...modules, ...blank].map((row) => packRow(row, width));
  return encodePng(
    width,
    rows.flatMap((row) => Array.from({ length: scale }, () => row)),
  );
}

type ModuleRow = readonly boolean[];

/** Returns the modules of the code, row by row; true is dark. */
async function encode(address: string): Promise<readonly ModuleRow[] | undefined> {
  const length = Buffer.byteLength(address);
  const ecc = capacities.find(({ bytes }) => length <= bytes)?.level;
  if (ecc === undefined) return undefined;
  // Loaded on first use, because most processes never draw a code.
  const uqr = await import("uqr");
  return uqr.encode(address, { ecc, border: 0 }).data;
}

/** Draws each run of dark modules as one stroke. */
function drawRow(row: ModuleRow, y: number): string {
  let strokes = "";
  for (let start = row.indexOf(true); start >= 0;) {
    const light = row.indexOf(false, start);
    const end = light < 0 ? row.length : light;
    strokes += `M${start + border} ${y + border}.5h${end - start}`;
    start = row.indexOf(true, end);
  }
  return strokes;
}

/** Packs a row of pixels into bits; 1 is white. */
function packRow(row: ModuleRow, width: number): Uint8Array {
  const packed = new Uint8Array(Math.ceil(width / 8));
  for (let column = 0; column < width; column += 1) {
    if (row[Math.floor(column / scale) - border] === true) continue;
    const index = column >> 3;
    packed[index] = (packed[index] ?? 0) | (0x80 >> (column & 7));
  }
  return packed;
}

const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** Encodes a PNG with one bit per pixel, leftmost pixel first; 1 is white. */
function encodePng(width: number, rows: readonly Uint8Array[]): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  // The bit depth. The following bytes stay zero: grayscale, deflate, no filter, no interlacing.
  header[8] = 1;
  // Each row starts with a zero byte, the PNG filter type for unfiltered rows.
  const pixels = Buffer.concat(rows.flatMap((row) => [Buffer.alloc(1), row]));
  return Buffer.concat([
    signature,
    frame("IHDR", header),
    frame("IDAT", deflateSync(pixels)),
    frame("IEND", Buffer.alloc(0)),
  ]);
}

function frame(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
