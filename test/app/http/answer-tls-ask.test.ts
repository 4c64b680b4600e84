import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createTlsAsk } from "../../../src/app/http/answer-tls-ask.ts";
import { visit } from "../../support/listening.ts";
import { openServer } from "../../support/ports.ts";

/** With GET /tls/ask, a proxy checks whether to get a certificate for a host. */
test.each([
  ["127.0.0.1", 200],
  ["::ffff:172.30.87.3", 200],
  ["fd00::7", 200],
  ["203.0.113.9", 404],
  ["2001:db8::9", 404],
])("GET /tls/ask from %s returns %i", async (remoteAddress, status) => {
  const answer = createTlsAsk({
    publicUrl: "https://waypost.example.com",
    host: undefined,
    report: (error) => {
      throw error;
    },
  });
  const server = createServer((request, response) => {
    Object.defineProperty(request.socket, "remoteAddress", { value: remoteAddress });
    request.url = "/tls/ask?domain=waypost.example.com";
    answer(request, response);
  });
  await using opened = await openServer(server);
  expect(await visit(`${opened.url}/`)).toMatchObject({ status });
});
