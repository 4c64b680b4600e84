import type { QRCode } from "qrcode";
import { encodePng } from "./png.ts";

/** QR pictures of addresses, black on white, with the quiet border that readers need. */

const border = 4;
/** Pixels of a PNG for each module of the code. */
const scale = 10;

/** What the largest code holds at each level of error correction, in bytes. */
const capacities = [
  { level: "M", bytes: 2331 },
  { level: "L", bytes: 2953 },
] as const;

/** Undefined where the address is longer than the largest code. */
export async function drawSvg(address: string): Promise<string | undefined> {
  const modules = await encode(address);
  if (modules === undefined) return undefined;
  const side = modules.size + 2 * border;
  const rows = Array.from({ length: modules.size }, (_, row) => drawRow(modules, row));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}"`,
    ` shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${side}v${side}H0z"/>`,
    `<path stroke="#000" d="${rows.join("")}"/></svg>`,
  ].join("");
}

export async function drawPng(address: string): Promise<Uint8Array | undefined> {
  const modules = await encode(address);
  if (modules === undefined) return undefined;
  const rows = Array.from({ length: modules.size + 2 * border }, (_, row) => {
    return packRow(modules, row - border);
  });
  const width = rows.length * scale;
  return encodePng(
    width,
    rows.flatMap((row) => Array.from({ length: scale }, () => row)),
  );
}

type Modules = QRCode["modules"];

async function encode(address: string): Promise<Modules | undefined> {
  const length = Buffer.byteLength(address);
  const level = capacities.find(({ bytes }) => length <= bytes)?.level;
  if (level === undefined) return undefined;
  // Loaded when a picture is asked for, which most processes never are.
  const { create } = (await import("qrcode")).default;
  return create(address, { errorCorrectionLevel: level }).modules;
}

/** The dark runs of a row, each as one stroke. */
function drawRow(modules: Modules, row: number): string {
  let strokes = "";
  for (let start = 0; start < modules.size; start += 1) {
    let end = start;
    while (end < modules.size && readModule(modules, row, end)) end += 1;
    if (end > start) strokes += `M${start + border} ${row + border}.5h${end - start}`;
    start = end;
  }
  return strokes;
}

/** A row of pixels, eight to a byte. */
function packRow(modules: Modules, row: number): Uint8Array {
  const width = (modules.size + 2 * border) * scale;
  const packed = new Uint8Array(Math.ceil(width / 8));
  for (let column = 0; column < width; column += 1) {
    if (readModule(modules, row, Math.floor(column / scale) - border)) continue;
    const index = column >> 3;
    packed[index] = (packed[index] ?? 0) | (0x80 >> (column & 7));
  }
  return packed;
}

function readModule(modules: Modules, row: number, column: number): boolean {
  const isInside = Math.min(row, column) >= 0 && Math.max(row, column) < modules.size;
  return isInside && modules.get(row, column) === 1;
}
