import { randomBytes } from "node:crypto";
import { openRemoteSender } from "../../../src/client/carriers.ts";
import { createClient } from "../../../src/client/client.ts";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { explainEnd, ToolFailure, type Failure } from "../../../src/mcp/results/tool-failure.ts";
import { createWorld, type World } from "../../support/world.ts";
import { openMisbehaving, type Misdeed, type MisbehavingDeployment } from "./deployment.ts";
import { prepareScene, type Scene } from "./scenes.ts";

/**
 * Calls a misbehaving server, and compares the reported outcome of each call with the records of
 * the real service.
 */

export type Stand = {
  readonly world: World;
  readonly deployment: MisbehavingDeployment;
  /** Returns the mistakes in the reported outcome of a call. */
  readonly judge: (
    endpoint: Endpoint,
    misdeed: Misdeed,
    expected: ExpectedOutcome,
  ) => Promise<string[]>;
  readonly reported: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type ExpectedOutcome = {
  /** Whether the call may succeed. */
  readonly isFine?: boolean;
  /** The error codes with which the call may fail. */
  readonly codes?: readonly string[];
  /** Whether a failure must be reported as without effect. */
  readonly isUndone?: boolean;
  /** Whether the status proves that the call was done, so it must not be sent again. */
  readonly isSeen?: boolean;
};

type CallOutcome =
  | { readonly kind: "answered"; readonly body: unknown }
  | { readonly kind: "failed"; readonly failure: Failure };

export async function openStand(): Promise<Stand> {
  const world = await createWorld();
  const deployment = await openMisbehaving(world);
  const remote = openRemoteSender();
  // Calls that only read can be reused.
  const scenes = new Map<Endpoint, Scene>();

  async function act(endpoint: Endpoint, misdeed: Misdeed): Promise<CallOutcome> {
    const { key, input } = scenes.get(endpoint) ?? (await prepareScene(world, endpoint));
    if (endpoint.effect === "read") scenes.set(endpoint, { key, input });
    // Let rate limits recover, so that no case depends on the previous cases.
    world.advance(10_000);
    deployment.misbehave(endpoint, misdeed);
    const client = createClient({
      target: { origin: deployment.origin, key },
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
    world,
    deployment,
    judge: async (endpoint, misdeed, expected) => {
      const outcome = await act(endpoint, misdeed);
      return [
        ...findWrongEffects(endpoint, outcome, deployment),
        ...(expected.isSeen === true && deployment.countRequests() > 1
          ? ["it was sent again"]
          : []),
        ...findUnexpectedOutcome(outcome, expected),
        ...(outcome.kind === "failed" ? findBadMessage(outcome.failure, world) : []),
      ];
    },
    get reported() {
      return [...world.reported, ...deployment.reported];
    },
    [Symbol.asyncDispose]: async () => {
      await remote.close();
      await deployment[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Lists effects that were reported wrongly. */
function findWrongEffects(
  { effect, idempotent }: Endpoint,
  outcome: CallOutcome,
  { accepted, strayed }: MisbehavingDeployment,
): readonly string[] {
  const mistakes: string[] = [];
  if (strayed.length > 0) mistakes.push("a redirect was followed");
  if (effect === "read") {
    const isWrong = outcome.kind === "failed" && outcome.failure.effect !== "none";
    return isWrong ? [...mistakes, "a read was reported with an effect"] : mistakes;
  }
  const times = accepted.length;
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
