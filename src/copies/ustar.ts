/** Writes and reads tar headers in the ustar format, for plain files with short names. */

export const blockBytes = 512;

export type EntryHeader = {
  readonly name: string;
  readonly size: number;
  readonly mtime_s: number;
};

const fields = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const;

type HeaderField = keyof typeof fields;

const plainFile = "0";
/**
 * The largest size that fits in the octal digits of a header. Larger sizes are written in binary.
 */
const mostOctal = 8 ** 11 - 1;

export function writeHeader({ name, size, mtime_s }: EntryHeader): Buffer {
  const header = Buffer.alloc(blockBytes);
  const put = (field: HeaderField, text: string) => header.write(text, fields[field][0], "latin1");
  put("name", name);
  put("mode", "0000600\0");
  put("uid", "0000000\0");
  put("gid", "0000000\0");
  if (size <= mostOctal) put("size", writeOctal(size, 11));
  else header.writeBigUInt64BE(BigInt(size), fields.size[0] + 4);
  if (size > mostOctal) header[fields.size[0]] = 0x80;
  put("mtime", writeOctal(mtime_s, 11));
  put("type", plainFile);
  put("magic", "ustar\u000000");
  put("checksum", `${writeOctal(addBytes(header), 6)} `);
  return header;
}

/** Parses a header. Returns undefined if the block is not a valid header of a plain file. */
export function readHeader(header: Buffer): EntryHeader | undefined {
  const get = (field: HeaderField) => {
    const [start, length] = fields[field];
    return header.toString("latin1", start, start + length).split("\0", 1)[0] ?? "";
  };
  const isFile = get("magic").startsWith("ustar") && get("type") === plainFile;
  if (!isFile || Number.parseInt(get("checksum"), 8) !== addBytes(header)) return undefined;
  const isLarge = header[fields.size[0]] === 0x80;
  const size = isLarge
    ? Number(header.readBigUInt64BE(fields.size[0] + 4))
    : Number.parseInt(get("size"), 8);
  const mtime_s = Number.parseInt(get("mtime"), 8);
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(mtime_s)) return undefined;
  // Programs that pack a whole folder write `./` before each name.
  return { name: get("name").replace(/^\.\//, ""), size, mtime_s };
}

/** Returns the number of zero bytes that follow an entry. Entries fill whole blocks. */
export function countPadding(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

function writeOctal(number: number, digits: number): string {
  return `${number.toString(8).padStart(digits, "0")}\0`;
}

/**
 * Returns a header's checksum: the sum of all bytes, with spaces in place of the checksum field.
 */
function addBytes(header: Buffer): number {
  const [start, length] = fields.checksum;
  return header.reduce(
    (sum, byte, at) => sum + (at >= start && at < start + length ? 0x20 : byte),
    0,
  );
}
