import type { Clock, Random } from "../contract/clock.ts";
import { pickFields, type CallAnswer, type Endpoint, type Input } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { nobodyLeaves, toSignal, type Leaving } from "../contract/waiting.ts";
import { Problem } from "../contract/problem.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import { noteUnread } from "../contract/server-answer.ts";
import { findWritten, type WriteFinding, type WriteSearch } from "./find-written.ts";
import {
  describeFailure,
  failCancelled,
  failLimited,
  isRepeatable,
  type CallSoFar,
  type TryOutcome,
  type FailedOutcome,
} from "./outcome.ts";
import { createBudgetLedger, type BudgetLedger } from "./rate-limit.ts";
import { buildRequest, type RequestOptions, type RequestTarget } from "./request.ts";
import { sendOnce, type Send, type SetTimer } from "./send-once.ts";

/** Makes API calls, and retries until the outcome is known or the time is up. */

export type Client = {
  readonly call: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    signal?: Leaving,
    options?: CallOptions,
  ) => Promise<CallAnswer<E>>;
  /** Throws if a call now would exceed the key's rate limit. */
  readonly requireBudget: (endpoint: Endpoint) => Promise<void>;
};

type CallOptions = RequestOptions & {
  /** Makes a single short attempt, without checking its outcome. */
  readonly isProbe?: boolean;
};

export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export type ClientOptions = {
  readonly target: RequestTarget;
  readonly send: Send;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  /** Cancels the calls that have no signal of their own. */
  readonly life?: Leaving;
  /** Shares rate limits with other processes. By default, this client counts only its own calls. */
  readonly ledger?: BudgetLedger | undefined;
  /** The timeout of an attempt. Tests replace it. */
  readonly setTimer?: SetTimer;
};

type ClientState = ClientOptions & {
  /** Whether the server is the embedded service, with no network and the same clock. */
  readonly isEmbedded: boolean;
  readonly ledger: BudgetLedger;
  repeatsLeft: number;
  /** How far the server's clock is ahead, once a response has shown it. */
  skew_ms: number | undefined;
};

/** The limits of a call, including the calls that check what it has written. */
type CallLimits = {
  readonly signal: Leaving;
  /** When the whole call must end, on the monotonic clock. */
  readonly deadline: number;
  readonly options?: CallOptions;
};

type RunningCall = CallSoFar & CallLimits & { readonly since_ms: number };

/** Timeouts of a whole call, of a probe, and of one attempt. */
const callDeadline_ms = 45_000;
const probeDeadline_ms = 10_000;
const tryDeadline_ms = 15_000;
const mostTries = 4;

const firstBackoff_ms = 200;
const limitedBackoff_ms = 2000;

/** Allows one retry per ten calls in the long run, so that retries do not make an outage worse. */
const mostRepeats = 100;
const earnedPerCall = 0.1;

/** A write may still be running on the server, so the client waits before it checks the result. */
const checkAfter_ms = [500, 2000, 4000] as const;

/** `Date` headers have a resolution of one second, and responses take time to arrive. */
const toleratedSkew_ms = 2000;

export function createClient(options: ClientOptions): Client {
  const { clock, life = nobodyLeaves, ledger = createBudgetLedger(clock), target } = options;
  const isEmbedded = target.checksConditions === true;
  const skew_ms = isEmbedded ? 0 : undefined;
  const state: ClientState = { ...options, isEmbedded, ledger, repeatsLeft: mostRepeats, skew_ms };
  return {
    call: (endpoint, input, signal = life, asked = {}) => {
      const most_ms = asked.isProbe === true ? probeDeadline_ms : callDeadline_ms;
      const deadline = clock.monotonic() + most_ms;
      return makeCall(state, endpoint, input, { signal, deadline, options: asked });
    },
    requireBudget: (endpoint) => requireBudget(state, endpoint),
  };
}

async function makeCall<E extends Endpoint>(
  state: ClientState,
  endpoint: E,
  input: Input<E>,
  limits: CallLimits,
): Promise<CallAnswer<E>> {
  // The casts are safe: `Input` is always an object, and the endpoint's schema has validated the
  // response.
  const call = beginCall(state, endpoint, input as JsonObject, limits);
  return (await perform(state, call)) as CallAnswer<E>;
}

