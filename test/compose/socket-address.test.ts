import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { useAddress } from "../../src/compose/socket-address.ts";

/** The whole address of a socket in a folder whose path makes it this long. */
function fill(outer: string, bytes: number): string {
  const name = "/session-0123456789abcdef.sock";
  const missing = bytes - Buffer.byteLength(outer + name) - 1;
  return join(outer, "é".repeat(missing % 2) + "x".repeat(missing - 2 * (missing % 2)), name);
}

describe("the address of a socket", () => {
  test("that is too long to be named is refused with what to do", () => {
    vi.stubEnv("TMPDIR", "/nonexistent");
    try {
      const use = vi.fn();
      expect(() => useAddress(fill("/tmp", 101), use)).toThrow("choose a shorter --data");
      expect(use).not.toHaveBeenCalled();
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("leads into its folder however long its path is, and leaves nothing else", async () => {
    const outer = await mkdtemp(join(tmpdir(), "waypost-address-"));
    const temporary = join(outer, "t");
    await mkdir(temporary);
    vi.stubEnv("TMPDIR", temporary);
    try {
      // Node cuts at 107 bytes, on macOS at 103.
      for (const bytes of [99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 125, 200, 290]) {
        const path = fill(outer, bytes);
        expect(Buffer.byteLength(path)).toBe(bytes);
        await mkdir(dirname(path), { recursive: true });
        const server = createServer((socket) => socket.end("here"));
        useAddress(path, (address) => server.listen(address));
        expect(await readdir(dirname(path))).toEqual(["session-0123456789abcdef.sock"]);
        expect(await readdir(temporary)).toEqual([]);
        const socket = useAddress(path, (address) => connect(address));
        expect(String(...(await once(socket, "data")))).toBe("here");
        expect(await readdir(temporary)).toEqual([]);
        server.close();
        await once(server, "close");
        await rm(dirname(path), { recursive: true });
      }
      expect(await readdir(outer)).toEqual(["t"]);
    } finally {
      vi.unstubAllEnvs();
      await rm(outer, { recursive: true });
    }
  });
});
