import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder } from "../support/command.ts";
import { startRaw, type RawSession } from "../support/mcp-http.ts";

/** The compiled code that a session saves so that later sessions start faster. */

describe.concurrent("the cache of compiled code", () => {
  test("is reused by the next session and not rewritten", async () => {
    await using folder = await createFolder();
    await listTools(folder.path);
    const [first] = describeKept(folder.path);
    expect(first?.mode).toBe(0o600);
    expect(await listTools(folder.path)).toBeGreaterThan(30);
    expect(describeKept(folder.path)).toEqual([first]);
  });

  test.each<[string, (path: string) => void]>([
    ["is damaged", (path) => writeFileSync(path, spoil(readFileSync(path)))],
    ["is writable by others", (path) => chmodSync(path, 0o620)],
    ["is in a folder writable by others", (path) => chmodSync(join(path, ".."), 0o777)],
    ["is a symbolic link", (path) => symlinkSync(putAside(path).aside, path)],
  ])("is rewritten if it %s", async (_, change) => {
    await using folder = await createFolder();
    await listTools(folder.path);
    const [{ path, inode, bytes } = { path: "", inode: 0, bytes: 0 }] = describeKept(folder.path);
    change(path);
    expect(await listTools(folder.path)).toBeGreaterThan(30);
    const [anew, ...others] = describeKept(folder.path);
    expect(others).toEqual([]);
    expect(anew?.inode).not.toBe(inode);
    expect(anew?.bytes).toBeGreaterThan(bytes * 0.9);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("is never written through a symbolic link", async () => {
    await using folder = await createFolder();
    await listTools(folder.path);
    const [{ path } = { path: "" }] = describeKept(folder.path);
    const { aside } = putAside(path);
    const bytes = readFileSync(aside);
    const tools = await listTools(folder.path, ({ child }) =>
      symlinkSync(aside, `${path}.${child.pid}`),
    );
    expect(tools).toBeGreaterThan(30);
    expect(readFileSync(aside).equals(bytes)).toBe(true);
  });

  test("is not written to a folder that other users can write to", async () => {
    await using folder = await createFolder();
    await listTools(folder.path, () => chmodSync(folder.path, 0o777));
    expect(findKept(folder.path)).toEqual([]);
  });

  test("of an old build or Node version is deleted, but other files are kept", async () => {
    await using folder = await createFolder();
    mkdirSync(folder.path, { mode: 0o700 });
    const names = Array.from({ length: 8 }, (_, index) => `compiled-${index}`);
    symlinkSync("nowhere", join(folder.path, "compiled-link"));
    for (const name of names) writeFileSync(join(folder.path, name), name);
    writeFileSync(join(folder.path, "notes"), "mine");
    // A folder with files that others can open would be refused.
    await listTools(folder.path);
    const kept = findKept(folder.path);
    expect(kept).toHaveLength(6);
    expect(kept.filter((name) => !names.includes(name))).toHaveLength(1);
    expect(readFileSync(join(folder.path, "notes"), "utf8")).toBe("mine");
  });

  test("is skipped if it cannot be written, and the session still works", async () => {
    await using folder = await createFolder();
    await listTools(folder.path);
    const [{ path } = { path: "" }] = describeKept(folder.path);
    await using other = await createFolder();
    mkdirSync(other.path, { mode: 0o700 });
    mkdirSync(join(other.path, path.slice(folder.path.length)));
    for (const _ of [1, 2]) expect(await listTools(other.path)).toBeGreaterThan(30);
    expect(findKept(other.path)).toHaveLength(1);
  });
});

async function listTools(
  data: string,
  beforeEnd: (session: RawSession) => void = () => {},
): Promise<number> {
  await using session = startRaw({ data, env: { WAYPOST_PORT: "0" } });
  await session.handshake();
  session.send({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const { result } = await session.answer(1);
  beforeEnd(session);
  session.child.stdin?.end();
  expect(await session.ended).toBe(0);
  expect(session.stderr()).toBe("");
  return result.tools.length;
}

/** Moves the file aside. It keeps its inode, so no new file can have the same one. */
function putAside(path: string): { readonly path: string; readonly aside: string } {
  const aside = join(path, "../aside");
  renameSync(path, aside);
  return { path, aside };
}

function findKept(data: string): readonly string[] {
  return readdirSync(data).filter((name) => name.startsWith("compiled-"));
}

function describeKept(data: string) {
  return findKept(data).map((name) => {
    const path = join(data, name);
    const { ino, size, mtimeMs, mode } = statSync(path);
    return { path, inode: ino, bytes: size, written_ms: mtimeMs, mode: mode & 0o777 };
  });
}

/** Flips one bit in the middle, which V8 would not detect. */
function spoil(bytes: Buffer): Buffer {
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  return bytes;
}