function beginCall(
  state: ClientState,
  endpoint: Endpoint,
  input: JsonObject,
  limits: CallLimits,
): RunningCall {
  return { ...limits, endpoint, input, since_ms: state.clock.now(), unknownOutcome: undefined };
}

async function perform(state: ClientState, call: RunningCall): Promise<unknown> {
  const { endpoint, input, options: { isProbe = false } = {} } = call;
  state.repeatsLeft = Math.min(mostRepeats, state.repeatsLeft + earnedPerCall);
  for (let tries = 1; ; tries += 1) {
    const outcome = await tryWithinLimit(state, call);
    const { kind } = outcome;
    if (kind === "answered") return outcome.body;
    if (kind === "accepted") return describeAccepted(state, call, outcome.found);
    if (isProbe) throw describeFailure(call, outcome);
    if (kind === "doubtful" && endpoint.effect !== "read") call.unknownOutcome = outcome;
    if ((kind === "doubtful" || kind === "unsent") && call.signal.aborted) {
      throw failCancelled(call);
    }
    const wait_ms = chooseWait(state, outcome, tries);
    const isHarmless = isUndone(outcome) || (kind === "doubtful" && isRepeatable(endpoint, input));
    const isLeft = kind === "limited" || state.repeatsLeft >= 1;
    if (!isHarmless || !isLeft || tries === mostTries || !hasTime(state, call, wait_ms)) {
      return settle(state, call, outcome);
    }
    if (kind !== "limited") state.repeatsLeft -= 1;
    await pause(state, call, wait_ms);
  }
}

function isUndone({ kind }: TryOutcome): boolean {
  return kind === "unsent" || kind === "limited";
}

/** A write with a 2xx status has succeeded, so it is never sent again. */
async function describeAccepted(
  state: ClientState,
  call: RunningCall,
  found: string,
): Promise<unknown> {
  const { endpoint, input, options } = call;
  if (options?.isProbe !== true) {
    const search = { ...describeSearch(state, call), isAccepted: true } as const;
    const finding = await findWritten(endpoint, search).catch(() => undefined);
    if (finding?.kind === "done") return finding.body;
  }
  const message = `The server made the change, but its response could not be read: ${found}`;
  return noteUnread(answersTarget(endpoint) ? { id: input["id"] } : {}, [{ message }]);
}

/** Determines the outcome of a failed call. Checks the server if a write may have happened. */
async function settle(
  state: ClientState,
  call: RunningCall,
  outcome: FailedOutcome,
): Promise<unknown> {
  if (call.unknownOutcome === undefined || isUndone(outcome)) throw describeFailure(call, outcome);
  const error = outcome.kind === "failed" ? outcome.error : undefined;
  const refusal = error instanceof Problem ? error : undefined;
  // An earlier attempt may have deleted the record.
  if (refusal?.status === 404 && call.endpoint.method === "DELETE") return null;
  const finding = await checkWrite(state, call);
  if (finding.kind === "done") return finding.body;
  // The earlier attempt left no trace, so the server rejected it too.
  const isRefused = refusal !== undefined && finding.kind === "undone";
  throw isRefused ? refusal : describeFailure(call, outcome, finding.checked);
}

/** Sends the request once the rate limit allows it. Throws if that would take too long. */
async function tryWithinLimit(state: ClientState, call: RunningCall): Promise<TryOutcome> {
  const { budget } = call.endpoint;
  const isFree = call.options?.isFree === true && state.isEmbedded;
  if (budget === undefined || isFree) return tryOnce(state, call);
  const place = state.ledger.queue(budget);
  let isSpent = false;
  try {
    for (;;) {
      const read = place.readWait_ms();
      // A call that need not wait continues synchronously.
      const wait_ms = typeof read === "number" ? read : await read;
      if (wait_ms <= 0) break;
      if (!hasTime(state, call, wait_ms)) throw failLimited(call, wait_ms);
      await pause(state, call, wait_ms);
    }
    isSpent = true;
    return await tryOnce(state, call);
  } finally {
    await place.leave(isSpent);
  }
}

