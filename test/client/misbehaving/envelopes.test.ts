import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { listEndpoints } from "../../../src/contract/index.ts";
import { openForAll } from "../../support/open-for.ts";
import { shareByKind } from "../pick-share.ts";
import type { RawReply } from "../../support/hostile.ts";
import { openStand, type Judge, type ExpectedOutcome } from "./judge.ts";

/** Successful responses with a wrong envelope or wrong headers. */

let stand: Judge;
openForAll(openStand, (opened) => (stand = opened));

type ReplyForgery = (reply: RawReply) => RawReply;

/** Endpoints with the same values of these properties read an envelope in the same way. */
const readKind = ({ effect, idempotent, response, type, list }: Endpoint) =>
  JSON.stringify([effect, idempotent, response === null, type, list !== undefined]);
const shares = shareByKind(listEndpoints(), readKind);

test.each(shares)(
  "$subject.tool reports its true effect for any response envelope and headers",
  async ({ subject: endpoint, pick }) => {
    const faults: string[] = [];
    for (const [name, alter] of pick(cases)) {
      const found = await stand.judge(endpoint, { alter }, predictOutcome(endpoint, name));
      faults.push(...found.map((fault) => `${name}: ${fault}`));
    }
    expect(faults).toEqual([]);
  },
);

/** Envelopes whose data can still be read. */
const harmless: readonly (readonly [string, ReplyForgery])[] = [
  ["no content type", withHeader("content-type", "")],
  ["another content type", withHeader("content-type", "text/html")],
  ["a charset", withHeader("content-type", "application/json; charset=iso-8859-1")],
  ["a vendor content type", withHeader("content-type", "application/vnd.links+json;x")],
  ["an invalid content type", withHeader("content-type", ";;;")],
  ["a content-encoding without compression", withHeader("content-encoding", "gzip")],
  ["headers twice", (reply) => ({ ...reply, headers: [...reply.headers, ...reply.headers] })],
  ["odd headers", withHeader("date", "yesterday")],
  ["no length", withHeader("content-length", "")],
  ["a byte order mark", withText((text) => `\ufeff${text}`)],
  ["space around it", withText((text) => `\n\n ${text} \n`)],
];

/** Responses of which only the status is reliable. */
const harmful: readonly (readonly [string, ReplyForgery])[] = [
  ["a list", withText((text) => `[${text}]`)],
  ["a text", withText(() => '"done"')],
  ["a number", withText(() => "7")],
  ["true", withText(() => "true")],
  ["null", withText(() => "null")],
  ["nothing", withText(() => "")],
  ["an empty object", withText(() => "{}")],
  ["a page", withText(() => "<!doctype html><title>Sign in</title>")],
  ["half of it", withText((text) => text.slice(0, text.length / 2))],
  ["extra text after it", withText((text) => `${text}<!-- 3 ms -->`)],
  ["the body twice", withText((text) => text + text)],
  ["deep nesting", withText(() => "[".repeat(50_000) + "]".repeat(50_000))],
  ["the body inside of data", withText((text) => `{"data":${text || "null"}}`)],
  ["the body inside of link", withText((text) => `{"link":${text || "null"}}`)],
  ["an error object", withText(() => '{"error":"It is not to be."}')],
  ["a compressed body", (reply) => ({ ...reply, status: 200, body: gzipSync(reply.body) })],
  ["a body above the limit", withText(() => `{"filler":"${"x".repeat(9 * 1024 * 1024)}"}`)],
  [
    "a connection that ends",
    (reply) => ({ ...withText((text) => text || "{}")(reply), isCut: true }),
  ],
  ["a length too long", withHeader("content-length", "999999")],
  ["a length too short", withHeader("content-length", "1")],
];

/** Responses without a readable status. */
const headless: readonly (readonly [string, ReplyForgery])[] = [
  ["an invalid length", withHeader("content-length", "many")],
  ["a header too long", withHeader("x-more", "x".repeat(100_000))],
  ["an invalid header line", withHeader("x-more\u0000", "\u0001")],
];

const cases = [...harmless, ...harmful, ...headless];
const harmlessNames = new Set(harmless.map(([name]) => name));
const headlessNames = new Set(headless.map(([name]) => name));

function predictOutcome({ effect, type }: Endpoint, name: string): ExpectedOutcome {
  if (effect !== "read") {
    const isHeadless = headlessNames.has(name);
    return { isFine: true, ...(isHeadless ? { codes: ["outcome_unknown"] } : { isSeen: true }) };
  }
  const broken = { codes: ["bad_response", "unreachable"], isUndone: true };
  // An HTML page is recognized only by its content type, and may contain anything.
  if (type !== undefined) return { isFine: true, ...broken };
  return harmlessNames.has(name) ? { isFine: true } : broken;
}

function withHeader(name: string, value: string): ReplyForgery {
  return (reply) => ({
    ...reply,
    headers: [...reply.headers.filter(([other]) => other !== name), [name, value]],
  });
}

/** A status without a body becomes 200. */
function withText(change: (text: string) => string): ReplyForgery {
  return (reply) => ({ ...reply, status: 200, body: change(String(reply.body)) });
}
