import { crc32, deflateSync } from "node:zlib";

const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** A picture of black and white: rows of bits, the leftmost pixel first, 1 for white. */
export function encodePng(width: number, rows: readonly Uint8Array[]): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  // One bit of grey; what follows says deflate, no filter, not interlaced, and is all zero.
  header[8] = 1;
  // Each row begins with a zero: it stands as it is, not as a difference to the one above.
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
