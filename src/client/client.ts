import type { Clock, Random, SetAlarm } from "../contract/clock.ts";
import {
  pickFields,
  type CallAnswer,
  type Endpoint,
  type Input,
  noteUnread,
} from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { neverAborted, toSignal, type CallerSignal } from "../contract/waiting.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import { findWritten, type WriteFinding, type WriteSearch } from "./find-written.ts";
import { createBudgetLedger, type BudgetLedger } from "./rate-limit.ts";
import {
  describeFailure,
  failCancelled,
  readProblem,
  type AttemptedCall,
  type FailedOutcome,
  type TryOutcome,
} from "./outcome.ts";
import { isRepeatable } from "./retry.ts";
import { buildRequest, type RequestOptions, type RequestTarget } from "./request.ts";
import { sendOnce, type Send } from "./send-once.ts";

/** Makes API calls, and retries until the outcome is known or the time limit is reached. */

export type Client = {
  readonly call: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    signal?: CallerSignal,
    options?: CallOptions,
  ) => Promise<CallAnswer<E>>;
  /** Throws if the key's rate limit does not allow a call to this endpoint now. */
  readonly requireBudget: (endpoint: Endpoint) => Promise<void>;
};

/** Makes calls for a caller, and stops them when the caller disconnects. */
export type ServerAccess = {
  readonly call: Client["call"];
  readonly signal: CallerSignal;
};

type CallOptions = RequestOptions & {
  /** Makes a single attempt with a short timeout. If it fails, its effect is not checked. */
  readonly isProbe?: boolean;
};

export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export type ClientOptions = {
  readonly target: RequestTarget;
  readonly send: Send;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  /** Limits the time of each attempt. */
  readonly setAlarm: SetAlarm;
  /** Cancels calls that were started without their own signal. */
  readonly life?: CallerSignal;
  /** Counts calls for rate limits. By default, it does not count the calls of other processes. */
  readonly ledger?: BudgetLedger | undefined;
};

type ClientState = ClientOptions & {
  readonly ledger: BudgetLedger;
  /** How far the server's clock is ahead of ours. Undefined until the first response. */
  skew_ms: number | undefined;
};

type GivenCall = Omit<AttemptedCall, "unknownOutcome"> & {
  readonly signal: CallerSignal;
  /** The monotonic time at which the call must end, including all checks of a write. */
  readonly deadline: number;
  readonly options?: CallOptions;
};

type RunningCall = GivenCall & AttemptedCall & { readonly since_ms: number };

/** The timeouts of a whole call, of a probe, and of a single attempt. */
const callDeadline_ms = 45_000;
const probeDeadline_ms = 10_000;
const tryDeadline_ms = 15_000;
const mostTries = 4;

/** How long to wait before each check of a write. The server may still be processing the write. */
const checkAfter_ms = [500, 2000, 4000] as const;

/** `Date` headers are in whole seconds, and responses take time to arrive. */
const toleratedSkew_ms = 2000;

export function createClient(options: ClientOptions): Client {
  const { target, clock, life = neverAborted, ledger = createBudgetLedger(clock) } = options;
  // The embedded service uses this process's clock.
  const skew_ms = target.isEmbedded === true ? 0 : undefined;
  const state: ClientState = { ...options, ledger, skew_ms };
  return {
    call: (endpoint, input, signal = life, given = {}) => {
      const most_ms = given.isProbe === true ? probeDeadline_ms : callDeadline_ms;
      const deadline = clock.monotonic() + most_ms;
      const call = { endpoint, input: input as JsonObject, signal, deadline, options: given };
      return perform(state, call) as Promise<CallAnswer<typeof endpoint>>;
    },
    requireBudget: (endpoint) => requireBudget(state, endpoint),
  };
}

async function perform(state: ClientState, given: GivenCall): Promise<unknown> {
  const call: RunningCall = { ...given, since_ms: state.clock.now(), unknownOutcome: undefined };
  const { endpoint, input, options, signal } = call;
  for (let tries = 1; ; tries += 1) {
    const outcome = await tryWithinLimit(state, call);
    const { kind } = outcome;
    if (kind === "answered") return outcome.body;
    if (kind === "accepted") return describeAccepted(state, call, outcome.found);
    if (options?.isProbe === true) throw describeFailure(call, outcome);
    if (kind === "doubtful" && endpoint.effect !== "read") call.unknownOutcome = outcome;
    if (signal.aborted && kind !== "failed") throw failCancelled(call);
    const wait_ms = chooseWait(state, outcome, tries);
    const isUndone = kind === "unsent" || kind === "limited";
    const mayRepeat = isUndone || (kind === "doubtful" && isRepeatable(endpoint, input));
    if (!mayRepeat || tries === mostTries || !hasTime(state, call, wait_ms)) {
      return settle(state, call, outcome);
    }
    await pause(state, call, wait_ms);
  }
}

/**
 * Describes a write whose response has a 2xx status but cannot be parsed. The write has succeeded,
 * so it is never sent again.
 */