async function tryOnce(state: ClientState, call: RunningCall): Promise<TryOutcome> {
  const { target, send, clock, isEmbedded, setTimer = setRealTimer } = state;
  const { endpoint, input, options, signal, deadline } = call;
  if (signal.aborted) throw failCancelled(call);
  const request = buildRequest(endpoint, input, target, options);
  const most_ms = Math.min(tryDeadline_ms, deadline - clock.monotonic());
  const remoteHost = isEmbedded ? undefined : new URL(target.origin).host;
  const noteDate = (date: string | undefined) => {
    const sent = Date.parse(date ?? "");
    if (!Number.isNaN(sent)) state.skew_ms = sent - clock.now();
  };
  const sending = { send, signal, most_ms, setTimer, noteDate, secret: target.key, remoteHost };
  return sendOnce({ endpoint, input, request, ...sending });
}

function setRealTimer(ring: () => void, milliseconds: number): () => void {
  const timer = setTimeout(ring, milliseconds);
  return () => clearTimeout(timer);
}

/** Reserves a request within the rate limit, like a call would, and releases it at once. */
async function requireBudget(state: ClientState, endpoint: Endpoint): Promise<void> {
  if (endpoint.budget === undefined) return;
  const deadline = state.clock.monotonic() + tryDeadline_ms;
  const options = { onlyBudget: true };
  const call = beginCall(state, endpoint, {}, { signal: nobodyLeaves, deadline, options });
  const place = state.ledger.queue(endpoint.budget);
  try {
    const wait_ms = await place.readWait_ms();
    if (wait_ms >= callDeadline_ms) throw failLimited(call, wait_ms);
  } finally {
    await place.leave(false);
  }
  // The embedded service also counts calls of other clients with the same key.
  const outcome = state.isEmbedded ? await tryOnce(state, call) : undefined;
  if (outcome?.kind === "limited") throw describeFailure(call, outcome);
}

/** Checks on the server whether a write with an unknown outcome happened. */
async function checkWrite(state: ClientState, call: RunningCall): Promise<WriteFinding> {
  const { endpoint, input, signal } = call;
  const search = describeSearch(state, call);
  let finding: WriteFinding = { kind: "unclear", checked: "nothing, because no time was left" };
  // A call that cannot be retried may still be running, so it is checked several times.
  const isPatient = !isRepeatable(endpoint, input);
  for (const wait_ms of isPatient ? checkAfter_ms : checkAfter_ms.slice(0, 1)) {
    if (!hasTime(state, call, wait_ms)) break;
    await pause(state, call, wait_ms);
    finding = await findWritten(endpoint, search).catch((error: unknown): WriteFinding => {
      if (signal.aborted) throw failCancelled(call);
      const reason = error instanceof Error ? error.message : "";
      return { kind: "unclear", checked: `nothing, because the check failed (${reason})` };
    });
    if (finding.kind !== "undone") break;
  }
  return finding;
}

function describeSearch(state: ClientState, call: RunningCall): WriteSearch {
  const { endpoint, input, signal, deadline } = call;
  return {
    ask: (other, fields) => makeCall(state, other, fields, { signal, deadline }),
    id: String(input["id"]),
    sent: pickFields(endpoint, input),
    since: new Date(call.since_ms).toISOString(),
    isSameTime: () => state.skew_ms !== undefined && Math.abs(state.skew_ms) <= toleratedSkew_ms,
  };
}

function hasTime({ clock }: ClientState, { deadline }: RunningCall, wait_ms: number): boolean {
  return clock.monotonic() + wait_ms < deadline;
}

/** Waits, but throws as soon as the caller disconnects. */
async function pause(state: ClientState, call: RunningCall, wait_ms: number): Promise<void> {
  await state.sleep(wait_ms, toSignal(call.signal)).catch(() => undefined);
  if (call.signal.aborted) throw failCancelled(call);
}

/** Exponential backoff with random jitter. */
function chooseWait({ random }: ClientState, outcome: TryOutcome, tries: number): number {
  const [byte = 0] = random.bytes(1);
  const jitter = 0.75 + byte / 512;
  if (outcome.kind === "limited") return limitedBackoff_ms * 2 ** (tries - 1) * jitter;
  const backoff_ms = firstBackoff_ms * 4 ** (tries - 1) * jitter;
  return Math.max(backoff_ms, outcome.kind === "doubtful" ? (outcome.wait_ms ?? 0) : 0);
}
