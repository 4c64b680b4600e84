import { NotSent } from "../../../src/client/send-once.ts";
import { messages } from "../../../src/contract/messages.ts";
import { allFaults, falseResponses, type Fault, type FaultName } from "../../support/hostile.ts";

/** What a client sees of a hostile server's faults, without real sockets. */
export type ClientView =
  | { readonly kind: "broken"; readonly error: Error }
  | { readonly kind: "silent" }
  | {
      readonly kind: "reply";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: BodyView;
    };

/** A received body: data, invalid JSON, an error while reading, or an endless wait. */
type BodyView =
  | { readonly kind: "data"; readonly data: unknown }
  | { readonly kind: "broken"; readonly error: Error }
  | { readonly kind: "silent" };

/** The service's response, or a made-up one if the request did not reach it. */
export type Answer = { readonly status: number; readonly body: unknown };

/** Faults of the network, in addition to those of the server. */
export type NetworkFault = "unsent" | "slow";

/** Faults that leave the result unknown. They find most bugs, so they occur more often. */
const dark = ["late", "stall", "stall after", "slow", "unsent"] as const;

/** In virtual time a huge response costs nothing, as no bytes are written. */
export const playedFaults: readonly (Fault | NetworkFault)[] = [
  ...allFaults.filter((fault) => fault !== "honest" && !falseResponses.has(fault)),
  ...Array.from({ length: 3 }, () => dark).flat(),
];

export const noConnection = () =>
  new NotSent("no connection", { cause: withCode("ECONNREFUSED", "connect ECONNREFUSED") });

export function readMisdeed(fault: Fault): FaultName {
  // A fault without its time is the name of the misdeed.
  return fault.replace(/ after$/, "") as FaultName;
}

export const misdeedsSeen: Readonly<
  Record<FaultName, (answer: Answer, key: string) => ClientView>
> = {
  reset: () => breakOff("ECONNRESET", "read ECONNRESET"),
  close: () => breakOff("UND_ERR_SOCKET", "other side closed"),
  stall: () => ({ kind: "silent" }),
  late: () => ({ kind: "silent" }),
  stall_body: ({ status }) => ({ kind: "reply", status, body: { kind: "silent" } }),
  cut_length: cutBody,
  cut_chunked: cutBody,
  half_json: ({ status }) => noJson(status),
  other_json: ({ status }) => json(status, { links: { id: 7 }, id: 7 }),
  html_200: () => noJson(200),
  html_201: () => noJson(201),
  html_404: () => noJson(404),
  html_502: () => noJson(502),
  redirect: () => json(307, null),
  huge: ({ status }) => json(status, undefined),
  noise: () => breakOff("HPE_INVALID_CONSTANT", "Expected HTTP/"),
  echo_noise: () => breakOff("HPE_INVALID_CONSTANT", "Expected HTTP/"),
  echo_401: (_, key) => json(401, { error: `Who are you, Token ${key}?` }),
  echo_500: (_, key) => json(500, { error: `Who are you, Token ${key}?` }),
  limited: () => json(429, { error: messages.rate_limited }),
  busy: () => json(503, { error: messages.took_too_long }, { "retry-after": "1" }),
  locked: () => json(503, { error: messages.store_locked }, { "retry-after": "1" }),
  failing: () => json(500, { error: messages.internal("r-1") }),
  misdirected: () => noJson(421),
  odd_status: () => json(799, null),
};

function cutBody({ status }: Answer): ClientView {
  const error = withCode("UND_ERR_SOCKET", "terminated");
  return { kind: "reply", status, body: { kind: "broken", error } };
}

function json(
  status: number,
  data: unknown,
  headers: Readonly<Record<string, string>> = {},
): ClientView {
  return { kind: "reply", status, headers, body: { kind: "data", data } };
}

function noJson(status: number): ClientView {
  return json(status, "<html>");
}

function breakOff(code: string, message: string): ClientView {
  return { kind: "broken", error: withCode(code, message) };
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
