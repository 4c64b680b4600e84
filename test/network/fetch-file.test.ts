import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { createServer as createPlainServer } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { createFetchFile, type FileRequest } from "../../src/network/hosts/fetch-file.ts";
import { clientOnly, secureExample } from "../support/certificates.ts";
import { openForAll } from "../support/open-for.ts";
import { openServer } from "../support/ports.ts";

/** Public hosts are simulated by servers on this machine, whose address is treated as public. */

const publicPlace = "127.0.0.1";
const privatePlace = "127.0.0.2";
/** The system reports that this address cannot be reached. */
const nowhere = "255.255.255.255";
const hostname = "secure.example";

let port: number;
let asked: IncomingMessage[] = [];
/** The local address at which each request arrived. */
let places: string[] = [];
let answer: (response: ServerResponse) => void;
let addresses: (readonly string[])[] = [];
let alarms: (() => void)[] = [];

const server = createServer(secureExample, (request, response) => {
  asked.push(request);
  places.push(request.socket.localAddress ?? "");
  answer(response);
});
openForAll(
  () => openServer(server, "0.0.0.0"),
  (opened) => ({ port } = opened),
);
beforeEach(() => {
  asked = [];
  places = [];
  alarms = [];
  addresses = [[publicPlace]];
  answer = (response) => response.end("{}");
});

function fetchFile(
  given: Partial<FileRequest> & { authorities?: readonly string[]; at?: number } = {},
) {
  const { authorities = [secureExample.cert], at = port, ...more } = given;
  const fetch = createFetchFile({
    policy: {
      resolve: () => {
        const [next = [], ...later] = addresses;
        if (later.length > 0) addresses = later;
        return Promise.resolve(next);
      },
      isPublic: (address) => [publicPlace, "127.0.0.9", nowhere].includes(address),
      authorities,
    },
    setAlarm: (_, ring) => {
      alarms.push(ring);
      return () => {};
    },
    port: at,
  });
  const file = { hostname, path: "/file?a=1", agent: "AASA-Bot/1.0.0", most_bytes: 1000, ...more };
  return fetch(file, new AbortController().signal);
}

test("fetchFile returns the file without sending unnecessary headers", async () => {
  answer = (response) => response.writeHead(200, { "content-type": "application/json" }).end("{}");
  const got = await fetchFile();
  expect(got).toMatchObject({ kind: "answered", status: 200, isCut: false });
  if (got.kind !== "answered") throw new Error("not answered");
  expect(got.body.toString()).toBe("{}");
  expect(got.headers.get("content-type")).toBe("application/json");
  expect(new Date(got.certifiedUntil).getUTCFullYear()).toBe(2126);
  const [{ method, url, headers } = { method: "", url: "", headers: {} }] = asked;
  expect([method, url]).toEqual(["GET", "/file?a=1"]);
  expect(headers).toMatchObject({ host: expect.stringMatching(/^secure\.example/) });
  expect(Object.keys(headers).toSorted()).toEqual(
    ["accept", "accept-encoding", "connection", "host", "user-agent"].toSorted(),
  );
});

test("fetchFile returns a redirect without following it", async () => {
  const location = "http://169.254.169.254/latest/meta-data/";
  answer = (response) => response.writeHead(302, { location }).end();
  expect(await fetchFile()).toMatchObject({ kind: "answered", status: 302 });
  expect(asked).toHaveLength(1);
});

test("fetchFile stops reading a large file at the size limit", async () => {
  let sent = 0;
  answer = (response) => {
    const part = Buffer.alloc(64 * 1024, "x");
    const send = () => {
      if (sent >= 10 * 1024 * 1024 || response.destroyed) return;
      sent += part.length;
      response.write(part, send);
    };
    send();
  };
  const got = await fetchFile();
  expect(got).toMatchObject({ kind: "answered", isCut: true });
  expect(got.kind === "answered" && got.body.length).toBe(1000);
  expect(sent).toBeLessThan(10 * 1024 * 1024);
});

