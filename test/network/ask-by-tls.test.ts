import { createSecureContext, createServer, type TlsOptions } from "node:tls";
import type { AddressInfo } from "node:net";
import { beforeAll, afterAll, beforeEach, expect, test } from "vitest";
import { askAddress, type Internet } from "../../src/network/hosts/ask-address.ts";
import { otherExample, secureExample } from "../support/certificates.ts";

/** Strangers' hosts behind TLS: a real server of this machine, which counts as public here. */

const publicPlace = "127.0.0.1";
const badCertificate = { kind: "unreachable", reason: "a certificate that is not valid" };

let options: TlsOptions = secureExample;
const names: (string | false | null)[] = [];
const places: (string | undefined)[] = [];
const requests: string[] = [];
const server = createServer(
  {
    ...secureExample,
    SNICallback: (_name, answer) => answer(null, createSecureContext(options)),
  },
  (socket) => {
    names.push(socket.servername);
    places.push(socket.localAddress);
    socket.on("error", () => undefined);
    socket.once("data", (data) => {
      requests.push(data.toString("latin1").split("\r\n")[0] ?? "");
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
  },
);

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  options = secureExample;
  for (const list of [names, places, requests]) list.length = 0;
});

const trusted = [secureExample.cert, otherExample.cert];

function ask(authorities: readonly string[] | undefined = trusted, first = [publicPlace]) {
  const { port } = server.address() as AddressInfo;
  const looks = [first, ["127.0.0.2"]];
  const internet: Internet = {
    resolve: () => Promise.resolve(looks.shift() ?? []),
    isPublic: (address) => first.includes(address),
    ports: new Set([port]),
    authorities,
  };
  const { signal } = new AbortController();
  return askAddress(`https://secure.example:${port}/a`, internet, signal);
}

test("a host is asked by its name at the address that was looked at", async () => {
  expect(await ask()).toEqual({ kind: "reached" });
  expect({ names, places, requests }).toEqual({
    names: ["secure.example"],
    places: [publicPlace],
    requests: ["HEAD /a HTTP/1.1"],
  });
});

test("a host is asked at its next address where nothing listens at the first", async () => {
  expect(await ask(trusted, ["::1", publicPlace])).toEqual({ kind: "reached" });
  expect({ names, places }).toEqual({ names: ["secure.example"], places: [publicPlace] });
});

test("a certificate of another name is told, and nothing is asked", async () => {
  options = otherExample;
  expect(await ask()).toEqual(badCertificate);
  expect(requests).toEqual([]);
});

test("a certificate that nobody vouches for is told, and nothing is asked", async () => {
  expect(await ask([otherExample.cert])).toEqual(badCertificate);
  expect(await ask([])).toEqual(badCertificate);
  expect(requests).toEqual([]);
});
