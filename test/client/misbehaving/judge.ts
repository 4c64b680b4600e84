import { randomBytes } from "node:crypto";
import { openRemoteSender } from "../../../src/client/remote-sender.ts";
import { createClient } from "../../../src/client/client.ts";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { contract } from "../../../src/contract/index.ts";
import { explainEnd, ToolFailure, type Failure } from "../../../src/mcp/results/tool-failure.ts";
import { openHostile, type Forgery, type Hostile } from "../../support/hostile.ts";
import { createWorld, type World } from "../../support/world.ts";
import { prepareScene, type Scene } from "./scenes.ts";

/** Compares a call's reported outcome with the requests that the real service carried out. */

const { shortLinks } = contract;

export type Judge = {
  readonly judge: (
    endpoint: Endpoint,
    misdeed: Misdeed,
    expected: ExpectedOutcome,
  ) => Promise<string[]>;
  readonly reported: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** The forged responses to the requests of a call. */
export type Misdeed = Forgery & {
  /** The number of forged responses. By default, all responses are forged. */
  readonly times?: number;
};

/** A client must never follow a redirect to this path. */
export const strayPath = "/elsewhere";

/** More than any call sends. */
const mostRequests = 20;

export type ExpectedOutcome = {
  readonly isFine?: boolean;
  readonly codes?: readonly string[];
  /** Whether a failure must be reported as without effect. */
  readonly isUndone?: boolean;
  /** Whether the status proves that the call was done, so it must not be sent again. */
  readonly isSeen?: boolean;
};

type CallOutcome =
  | { readonly kind: "answered"; readonly body: unknown }
  | { readonly kind: "failed"; readonly failure: Failure };

export async function openStand(): Promise<Judge> {
  const world = await createWorld();
  const hostile = await openHostile(world);
  const remote = openRemoteSender();
  // Calls that only read can be reused.
  const scenes = new Map<Endpoint, Scene>();

  async function act(
    endpoint: Endpoint,
    { times = mostRequests, ...forgery }: Misdeed,
  ): Promise<CallOutcome> {
    const { key, input } = scenes.get(endpoint) ?? (await prepareScene(world, endpoint));
    if (endpoint.effect === "read") scenes.set(endpoint, { key, input });
    // Let rate limits recover, so that no case depends on the previous cases.
    world.advance(10_000);
    for (const lines of [hostile.received, hostile.carriedOut]) lines.length = 0;
    const faults = Array.from({ length: times }, () => forgery);
    // Lookups after a write get honest responses.
    hostile.plan(isGet(endpoint) ? { reads: faults } : { writes: faults });
    const client = createClient({
      target: { origin: hostile.origin, key },
      send: remote.send,
      clock: world.clock,
      random: { bytes: (count) => randomBytes(count) },
      // A wait advances only the test's clock.
      sleep: (milliseconds) => Promise.resolve(world.advance(milliseconds)),
      setAlarm: () => () => undefined,
    });
    try {
      return { kind: "answered", body: await client.call(endpoint, input) };
    } catch (error) {
      const explained = explainEnd({ tool: endpoint.tool, endpoint }, error);
      if (explained instanceof ToolFailure) return { kind: "failed", failure: explained.failure };
      throw error;
    }
  }

  return {
    judge: async (endpoint, misdeed, expected) => {
      const outcome = await act(endpoint, misdeed);
      return [
        ...findWrongEffects(endpoint, outcome, hostile),
        ...(expected.isSeen === true && countRequests(endpoint, hostile) > 1
          ? ["it was sent again"]
          : []),
        ...findUnexpectedOutcome(outcome, expected),
        ...(outcome.kind === "failed" ? findBadMessage(outcome.failure, world) : []),
      ];
    },
    reported: world.reported,
    [Symbol.asyncDispose]: async () => {
      await remote.close();
      await hostile[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Whether the server counts a request to this endpoint as a read. */
const isGet = ({ method, path }: Endpoint) => method === "GET" || path === shortLinks.resolve.path;

function countRequests(endpoint: Endpoint, { received }: Hostile): number {
  return received.filter((line) => isGet(endpoint) || !line.startsWith("GET ")).length;
}

function findWrongEffects(
  { effect, idempotent }: Endpoint,
  outcome: CallOutcome,
  { received, carriedOut }: Hostile,
): readonly string[] {
  const mistakes: string[] = [];
  if (received.some((line) => line.endsWith(strayPath))) mistakes.push("a redirect was followed");
  if (effect === "read") {
    const isWrong = outcome.kind === "failed" && outcome.failure.effect !== "none";
    return isWrong ? [...mistakes, "a read was reported with an effect"] : mistakes;
  }
  const times = carriedOut.filter(
    (line) => !line.startsWith("GET ") && / 2\d\d$/.test(line),
  ).length;
  if (!idempotent && times > 1) mistakes.push(`it was done ${times} times`);
  const reported = outcome.kind === "answered" ? "done" : outcome.failure.effect;
  if (reported === "done" && times === 0) mistakes.push("it was reported as done without effect");
  if (reported === "none" && times > 0) mistakes.push("it was reported as undone, but was done");
  return mistakes;
}

function findUnexpectedOutcome(
  outcome: CallOutcome,
  { isFine, codes, isUndone }: ExpectedOutcome,
): readonly string[] {
  if (outcome.kind === "answered") return isFine === true ? [] : ["it did not fail"];
  const { code, message, effect } = outcome.failure;
  if (codes?.includes(code) !== true) return [`it failed as ${code}: ${message.slice(0, 120)}`];
  return isUndone === true && effect !== "none" ? [`its effect is ${effect}`] : [];
}

const longest = 6000;

/** Checks that messages are short, printable and without the key, whatever a server sends. */
function findBadMessage(
  { message, next, retry_after_s }: Failure,
  world: World,
): readonly string[] {
  const faults: string[] = [];
  if (message.trim() === "" || next.trim() === "") faults.push("its message is empty");
  if (message.length > longest) faults.push("its message is too long");
  if (/[^\P{Cc}\n\t]/u.test(message)) faults.push("its message has invisible characters");
  const isLeaked = [world.key, world.master].some((key) => message.includes(key));
  if (isLeaked) faults.push("its message contains the key");
  const isTime = retry_after_s === undefined || (retry_after_s >= 1 && retry_after_s <= 3600);
  if (!isTime) faults.push(`its retry time is ${retry_after_s} seconds`);
  return faults;
}
