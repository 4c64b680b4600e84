import { expect, test } from "vitest";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { contract, listEndpoints } from "../../../src/contract/index.ts";
import { openForAll } from "../../support/open-for.ts";
import { shareByKind } from "../pick-share.ts";
import type { RawReply } from "../../support/hostile.ts";
import { openStand, strayPath, type Misdeed, type Judge, type ExpectedOutcome } from "./judge.ts";

/** Tests every status, sent before or after the service has handled the request. */

let stand: Judge;
openForAll(openStand, (opened) => (stand = opened));

type Case = readonly [name: string, misdeed: Misdeed, expected: ExpectedOutcome];

/** A status has the same meaning for endpoints with the same values of these properties. */
const readKind = ({ effect, idempotent, documented, response }: Endpoint) =>
  JSON.stringify([effect, idempotent, documented, response === null]);
const shares = shareByKind(listEndpoints(), readKind);

test.each(shares)(
  "$subject.tool reports its true effect for every response status",
  async ({ subject: endpoint, pick }) => {
    const faults: string[] = [];
    const cases = [
      ...listSuccesses(endpoint),
      ...listRedirects(endpoint),
      ...listRefusals(endpoint),
      ...listLimits(),
      ...listOutages(endpoint),
    ];
    for (const [name, misdeed, expected] of pick(cases)) {
      const found = await stand.judge(endpoint, misdeed, expected);
      faults.push(...found.map((fault) => `${name}: ${fault}`));
    }
    expect(faults).toEqual([]);
  },
);

const json = ["content-type", "application/json"] as const;
const noLength = ["content-length", ""] as const;

/** Every 2xx means that the request was done. */
function listSuccesses({ effect }: Endpoint): readonly Case[] {
  const withBody = [200, 201, 202, 203, 206, 226, 299].map((status): Case => [
    `${status}`,
    { alter: (reply) => ({ ...reply, status }) },
    { isFine: true, isSeen: true },
  ]);
  // Responses with these statuses cannot have a body.
  const seen = { isFine: true, isSeen: true };
  const expected = effect === "read" ? { isFine: true, codes: ["bad_response"] } : seen;
  const lying = effect === "read" ? { isFine: true, codes: ["unreachable"] } : seen;
  return [
    ...withBody,
    ["204 with a body", { alter: (reply) => ({ ...reply, status: 204 }) }, lying],
    ["204", { alter: () => ({ status: 204, headers: [noLength], body: "" }) }, expected],
    ["205", { alter: () => ({ status: 205, headers: [], body: "" }) }, expected],
  ];
}

/** Redirects are never followed, with or without a key. */
function listRedirects({ effect }: Endpoint): readonly Case[] {
  const headers = [["location", strayPath]] as const;
  return [300, 301, 302, 303, 304, 307, 308].flatMap((status): Case[] => {
    const reply: RawReply = { status, headers, body: "" };
    const expected = { codes: ["bad_response"], isUndone: effect === "read" };
    return [
      [`${status} instead`, { instead: reply }, expected],
      [`${status} after`, { alter: () => reply }, expected],
    ];
  });
}

const words = "It is not to be.";

const codes: Readonly<Record<number, string>> = {
  400: "bad_request",
  401: "unauthorized",
  402: "bad_response",
  403: "unauthorized",
  404: "not_found",
  405: "bad_response",
  409: "bad_response",
  410: "bad_response",
  412: "plan_changed",
  413: "bad_request",
  418: "bad_response",
  422: "validation_failed",
};

/** A rejection without JSON may come from a server that is not this API. */
function listRefusals({ documented, effect }: Endpoint): readonly Case[] {
  const isGuess = documented === false;
  return Object.entries(codes).flatMap(([name, code]): Case[] => {
    const status = Number(name);
    const answer = (body: string, type: string = json[1]): Misdeed => ({
      instead: { status, headers: [["content-type", type]], body },
    });
    const plain = status === 404 && !isGuess ? "bad_response" : code;
    const page = status === 404 && isGuess ? code : "bad_response";
    const refused: ExpectedOutcome = { codes: [code], isUndone: true };
    const isPlainUndone = effect === "read" || plain === code;
    return [
      [`${status} in the API's form`, answer(JSON.stringify({ error: words })), refused],
      [`${status} as a list`, answer(JSON.stringify({ errors: [words] })), refused],
      [`${status} empty`, answer(""), { codes: [plain], isUndone: isPlainUndone }],
      [
        `${status} as text`,
        answer(words, "text/plain"),
        { codes: [plain], isUndone: isPlainUndone },
      ],
      [`${status} as a page`, answer(`<h1>${words}</h1>`, "text/html"), { codes: [page] }],
    ];
  });
}

const waits: readonly string[] = [
  "",
  "0",
  "7",
  "-1",
  "1e9",
  "Infinity",
  "99999999999999999999",
  "soon",
  "Thu, 15 Jan 2026 12:00:07 GMT",
  "Thu, 31 Dec 2099 23:59:59 GMT",
];

/** A rate-limited request was not done, however long the wait. */
function listLimits(): readonly Case[] {
  const body = JSON.stringify({ error: "Rate limit exceeded. Too many requests." });
  return waits.flatMap((wait): Case[] => {
    const instead: RawReply = { status: 429, headers: [json, ["retry-after", wait]], body };
    const limited: ExpectedOutcome = { codes: ["rate_limited"], isUndone: true };
    return [
      // The client reports a wait of an hour instead of waiting.
      [`429 once, retry-after ${wait}`, { instead, times: 1 }, { ...limited, isFine: true }],
      [`429, retry-after ${wait}`, { instead }, limited],
    ];
  });
}

/** Statuses with an unknown effect, unless a lookup shows the effect. */
function listOutages({ effect, idempotent, tool }: Endpoint): readonly Case[] {
  const isRead = effect === "read";
  const unknown = { codes: ["outcome_unknown"] };
  // Deleting a project is never repeated, because a person confirms each attempt.
  const isRepeated = isRead || (idempotent && tool !== contract.projects.destroy.tool);
  const once: ExpectedOutcome = isRepeated ? { isFine: true } : { isFine: true, ...unknown };
  const always: ExpectedOutcome = isRead ? { codes: ["overloaded"], isUndone: true } : unknown;
  const kinds = [500, 502, 503, 504, 599].flatMap((status): Case[] => {
    const instead = answerFailing(status, "");
    const alter = () => instead;
    return [
      [`${status} instead, once`, { instead, times: 1 }, once],
      [`${status} instead`, { instead }, always],
      [`${status} after, once`, { alter, times: 1 }, once],
      [`${status} after`, { alter }, isRead ? always : { ...always, isFine: true }],
    ];
  });
  const waiting = waits.map((wait): Case => [
    `503 once, retry-after ${wait}`,
    { instead: answerFailing(503, wait), times: 1 },
    once,
  ]);
  return [...kinds, ...waiting];
}

function answerFailing(status: number, wait: string): RawReply {
  const headers = [json, ["retry-after", wait]] as const;
  return { status, headers, body: JSON.stringify({ error: words }) };
}
