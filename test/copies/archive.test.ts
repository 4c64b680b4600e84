import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { extractArchive, writeArchive } from "../../src/copies/archive.ts";
import { CopyFault } from "../../src/copies/copy-fault.ts";
import { readHeader, writeHeader } from "../../src/copies/ustar.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { openForEach } from "../support/open-for.ts";

/** Packing files into an archive and unpacking them, including damaged archives. */

let folder: string;
openForEach(createEmptyFolder, ({ path }) => (folder = path));

const { signal } = new AbortController();
const largest = new Map([
  ["data", Infinity],
  ["key", 10],
]);

async function pack(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const from = await mkdtemp(join(folder, "from-"));
  const written = Object.entries(files).map(async ([name, text]) => {
    await writeFile(join(from, name), text);
    return { name, path: join(from, name) };
  });
  const output = new PassThrough();
  const [bytes] = await Promise.all([
    output.toArray(),
    writeArchive(await Promise.all(written), output, { made_at: 1_700_000_000_999, signal }),
  ]);
  return Buffer.concat(bytes);
}

async function unpack(bytes: Buffer, chunkBytes = bytes.length) {
  const to = join(folder, "to");
  await rm(to, { recursive: true, force: true });
  await mkdir(to);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    chunks.push(bytes.subarray(at, at + chunkBytes));
  }
  const headers = await extractArchive(Readable.from(chunks), to, { largest, signal });
  const names = await readdir(to);
  const texts = names.map(async (name) => [name, await readFile(join(to, name), "utf8")]);
  return { headers, files: Object.fromEntries(await Promise.all(texts)) };
}

test.each([0, 1, 511, 512, 513, 100_000])(
  "a file of %i + 1 bytes is unchanged after packing and unpacking",
  async (n) => {
    const files = { data: "x".repeat(n + 1), key: "secret" };
    const bytes = await pack(files);
    for (const chunkBytes of [bytes.length, 7]) {
      const unpacked = await unpack(bytes, chunkBytes);
      expect(unpacked.files).toEqual(files);
      expect(unpacked.headers[0]).toEqual({ name: "data", size: n + 1, mtime_s: 1_700_000_000 });
    }
  },
);

test.each([0, 8 ** 11 - 1, 8 ** 11, 2 ** 45])(
  "an archive header can describe a file of %i bytes",
  (size) => {
    const header = { name: "data", size, mtime_s: 1 };
    expect(readHeader(writeHeader(header))).toEqual(header);
  },
);

const entry = (name: string, text: string, type = "0") => {
  const header = writeHeader({ name, size: text.length, mtime_s: 0 });
  header.write(type, 156);
  // The checksum of the header, with the new type.
  const sum = [...header.subarray(0, 148), ...header.subarray(156)].reduce((a, b) => a + b, 256);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([
    header,
    Buffer.from(text),
    Buffer.alloc((512 - (text.length % 512)) % 512),
  ]);
};
const end = Buffer.alloc(1024);
const foreign = "it is damaged, or not a Waypost backup";

describe("an archive from another program", () => {
  test.each([
    ["a file with an unknown name", [entry("notes", "x")]],
    ["a path to a parent folder", [entry("../key", "x")]],
    ["an absolute path", [entry("/etc/key", "x")]],
    ["a path with two dot segments", [entry("././key", "x")]],
    ["a symbolic link", [entry("key", "x", "2")]],
    ["a hard link", [entry("key", "x", "1")]],
    ["a folder", [entry("data", "x", "5")]],
    ["a key file that is too large", [entry("key", "x".repeat(11))]],
    ["an empty file", [entry("data", "")]],
    ["the same file twice", [entry("key", "x"), entry("key", "x")]],
    ["a header with a wrong checksum", [Buffer.from(entry("key", "x")).fill("y", 0, 1)]],
    ["data that is not a tar file", [Buffer.alloc(512, "a")]],
  ])("is rejected if it contains %s", async (_, entries) => {
    const bytes = gzipSync(Buffer.concat([...entries, end]));
    await expect(unpack(bytes)).rejects.toThrow(new CopyFault(foreign));
    expect(await readdir(folder)).not.toContain("key");
  });
});

test("an archive that tar created from a folder is accepted", async () => {
  const bytes = gzipSync(Buffer.concat([entry("./key", "secret"), entry("./data", "x"), end]));
  expect((await unpack(bytes)).files).toEqual({ key: "secret", data: "x" });
});

test("an archive that is truncated at any byte is rejected", async () => {
  const bytes = await pack({ data: "word ".repeat(1000), key: "secret" });
  for (let length = 0; length < bytes.length; length += 1) {
    await expect(unpack(bytes.subarray(0, length))).rejects.toThrow(CopyFault);
  }
  const whole = gunzipSync(bytes);
  for (const length of [100, 512, 3000, whole.length - 1025]) {
    const cut = gzipSync(whole.subarray(0, length));
    await expect(unpack(cut)).rejects.toThrow(new CopyFault("the file is cut off"));
  }
});

test("an archive with one changed byte is rejected unless the change affects no file", async () => {
  const files = { data: randomBytes(500).toString("base64"), key: "secret" };
  const bytes = await pack(files);
  let refused = 0;
  for (let at = 10; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 0x10;
    const unpacked = await unpack(changed).catch((error: unknown) => error);
    if (unpacked instanceof CopyFault) refused += 1;
    else expect(unpacked).toMatchObject({ files });
  }
  expect(refused).toBeGreaterThan(bytes.length - 20);
});
