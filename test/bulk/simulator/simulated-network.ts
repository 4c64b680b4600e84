import type { Send } from "../../../src/client/send-once.ts";
import type { ApiRequest } from "../../../src/contract/api-message.ts";
import { links, type Link } from "../../../src/contract/links.ts";
import type { Fault } from "../../support/hostile.ts";
import type { World } from "../../support/world.ts";
import type { Chance } from "../../support/chance.ts";
import {
  misdeedsSeen,
  noConnection,
  playedFaults,
  readMisdeed,
  type Answer,
  type NetworkFault,
  type ClientView,
} from "./misdeeds.ts";
import { readAsked, readPath } from "./planned.ts";
import type { RowName, Truth } from "./truth.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { toSignal, type CallerSignal } from "../../../src/contract/waiting.ts";

/** The simulated network: every request gets its seed's fault and is recorded. */
export type SimulatedNetwork = {
  /** The connection of a process. Its requests may arrive even after it was killed. */
  readonly connect: (name: string, isGone: () => boolean) => Send;
  /** Sets the probability of faults from now on, and the faults that never occur. */
  readonly setWeather: (share: number, spared?: PlayedFault) => void;
  /** The next request gets no response, whatever the probability of faults is. */
  readonly stallNext: () => void;
  /** The link as a process last read it, or undefined if it never read it. */
  readonly findRead: (name: string, target: string) => LinkBody | undefined;
  readonly disturbed: ReadonlySet<RowName>;
  /** The times of the writes that the budget counts. */
  readonly counted: readonly number[];
};

type LinkBody = { readonly link: Link | undefined };

export type NetworkParts = {
  readonly world: World;
  readonly time: VirtualTime;
  readonly truth: Truth;
  readonly chance: Chance;
  readonly key: string;
  readonly attribute: (request: ApiRequest, name: string) => RowName | undefined;
  readonly note: (text: string) => void;
  readonly complain: (text: string) => void;
  readonly countFault: (kind: string) => void;
};

type Delivery = {
  readonly name: string;
  readonly request: ApiRequest;
  readonly row: RowName | undefined;
  readonly isGone: () => boolean;
};

type PlayedFault = Fault | NetworkFault;

/** A stand-in for responses without a body that could be cut. */
const noAnswer: Answer = { status: 200, body: { id: "none" } };

export function createSimulatedNetwork(parts: NetworkParts): SimulatedNetwork {
  const { time, chance, attribute, note, complain, countFault } = parts;
  const stragglers = createStragglers(parts, complain);
  const readings = new Map<string, LinkBody>();
  const counted: number[] = [];
  const disturbed = new Set<RowName>();
  let weather = 0;
  let spared: PlayedFault | undefined;
  let isNextStalled = false;

  function chooseFault(): PlayedFault {
    const isWrong = chance.isLikely(weather);
    if (!isWrong && !isNextStalled) return "honest";
    const [first = "honest", ...others] = playedFaults.filter((fault) => fault !== spared);
    const fault = isNextStalled ? "stall" : chance.pick([first, ...others]);
    isNextStalled = false;
    countFault(fault);
    return fault;
  }

  return {
    setWeather: (share, without) => {
      weather = share;
      spared = without;
    },
    stallNext: () => (isNextStalled = true),
    disturbed,
    findRead: (name, target) => readings.get(`${name} ${target}`),
    counted,
    connect: (name, isGone) => async (request, signal) => {
      const isWrite = request.method !== "GET";
      const row = isWrite ? attribute(request, name) : undefined;
      const fault = chooseFault();
      if (row !== undefined && fault !== "honest") disturbed.add(row);
      note(`${name} sends ${describe(request)}${fault === "honest" ? "" : `: ${fault}`}`);
      await time.sleep(chance.between(1, 60));
      if (fault === "unsent") throw noConnection();
      const trip = { name, request, row, isGone };
      const seen = await applyFault(
        {
          ...parts,
          stragglers,
          carryOut: (asked) => carryOut(parts, asked, counted),
        },
        trip,
        fault,
      );
      await time.sleep(chance.between(1, 60));
      const noteRead = () => {
        const reading = fault === "honest" || fault === "slow" ? readReading(request, seen) : null;
        if (reading !== null) readings.set(`${name} ${readAsked(request)}`, reading);
      };
      return toReply(seen, signal, noteRead);
    },
  };
}

type NetworkContext = NetworkParts & {
  readonly stragglers: DelayedRequests;
  readonly carryOut: (trip: Delivery) => Promise<Answer>;
};

