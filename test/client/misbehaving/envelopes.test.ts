import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { listEndpoints } from "../../../src/contract/index.ts";
import { openForAll } from "../../support/open-for.ts";
import { shareByKind } from "../pick-share.ts";
import type { RawReply } from "./deployment.ts";
import { openStand, type Stand, type Wanted } from "./judge.ts";

/** A reply that says 2xx, in an envelope or with headers that are not what they should be. */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

type Alter = (reply: RawReply) => RawReply;

/** How an envelope is read depends on nothing else of an endpoint. */
const readKind = ({ effect, idempotent, response, type, list }: Endpoint) =>
  JSON.stringify([effect, idempotent, response === null, type, list !== undefined]);
const shares = shareByKind(listEndpoints(), readKind);

test.each(shares)("$subject.tool is not misled", async ({ subject: endpoint, pick }) => {
  const faults: string[] = [];
  for (const [name, alter] of pick(cases)) {
    const found = await stand.judge(endpoint, { alter }, foresee(endpoint, name));
    faults.push(...found.map((fault) => `${name}: ${fault}`));
  }
  expect(faults).toEqual([]);
});

/** What is inside can be read all the same. */
const harmless: readonly (readonly [string, Alter])[] = [
  ["no content type", withHeader("content-type", "")],
  ["another content type", withHeader("content-type", "text/html")],
  ["a charset", withHeader("content-type", "application/json; charset=iso-8859-1")],
  ["a content type of its own", withHeader("content-type", "application/vnd.links+json;x")],
  ["a content type that is none", withHeader("content-type", ";;;")],
  ["a compression that is none", withHeader("content-encoding", "gzip")],
  ["headers twice", (reply) => ({ ...reply, headers: [...reply.headers, ...reply.headers] })],
  ["odd headers", withHeader("date", "yesterday")],
  ["no length", withHeader("content-length", "")],
  ["a byte order mark", withText((text) => `\ufeff${text}`)],
  ["space around it", withText((text) => `\n\n ${text} \n`)],
];

/** Nothing in these can be relied upon, but for the status. */
const harmful: readonly (readonly [string, Alter])[] = [
  ["a list", withText((text) => `[${text}]`)],
  ["a text", withText(() => '"done"')],
  ["a number", withText(() => "7")],
  ["true", withText(() => "true")],
  ["null", withText(() => "null")],
  ["nothing", withText(() => "")],
  ["an empty object", withText(() => "{}")],
  ["a page", withText(() => "<!doctype html><title>Sign in</title>")],
  ["half of it", withText((text) => text.slice(0, text.length / 2))],
  ["more behind it", withText((text) => `${text}<!-- 3 ms -->`)],
  ["it twice", withText((text) => text + text)],
  ["something deep", withText(() => "[".repeat(50_000) + "]".repeat(50_000))],
  ["it inside of data", withText((text) => `{"data":${text || "null"}}`)],
  ["it inside of link", withText((text) => `{"link":${text || "null"}}`)],
  ["an error", withText(() => '{"error":"It is not to be."}')],
  ["a compressed body", (reply) => ({ ...reply, status: 200, body: gzipSync(reply.body) })],
  ["more than we read", withText(() => `{"filler":"${"x".repeat(9 * 1024 * 1024)}"}`)],
  [
    "a connection that ends",
    (reply) => ({ ...withText((text) => text || "{}")(reply), isCut: true }),
  ],
  ["a length too long", withHeader("content-length", "999999")],
  ["a length too short", withHeader("content-length", "1")],
];

/** Not even their status can be read. */
const headless: readonly (readonly [string, Alter])[] = [
  ["a length that is none", withHeader("content-length", "many")],
  ["a header too long", withHeader("x-more", "x".repeat(100_000))],
  ["a head that is none", withHeader("x-more\u0000", "\u0001")],
];

const cases = [...harmless, ...harmful, ...headless];
const harmlessNames = new Set(harmless.map(([name]) => name));
const headlessNames = new Set(headless.map(([name]) => name));

function foresee({ effect, type }: Endpoint, name: string): Wanted {
  if (effect !== "read") {
    const isHeadless = headlessNames.has(name);
    return { isFine: true, ...(isHeadless ? { codes: ["outcome_unknown"] } : { isSeen: true }) };
  }
  const broken = { codes: ["bad_response", "unreachable"], isUndone: true };
  // A page is known by its content type alone, and whatever it says is a page.
  if (type !== undefined) return { isFine: true, ...broken };
  return harmlessNames.has(name) ? { isFine: true } : broken;
}

function withHeader(name: string, value: string): Alter {
  return (reply) => ({
    ...reply,
    headers: [...reply.headers.filter(([other]) => other !== name), [name, value]],
  });
}

/** A status that may have no body becomes one that has. */
function withText(change: (text: string) => string): Alter {
  return (reply) => ({ ...reply, status: 200, body: change(String(reply.body)) });
}
