import { createServer, type AddressInfo, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { askAddress, type Internet } from "../../src/network/hosts/ask-address.ts";
import { isPublicAddress } from "../../src/network/public-address.ts";

/** Servers that would have us ask where we must not, or read for ever. */

/** The first address counts as public; every other one is judged as it is. */
async function askOf(answer: (socket: Socket) => void) {
  let connections = 0;
  let ended: Promise<unknown> = Promise.resolve();
  const server = createServer((socket) => {
    connections += 1;
    ended = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => undefined);
    socket.on("data", () => answer(socket));
  });
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  let isFirst = true;
  const internet: Internet = {
    resolve: (host) => Promise.resolve([host === "a.example" ? "127.0.0.1" : host]),
    isPublic: (address) => {
      const isAllowed = isFirst || isPublicAddress(address);
      isFirst = false;
      return isAllowed;
    },
    ports: new Set([port, 80, 443]),
  };
  const { signal } = new AbortController();
  const outcome = await askAddress(`http://a.example:${port}/`, internet, signal);
  await ended;
  return { outcome, connections };
}

function redirect(location: string) {
  return (socket: Socket) =>
    socket.end(`HTTP/1.1 302 Found\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`);
}

/** Writes the same until the other end hangs up. */
function writeOn(socket: Socket, text: string): void {
  const write = () => {
    if (socket.destroyed) return;
    socket.write(text, () => setImmediate(write));
  };
  write();
}

describe("no redirect leads", () => {
  test.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0/",
    "//127.0.0.1/",
    String.raw`\\127.0.0.1\a`,
    "http://10.0.0.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "https://192.168.0.1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::7f00:1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://[ff02::1]/",
  ])("to %s", async (location) => {
    const { outcome, connections } = await askOf(redirect(location));
    expect(outcome).toEqual({
      kind: "unreachable",
      reason: "no host of the public internet",
    });
    expect(connections).toBe(1);
  });

  test.each([
    ["http://a.example:22/", "an unusual port"],
    ["http://a.example:6379/", "an unusual port"],
    ["http://me@a.example/", "a user name in the address"],
    ["file:///etc/passwd", "no web address"],
    ["data:text/html,a", "no web address"],
    ["http://[::1", "no answer that could be read"],
  ])("to %s (%s)", async (location, reason) => {
    const { outcome, connections } = await askOf(redirect(location));
    expect(outcome).toEqual({ kind: "unreachable", reason });
    expect(connections).toBe(1);
  });
});

describe("nothing is read for ever", () => {
  const unread = { kind: "unreachable", reason: "no answer that could be read" };

  test("headers without an end", async () => {
    const { outcome } = await askOf((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      writeOn(socket, "x-more: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
    });
    expect(outcome).toEqual(unread);
  });

  test("a line without an end", async () => {
    const { outcome } = await askOf((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-more: ");
      writeOn(socket, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    });
    expect(outcome).toEqual(unread);
  });

  test("a body without an end, packed or not", async () => {
    for (const encoding of ["identity", "gzip"]) {
      const { outcome } = await askOf((socket) => {
        socket.write(
          `HTTP/1.1 404 Not Found\r\ncontent-encoding: ${encoding}\r\n` +
            "transfer-encoding: chunked\r\n\r\n",
        );
        writeOn(socket, "4\r\naaaa\r\n");
      });
      expect(outcome).toEqual({ kind: "error_status", status: 404 });
    }
  });

  test("what is no HTTP, or another protocol", async () => {
    for (const text of [
      "SSH-2.0-OpenSSH_9.0\r\n",
      "HTTP/1.1 101 Switching\r\nupgrade: a\r\n\r\n",
    ]) {
      const { outcome } = await askOf((socket) => socket.write(text));
      expect(outcome).toEqual(unread);
    }
  });
});