/** Applies the fault to a request on its way in and to its response on the way out. */
async function applyFault(
  way: NetworkContext,
  trip: Delivery,
  fault: PlayedFault,
): Promise<ClientView> {
  const { time, chance, key, stragglers, carryOut } = way;
  const target = readAsked(trip.request);
  if (trip.isGone() && chance.isLikely(0.6)) {
    // The connection broke with its process. The request is lost or arrives late.
    if (chance.isLikely(0.5)) stragglers.hold(target, () => carryOut(trip));
    return { kind: "silent" };
  }
  const visit = async () => {
    await stragglers.letIn(target);
    const answer = await carryOut(trip);
    await stragglers.letIn(target);
    return answer;
  };
  if (fault === "honest" || fault === "slow" || fault === "unsent") {
    const isSlow = fault === "slow";
    if (isSlow) await time.sleep(chance.between(500, 10_000));
    const { status, body } = await visit();
    if (isSlow) await time.sleep(chance.between(500, 10_000));
    return { kind: "reply", status, body: { kind: "data", data: body } };
  }
  const misdeed = readMisdeed(fault);
  if (misdeed === "late") stragglers.hold(target, () => carryOut(trip));
  const answer = fault.endsWith(" after") ? await visit() : noAnswer;
  return misdeedsSeen[misdeed](answer.body === null ? noAnswer : answer, key);
}

async function carryOut(
  { world, time, truth, note, complain }: NetworkParts,
  { name, request, row }: Delivery,
  counted: number[],
): Promise<Answer> {
  const { method } = request;
  const path = readPath(request);
  return time.perform(async () => {
    if (isCounted(request)) counted.push(time.elapsed());
    const answer = await world.answer(request);
    truth.record({ method, path, row }, answer);
    if (method !== "GET") note(`the service: ${describe(request)} of ${name}: ${answer.status}`);
    if (answer.status === 429 || answer.status >= 500) {
      complain(`the service said ${JSON.stringify(answer.body)}`);
    }
    return answer;
  });
}

function isCounted({ method, url }: ApiRequest): boolean {
  const path = readPath({ url });
  return method === links.update.method || (method === "POST" && path.startsWith("/links"));
}

function readReading(request: ApiRequest, seen: ClientView): LinkBody | null {
  if (request.method !== "GET" || readAsked(request) === undefined) return null;
  if (seen.kind !== "reply" || seen.body.kind !== "data") return null;
  if (seen.status === 404) return { link: undefined };
  // The responses of the service are a list or a link.
  const data = seen.body.data as Link | { readonly links: readonly Link[] };
  return { link: isList(data) ? data.links[0] : data };
}

function isList(data: Link | { readonly links: readonly Link[] }): data is {
  readonly links: readonly Link[];
} {
  return Array.isArray(data["links"]);
}

function toReply(seen: ClientView, signal: CallerSignal, noteRead: () => void): ReturnType<Send> {
  if (seen.kind === "broken") return Promise.reject(seen.error);
  if (seen.kind === "silent") return new Promise<never>(() => undefined);
  const { status, headers = {}, body } = seen;
  return Promise.resolve({
    status,
    headers,
    readBody: async () => {
      if (body.kind === "broken") throw body.error;
      if (body.kind === "silent") await untilAborted(toSignal(signal));
      if (body.kind !== "data") throw new Error("the body was no longer awaited");
      noteRead();
      return body.data;
    },
  });
}

/** Rejects once the reader of an endless body gives up. */
function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function describe({ method, url, body = "" }: ApiRequest): string {
  const { search } = new URL(url);
  return `${method} ${readPath({ url })}${decodeURIComponent(search)} ${body}`.trim();
}

/** Late requests, whose senders gave up. Many arrive just around one for the same link. */
type DelayedRequests = {
  readonly hold: (target: string | undefined, arrive: () => Promise<unknown>) => void;
  readonly letIn: (target: string | undefined) => Promise<void>;
};

type DelayedRequest = {
  readonly target: string | undefined;
  readonly arrive: () => Promise<unknown>;
  readonly stop: () => void;
};

const latest_ms = 40_000;

function createStragglers(
  { time, chance }: { readonly time: VirtualTime; readonly chance: Chance },
  complain: (text: string) => void,
): DelayedRequests {
  const held = new Set<DelayedRequest>();
  return {
    hold: (target, arrive) => {
      const ring = () => {
        held.delete(straggler);
        arrive().catch((error: unknown) => complain(`a late request: ${String(error)}`));
      };
      const stop = time.setTimer(ring, chance.between(0, latest_ms));
      const straggler: DelayedRequest = { target, arrive, stop };
      held.add(straggler);
    },
    letIn: async (target) => {
      if (target === undefined) return;
      const same = [...held].filter((straggler) => straggler.target === target);
      for (const straggler of chance.choose(same, 0.3)) {
        straggler.stop();
        held.delete(straggler);
        await straggler.arrive();
      }
    },
  };
}