async function describeAccepted(
  state: ClientState,
  call: RunningCall,
  found: string,
): Promise<unknown> {
  const { endpoint, input } = call;
  const search = { ...describeSearch(state, call), readSince: undefined };
  const finding = await findWritten(endpoint, search).catch(() => undefined);
  if (finding?.kind === "done") return finding.body;
  const message = `The server made the change, but its response could not be read: ${found}`;
  return noteUnread(answersTarget(endpoint) ? { id: input["id"] } : {}, [{ message }]);
}

/** Determines the result of a failed call. Looks up a write that may have taken effect. */
async function settle(
  state: ClientState,
  call: RunningCall,
  outcome: FailedOutcome,
): Promise<unknown> {
  if (call.unknownOutcome === undefined) throw describeFailure(call, outcome);
  const refusal = readProblem(outcome);
  // An earlier attempt may have deleted the record.
  if (refusal?.status === 404 && call.endpoint.method === "DELETE") return null;
  const finding = await checkWrite(state, call);
  if (finding.kind === "done") return finding.body;
  // If no attempt took effect, the server's rejection is the result of the call.
  const isRefused = refusal !== undefined && finding.kind === "undone";
  throw isRefused ? refusal : describeFailure(call, outcome, finding.checked);
}

/** Sends the request once the rate limit allows it. Throws if the wait would be too long. */
async function tryWithinLimit(state: ClientState, call: RunningCall): Promise<TryOutcome> {
  const { budget } = call.endpoint;
  const isFree = call.options?.isFree === true && state.target.isEmbedded === true;
  if (budget === undefined || isFree) return tryOnce(state, call);
  const place = state.ledger.queue(budget);
  let isSpent = false;
  try {
    for (;;) {
      const wait_ms = await place.readWait_ms();
      if (wait_ms <= 0) break;
      if (!hasTime(state, call, wait_ms)) throw describeFailure(call, { kind: "limited", wait_ms });
      await pause(state, call, wait_ms);
    }
    isSpent = true;
    return await tryOnce(state, call);
  } finally {
    await place.leave(isSpent);
  }
}

async function tryOnce(state: ClientState, call: RunningCall): Promise<TryOutcome> {
  const { target, send, clock, setAlarm } = state;
  const { endpoint, input, options, signal, deadline } = call;
  if (signal.aborted) throw failCancelled(call);
  return sendOnce({
    endpoint,
    input,
    request: buildRequest(endpoint, input, target, options),
    send,
    noteTime: (time) => (state.skew_ms = time - clock.now()),
    signal,
    most_ms: Math.min(tryDeadline_ms, deadline - clock.monotonic()),
    setAlarm,
    secret: target.key,
    remoteHost: target.isEmbedded === true ? undefined : new URL(target.origin).host,
  });
}

/** Throws if a call would have to wait too long for the rate limit. */
async function requireBudget(state: ClientState, endpoint: Endpoint): Promise<void> {
  if (endpoint.budget === undefined) return;
  const deadline = state.clock.monotonic() + tryDeadline_ms;
  const asked = { endpoint, input: {}, signal: neverAborted, options: { onlyBudget: true } };
  const call = { ...asked, deadline, since_ms: 0, unknownOutcome: undefined };
  const place = state.ledger.queue(endpoint.budget);
  const wait_ms = await place.readWait_ms();
  await place.leave(false);
  if (wait_ms >= callDeadline_ms) throw describeFailure(call, { kind: "limited", wait_ms });
  if (state.target.isEmbedded !== true) return;
  // The embedded service also counts other clients' calls, so ask it too.
  const outcome = await tryOnce(state, call);
  if (outcome.kind === "limited") throw describeFailure(call, outcome);
}

/** Checks on the server whether a write with an unknown outcome took effect. */
async function checkWrite(state: ClientState, call: RunningCall): Promise<WriteFinding> {
  const { endpoint, input, signal } = call;
  const search = describeSearch(state, call);
  let finding: WriteFinding = { kind: "unclear", checked: "nothing, because no time was left" };
  // A write that must not be retried may still be running, so the server is checked several times.
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
    ask: (other, fields) => perform(state, { endpoint: other, input: fields, signal, deadline }),
    id: String(input["id"]),
    sent: pickFields(endpoint, input),
    readSince: () => {
      const { skew_ms = Infinity } = state;
      const isSameTime = Math.abs(skew_ms) <= toleratedSkew_ms;
      return isSameTime ? new Date(call.since_ms).toISOString() : undefined;
    },
  };
}

function hasTime({ clock }: ClientState, { deadline }: RunningCall, wait_ms: number): boolean {
  return clock.monotonic() + wait_ms < deadline;
}

/** Waits. Throws as soon as the caller disconnects. */
async function pause(state: ClientState, call: RunningCall, wait_ms: number): Promise<void> {
  await state.sleep(wait_ms, toSignal(call.signal)).catch(() => undefined);
  if (call.signal.aborted) throw failCancelled(call);
}

/** Returns the delay before a retry: exponential backoff with random jitter. */
function chooseWait({ random }: ClientState, outcome: TryOutcome, tries: number): number {
  const [byte = 0] = random.bytes(1);
  const [first_ms, factor] = outcome.kind === "limited" ? [2000, 2] : [200, 4];
  const backoff_ms = first_ms * factor ** (tries - 1) * (0.75 + byte / 512);
  return Math.max(backoff_ms, outcome.kind === "doubtful" ? (outcome.wait_ms ?? 0) : 0);
}
