import { randomBytes } from "node:crypto";
import { openRemoteSender } from "../../../src/client/carriers.ts";
import { createClient } from "../../../src/client/client.ts";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { explainEnd, ToolFailure, type Failure } from "../../../src/mcp/results/tool-failure.ts";
import { createWorld, type World } from "../../support/world.ts";
import { openMisbehaving, type Misdeed, type MisbehavingDeployment } from "./deployment.ts";
import { prepareScene, type Scene } from "./scenes.ts";

/**
 * Calls to a misbehaving server, and what must hold of their outcomes. What is reported is compared
 * with what the service has done.
 */

export type Stand = {
  readonly world: World;
  readonly deployment: MisbehavingDeployment;
  /** What is wrong with the outcome of a call; empty if all is well. */
  readonly judge: (
    endpoint: Endpoint,
    misdeed: Misdeed,
    wanted: ExpectedOutcome,
  ) => Promise<string[]>;
  readonly reported: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type ExpectedOutcome = {
  /** The call may succeed. */
  readonly isFine?: boolean;
  /** The call may fail with one of these codes. */
  readonly codes?: readonly string[];
  /** A failure must be reported as without effect. */
  readonly isUndone?: boolean;
  /** The status proves that the call was done, so it must not be sent again. */
  readonly isSeen?: boolean;
};

type Ending =
  | { readonly kind: "answered"; readonly body: unknown }
  | { readonly kind: "failed"; readonly failure: Failure };

export async function openStand(): Promise<Stand> {
  const world = await createWorld();
  const deployment = await openMisbehaving(world);
  const remote = openRemoteSender();
  // Scenes of endpoints that only read can be used again.
  const scenes = new Map<Endpoint, Scene>();

  async function act(endpoint: Endpoint, misdeed: Misdeed): Promise<Ending> {
    const { key, input } = scenes.get(endpoint) ?? (await prepareScene(world, endpoint));
    if (endpoint.effect === "read") scenes.set(endpoint, { key, input });
    // Rate limits last a minute, and no case may depend on what another one has left.
    world.advance(10_000);
    deployment.misbehave(endpoint, misdeed);
    const client = createClient({
      target: { origin: deployment.origin, key },
      send: remote.send,
      clock: world.clock,
      random: { bytes: (count) => randomBytes(count) },
      // Only the world's clock moves.
      sleep: (milliseconds) => Promise.resolve(world.advance(milliseconds)),
      setTimer: () => () => undefined,
    });
    try {
      return { kind: "answered", body: await client.call(endpoint, input) };
    } catch (error) {
      const told = explainEnd({ tool: endpoint.tool, endpoint }, error);
      if (told instanceof ToolFailure) return { kind: "failed", failure: told.failure };
      throw error;
    }
  }

  return {
    world,
    deployment,
    judge: async (endpoint, misdeed, wanted) => {
      const ending = await act(endpoint, misdeed);
      return [
        ...findLies(endpoint, ending, deployment),
        ...(wanted.isSeen === true && deployment.countRequests() > 1 ? ["it was sent again"] : []),
        ...findUnwanted(ending, wanted),
        ...(ending.kind === "failed" ? findBadWords(ending.failure, world) : []),
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

/** Compares the reported effect with what was done. */
function findLies(
  { effect, idempotent }: Endpoint,
  ending: Ending,
  { accepted, strayed }: MisbehavingDeployment,
): readonly string[] {
  const lies: string[] = [];
  if (strayed.length > 0) lies.push("a redirect was followed");
  if (effect === "read") {
    const isTold = ending.kind === "failed" && ending.failure.effect !== "none";
    return isTold ? [...lies, "a read is said to have had an effect"] : lies;
  }
  const times = accepted.length;
  if (!idempotent && times > 1) lies.push(`it was done ${times} times`);
  const told = ending.kind === "answered" ? "done" : ending.failure.effect;
  if (told === "done" && times === 0) lies.push("it is called done, and was not");
  if (told === "none" && times > 0) lies.push("it is called undone, and was done");
  return lies;
}

function findUnwanted(
  ending: Ending,
  { isFine, codes, isUndone }: ExpectedOutcome,
): readonly string[] {
  if (ending.kind === "answered") return isFine === true ? [] : ["it did not fail"];
  const { code, message, effect } = ending.failure;
  if (codes?.includes(code) !== true) return [`it failed as ${code}: ${message.slice(0, 120)}`];
  return isUndone === true && effect !== "none" ? [`its effect is ${effect}`] : [];
}

const longest = 6000;

/** A message is bounded, printable and without the key, whatever a server sends. */
function findBadWords({ message, next, retry_after_s }: Failure, world: World): readonly string[] {
  const faults: string[] = [];
  if (message.trim() === "" || next.trim() === "") faults.push("nothing is said");
  if (message.length > longest) faults.push("it says too much");
  if (/[^\P{Cc}\n\t]/u.test(message)) faults.push("it says what cannot be seen");
  const isTold = [world.key, world.master].some((key) => message.includes(key));
  if (isTold) faults.push("it shows the key");
  const isTime = retry_after_s === undefined || (retry_after_s >= 1 && retry_after_s <= 3600);
  if (!isTime) faults.push(`it says to wait for ${retry_after_s} seconds`);
  return faults;
}
