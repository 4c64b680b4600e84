import { createServer, type Server, type Socket } from "node:net";
import { createSecureContext, createServer as createTlsServer, type TlsOptions } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { HostPolicy } from "../../src/network/hosts/pinned-connection.ts";
import { createSecret, allowReceivers, sendMessage } from "../../src/webhooks/send-message.ts";
import { otherExample, secureExample } from "../support/certificates.ts";
import { openServer } from "../support/ports.ts";
import { loopback } from "./webhook-world.ts";

/** Tests a single delivery attempt to real servers that break rules. */

const publicPlace = "127.0.0.1";
const unread = "the response could not be read";

const loopbackOnly: HostPolicy = {
  resolve: () => Promise.resolve([publicPlace]),
  isPublic: (address) => address === publicPlace,
};

function send(url: string, policy: HostPolicy = loopbackOnly) {
  const secret = createSecret({ bytes: (count) => new Uint8Array(count) });
  const sending = { policy, setAlarm: () => () => {}, clock: { now: () => 0 } };
  const { signal } = new AbortController();
  return sendMessage({ event_id: "evt_1", body: "{}" }, { url, secret }, sending, signal);
}

async function listen(server: Server, host: string): Promise<number> {
  const opened = await openServer(server, host);
  onTestFinished(opened[Symbol.asyncDispose]);
  return opened.port;
}

async function sendByTls({
  options = secureExample,
  authorities = [secureExample.cert, otherExample.cert],
}: { options?: TlsOptions; authorities?: readonly string[] } = {}) {
  const names: (string | false | null)[] = [];
  const places: (string | undefined)[] = [];
  const requests: string[] = [];
  const SNICallback: TlsOptions["SNICallback"] = (_name, answer) =>
    answer(null, createSecureContext(options));
  const server = createTlsServer({ ...secureExample, SNICallback }, (socket) => {
    names.push(socket.servername);
    places.push(socket.localAddress);
    socket.on("error", () => undefined);
    socket.once("data", (data) => {
      requests.push(data.toString("latin1").split("\r\n")[0] ?? "");
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
  });
  const port = await listen(server, "0.0.0.0");
  const looks = [[publicPlace], ["127.0.0.2"]];
  const resolve = () => Promise.resolve(looks.shift() ?? []);
  const policy = { ...loopbackOnly, resolve, authorities };
  const fault = await send(`https://secure.example:${port}/a`, policy);
  return { fault, names, places, requests };
}

async function sendTo(answer: (socket: Socket) => void, policy?: HostPolicy, scheme = "http") {
  let ended: Promise<unknown> = Promise.resolve();
  const server = createServer((socket) => {
    ended = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
  const port = await listen(server, publicPlace);
  const fault = await send(`${scheme}://a.example:${port}/`, policy);
  await ended;
  return fault;
}

function writeOn(socket: Socket, text: string): void {
  const write = () => {
    if (socket.destroyed) return;
    socket.write(text, () => setImmediate(write));
  };
  write();
}

describe("a webhook message over TLS", () => {
  test("is sent to the IP address from the first lookup, with the host name as SNI", async () => {
    expect(await sendByTls()).toEqual({
      fault: null,
      names: ["secure.example"],
      places: [publicPlace],
      requests: ["POST /a HTTP/1.1"],
    });
  });

  test("is not sent if the receiver's certificate is for another host name", async () => {
    const sent = await sendByTls({ options: otherExample });
    expect(sent).toMatchObject({ fault: "its certificate is invalid", requests: [] });
  });

  test.each([
    ["signed by another authority", [otherExample.cert]] as const,
    ["no trusted authority", []] as const,
  ])(
    "is not sent to a receiver whose certificate cannot be verified: %s",
    async (_, authorities) => {
      const sent = await sendByTls({ authorities });
      expect(sent).toMatchObject({ fault: "its certificate is invalid", requests: [] });
    },
  );
});

describe("a receiver's response", () => {
  test.each([
    ["headers", "HTTP/1.1 200 OK\r\n", "x-more: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"],
    ["a header line", "HTTP/1.1 200 OK\r\nx-more: ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
  ])("is aborted if this part never ends: %s", async (_, first, more) => {
    const fault = await sendTo((socket) => {
      socket.write(first);
      writeOn(socket, more);
    });
    expect(fault).toBe(unread);
  });

  test.each(["identity", "gzip"])(
    "is aborted if its body with the encoding %s never ends",
    async (encoding) => {
      const head = `HTTP/1.1 404 Not Found\r\ncontent-encoding: ${encoding}\r\n`;
      const fault = await sendTo((socket) => {
        socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
        writeOn(socket, "4\r\naaaa\r\n");
      });
      expect(fault).toBe("status 404");
    },
  );
});

test.each([
  ["SSH-2.0-OpenSSH_9.0\r\n", unread],
  ["HTTP/1.1 101 Switching\r\nupgrade: a\r\n\r\n", "status 101"],
  ["HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n", unread],
  ["", unread],
])(
  "a webhook message counts as undelivered if the receiver responds with %j",
  async (text, expected) => {
    const fault = await sendTo((socket) => socket.end(text));
    expect(fault).toBe(expected);
  },
);

test("a receiver without TLS is reported as having an invalid certificate", async () => {
  const fault = await sendTo((socket) => socket.end("no TLS"), loopbackOnly, "https");
  expect(fault).toBe("its certificate is invalid");
});

test("a receiver's redirect is not followed and is reported as a failure", async () => {
  const head = "HTTP/1.1 307 Temporary Redirect\r\nlocation: /second\r\ncontent-length: 0\r\n\r\n";
  const fault = await sendTo((socket) => socket.end(head));
  expect(fault).toBe("status 307: redirects are not followed");
});

const allow = (addresses: readonly string[], networks = loopback): HostPolicy => {
  return { ...allowReceivers(networks), resolve: () => Promise.resolve(addresses) };
};

describe("a webhook message", () => {
  test.each([
    [["127.0.0.1"], []],
    [["10.0.0.7"], loopback],
    [["192.0.2.1", "127.0.0.1"], loopback],
    [["::ffff:169.254.169.254"], loopback],
    [[], loopback],
  ])("is not sent to private networks that are not allowed: %j", async (addresses, networks) => {
    const fault = await send("http://receiver.example/", allow(addresses, networks));
    expect(fault).toBe("the host has no public address");
  });

  test("is sent to the next IP address if no server listens on the first one", async () => {
    const policy = allow(["127.0.0.2", publicPlace], [{ address: "127.0.0.0", prefix: 8 }]);
    const answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    expect(await sendTo((socket) => socket.end(answer), policy)).toBeNull();
  });

  test.each([[["93.184.216.34"]], [["127.0.0.1", "93.184.216.34"]]])(
    "is not sent over plain HTTP to a receiver with a public IP address: %j",
    async (addresses) => {
      const fault = await send("http://receiver.example/", allow(addresses));
      expect(fault).toContain("must be an https address");
    },
  );
});