describe("fetchFile", () => {
  test.each([
    ["that sends nothing", () => alarms.at(-1)?.()],
    [
      "that sends single bytes",
      (response: ServerResponse) => {
        response.write("{", () => alarms.at(-1)?.());
      },
    ],
  ])("times out for a host %s", async (_, silent) => {
    answer = silent;
    expect(await fetchFile()).toEqual({ kind: "timed_out" });
  });

  test("times out for a host name that never resolves", async () => {
    const fetch = createFetchFile({
      policy: { resolve: () => new Promise(() => {}), isPublic: () => true },
      setAlarm: (_, ring) => {
        queueMicrotask(ring);
        return () => {};
      },
    });
    const file = { hostname, path: "/", agent: "a", most_bytes: 1 };
    expect(await fetch(file, new AbortController().signal)).toEqual({ kind: "timed_out" });
  });
});

describe("fetchFile with checked hosts", () => {
  test.each([
    ["without a public IP address", [privatePlace]],
    ["with a non-public IP address among others", [publicPlace, privatePlace]],
    ["without any IP address", []],
  ])("sends nothing to a host %s", async (_, found) => {
    addresses = [found];
    expect(await fetchFile()).toEqual({ kind: "not_public" });
    expect(asked).toEqual([]);
  });

  test("uses the checked IP address even if the host later resolves to a private one", async () => {
    addresses = [[publicPlace], [privatePlace]];
    expect(await fetchFile()).toMatchObject({ kind: "answered" });
    expect(places).toEqual([publicPlace]);
    expect(await fetchFile()).toEqual({ kind: "not_public" });
  });
});

test("fetchFile tries a host's next IP address if the first one is unreachable", async () => {
  addresses = [["127.0.0.9", publicPlace]];
  const server = createServer(secureExample, (_, response) => response.end("own"));
  await using own = await openServer(server);
  const { port: at } = own;
  expect(await fetchFile({ at })).toMatchObject({ kind: "answered", status: 200 });
});

test("fetchFile distinguishes unreachable hosts from refused connections", async () => {
  addresses = [[nowhere]];
  expect(await fetchFile()).toEqual({ kind: "unreachable" });
  const closed = await openServer(createServer(secureExample));
  await closed[Symbol.asyncDispose]();
  const { port: at } = closed;
  for (const both of [
    [nowhere, publicPlace],
    [publicPlace, nowhere],
  ]) {
    addresses = [both];
    expect(await fetchFile({ at })).toEqual({ kind: "refused" });
  }
});

test.each([
  ["ETIMEDOUT", { kind: "timed_out" }],
  ["EHOSTUNREACH", { kind: "unreachable" }],
  ["ENETUNREACH", { kind: "unreachable" }],
  ["ECONNRESET", { kind: "unreadable" }],
  ["INVALID_CA", { kind: "untrusted", code: "INVALID_CA" }],
  ["PATH_LENGTH_EXCEEDED", { kind: "untrusted", code: "PATH_LENGTH_EXCEEDED" }],
])("fetchFile classifies the error %s", async (code, outcome) => {
  const fetch = createFetchFile({
    policy: {
      resolve: () => Promise.resolve([publicPlace]),
      // Replaces the network, which cannot be made to fail in all these ways.
      isPublic: () => {
        throw Object.assign(new Error("failed"), { code });
      },
    },
    setAlarm: () => () => {},
  });
  const file = { hostname, path: "/", agent: "a", most_bytes: 1 };
  expect(await fetch(file, new AbortController().signal)).toEqual(outcome);
});

describe("fetchFile over an untrusted connection", () => {
  test.each([
    ["of a self-signed certificate", { authorities: [] as string[] }, "SELF_SIGNED"],
    ["of a certificate for another host", { hostname: "other.example" }, "ALTNAME"],
  ])("reports the error code %s", async (_, given, code) => {
    const got = await fetchFile(given);
    expect(got).toEqual({ kind: "untrusted", code: expect.stringContaining(code) });
    expect(asked).toEqual([]);
  });

  test("reports the error code of a certificate that only clients may use", async () => {
    await using own = await openServer(createServer(clientOnly));
    const got = await fetchFile({ at: own.port, authorities: [clientOnly.cert] });
    expect(got).toEqual({ kind: "untrusted", code: "INVALID_PURPOSE" });
  });

  test("reports an untrusted connection if the server does not use TLS", async () => {
    const listener = createPlainServer((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    const { port: at, server: plain } = await openServer(listener);
    expect(await fetchFile({ at })).toMatchObject({ kind: "untrusted" });
    plain.close();
    expect(await fetchFile({ at })).toEqual({ kind: "refused" });
  });
});
