import type { Clock, Random } from "../contract/clock.ts";
import { pickFields, type Answer, type Endpoint, type Input } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { nobodyLeaves, toSignal, type Leaving } from "../contract/leaving.ts";
import { Problem } from "../contract/problem.ts";
import { CallFailure } from "./call-failure.ts";
import { createClockSkew, type ClockSkew } from "./clock-skew.ts";
import { describeFailure, failCancelled, failLimited, type CallSoFar } from "./explain-end.ts";
import { writeFinders, type Ask, type Finding, type Look } from "./find-written.ts";
import { describeAccepted } from "./accepted.ts";
import { chooseNextStep } from "./next-step.ts";
import {
  createBudgetLedger,
  createRateLimiter,
  type BudgetLedger,
  type RateLimiter,
} from "./rate-limit.ts";
import { buildRequest, type RequestOptions, type Target } from "./request.ts";
import { createRetryAllowance, earnRepeat, type RetryAllowance } from "./retry-allowance.ts";
import { readRetryPolicy } from "./retry-policy.ts";
import { sendOnce, type Outcome, type Send } from "./send-once.ts";
import { createTryDeadline } from "./try-deadline.ts";

/** How a call is made: one try after another, until its end is known or the time is up. */

export type Client = {
  readonly call: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    signal?: Leaving,
    options?: RequestOptions,
  ) => Promise<Answer<E>>;
  /**
   * One try within the key's budgets, and how it ended. Nothing is repeated or looked for
   * afterwards, whatever becomes of it: for questions whose answer is all that matters.
   */
  readonly tryOnce: (endpoint: Endpoint, asked: AskedOnce) => Promise<Outcome>;
  /** Whether the server's clock is known to agree with ours. */
  readonly isSameTime: () => boolean;
  /** Throws where a call now would fail because the key's budget is spent. */
  readonly requireBudget: (endpoint: Endpoint) => Promise<void>;
};

type AskedOnce = {
  readonly input: JsonObject;
  readonly signal?: Leaving;
};

export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** Calls `ring` once, after that time; the function that comes back stops the timer. */
export type SetTimer = (ring: () => void, milliseconds: number) => () => void;

export type ClientOptions = {
  readonly target: Target;
  readonly send: Send;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  /** Counts the key's budgets together with other processes; left out, this client counts alone. */
  readonly ledger?: BudgetLedger | undefined;
  /** Ends a try after its time: a real timer, unless a test gives its own. */
  readonly setTimer?: SetTimer;
};

type ClientState = ClientOptions & {
  readonly rateLimiter: RateLimiter;
  readonly allowance: RetryAllowance;
  readonly skew: ClockSkew;
};

/** How long a call may take, together with the calls that look for what it has written. */
type Limits = {
  readonly signal: Leaving;
  /** When the whole call must be over, on the clock that never jumps. */
  readonly deadline: number;
};

type Call = CallSoFar &
  Limits & {
    readonly since_ms: number;
    readonly options?: RequestOptions | undefined;
  };

/** security-reliability.md §2.2: a call's whole time, its tries, and the time of one try. */
const callDeadline_ms = 45_000;
const mostTries = 4;
const tryDeadline_ms = 15_000;
/** Of a call that is tried once, its wait for a place in the budget included. */
const onceDeadline_ms = 10_000;

const firstBackoff_ms = 200;
const limitedBackoff_ms = 2000;

/** A call that may still be running over there gets this long before we look for its work. */
const lookAfter_ms = [500, 2000, 4000] as const;

export function createClient(options: ClientOptions): Client {
  const { clock, ledger = createBudgetLedger(clock) } = options;
  const state: ClientState = {
    ...options,
    rateLimiter: createRateLimiter(clock, ledger),
    allowance: createRetryAllowance(),
    skew: createClockSkew(clock, options.target.checksConditions === true),
  };
  return {
    call: (endpoint, input, signal = nobodyLeaves, options) => {
      const deadline = clock.monotonic() + callDeadline_ms;
      return makeCall(state, { signal, deadline }, endpoint, input, options);
    },
    tryOnce: (endpoint, { input, signal = nobodyLeaves }) => {
      const deadline = clock.monotonic() + onceDeadline_ms;
      const since_ms = clock.now();
      const limits = { signal, deadline, since_ms, doubt: undefined };
      return tryInTurn(state, { ...limits, endpoint, input }).catch(readEnd);
    },
    isSameTime: state.skew.isNone,
    requireBudget: (endpoint) => requireBudget(state, endpoint),
  };
}

/** Takes a place in the budget as a call would, and leaves it at once. */
async function requireBudget(state: ClientState, endpoint: Endpoint): Promise<void> {
  if (endpoint.budget === undefined) return;
  const { rateLimiter, clock, target } = state;
  const call = { endpoint, input: {}, doubt: undefined };
  const place = rateLimiter.queue(endpoint.budget);
  try {
    const wait_ms = await place.readWait_ms();
    if (wait_ms >= callDeadline_ms) throw failLimited(call, wait_ms);
  } finally {
    await place.leave(false);
  }
  // Our own service also counts what other clients have spent with the key.
  if (target.checksConditions !== true) return;
  const times = { since_ms: clock.now(), deadline: clock.monotonic() + tryDeadline_ms };
  const options = { onlyBudget: true };
  const outcome = await tryOnce(state, { ...call, ...times, options, signal: nobodyLeaves });
  if (outcome.kind === "limited") throw describeFailure(call, outcome);
}

/** What ended a try before it left. */
function readEnd(error: unknown): Outcome {
  if (error instanceof Problem) return { kind: "refused", problem: error };
  if (error instanceof CallFailure && error.code === "rate_limited") return { kind: "limited" };
  throw error;
}

async function makeCall<E extends Endpoint>(
  state: ClientState,
  { signal, deadline }: Limits,
  endpoint: E,
  given: Input<E>,
  options?: RequestOptions,
): Promise<Answer<E>> {
  const since_ms = state.clock.now();
  // `Input` is an object of named fields, and its entry tells where each of them travels.
  const input = given as JsonObject;
  const call = { signal, deadline, endpoint, input, options, since_ms, doubt: undefined };
  // What came was read by this entry's own schema, and `Answer` names what can be had by that.
  return (await perform(state, call)) as Answer<E>;
}

async function perform(state: ClientState, call: Call): Promise<unknown> {
  const { allowance } = state;
  earnRepeat(allowance);
  for (let tries = 1; ; tries += 1) {
    const outcome = await tryInTurn(state, call);
    if (outcome.kind === "answered") return outcome.body;
    if (outcome.kind === "accepted") {
      return describeAccepted(call, outcome, await lookOnce(state, call));
    }
    if (outcome.kind === "doubtful") call.doubt = outcome;
    const isGivenUp = outcome.kind === "doubtful" || outcome.kind === "unsent";
    if (isGivenUp && call.signal.aborted) throw failCancelled(call);
    const wait_ms = chooseWait(state, outcome, tries);
    const mayRepeat = () =>
      tries < mostTries &&
      hasTime(state, call, wait_ms) &&
      (outcome.kind === "limited" || allowance.repeatsLeft >= 1);
    let next = chooseNextStep(call, outcome, mayRepeat());
    while (next.kind === "look") {
      const finding = await lookForWrite(state, call);
      next = chooseNextStep(call, outcome, mayRepeat(), finding);
    }
    if (next.kind === "done") return next.body;
    if (next.kind === "over") throw next.failure;
    if (outcome.kind !== "limited") allowance.repeatsLeft -= 1;
    await pause(state, call, wait_ms);
  }
}

/** Tries once, when the endpoint's budget has a place, or refuses when that takes too long. */
async function tryInTurn(state: ClientState, call: Call): Promise<Outcome> {
  const { budget } = call.endpoint;
  const isFree = call.options?.isFree === true && state.target.checksConditions === true;
  if (budget === undefined || isFree) return tryOnce(state, call);
  const place = state.rateLimiter.queue(budget);
  let isSpent = false;
  try {
    for (;;) {
      const read = place.readWait_ms();
      // A call that need not wait leaves in the same turn of the event loop.
      const wait_ms = typeof read === "number" ? read : await read;
      if (wait_ms <= 0) break;
      if (!hasTime(state, call, wait_ms)) throw failLimited(call, wait_ms);
      await pause(state, call, wait_ms);
    }
    isSpent = true;
    const outcome = await tryOnce(state, call);
    if (outcome.kind === "limited") state.rateLimiter.yieldHalf(budget);
    return outcome;
  } finally {
    await place.leave(isSpent);
  }
}

async function tryOnce(state: ClientState, call: Call): Promise<Outcome> {
  const { target, send, clock, skew, setTimer = setRealTimer } = state;
  const { endpoint, input, options, signal, deadline } = call;
  if (signal.aborted) throw failCancelled(call);
  const request = buildRequest(endpoint, input, target, options);
  const tryDeadline = createTryDeadline();
  signal.addEventListener("abort", tryDeadline.end, { once: true });
  const most_ms = Math.min(tryDeadline_ms, deadline - clock.monotonic());
  const stopTimer = setTimer(tryDeadline.end, most_ms);
  try {
    const { key: secret, origin } = target;
    const remoteHost = target.checksConditions === true ? undefined : new URL(origin).host;
    const asked = { endpoint, input, request, send, tryDeadline, skew, secret, remoteHost };
    return await sendOnce(asked);
  } finally {
    stopTimer();
    signal.removeEventListener("abort", tryDeadline.end);
  }
}

function setRealTimer(ring: () => void, milliseconds: number): () => void {
  const timer = setTimeout(ring, milliseconds);
  return () => clearTimeout(timer);
}

function hasTime({ clock }: ClientState, { deadline }: Call, wait_ms: number): boolean {
  return clock.monotonic() + wait_ms < deadline;
}

/** Where a caller has left, or nothing can be learned, nothing is found. */
async function lookOnce(state: ClientState, call: Call): Promise<Finding | undefined> {
  const look = { ...describeLook(state, call), isAccepted: true } as const;
  const looking = writeFinders[call.endpoint.tool]?.(look);
  return looking?.catch(() => undefined);
}

function describeLook(state: ClientState, call: Call): Look {
  const { endpoint, input, signal, deadline } = call;
  const since = new Date(call.since_ms).toISOString();
  const ask: Ask = (other, fields) => makeCall(state, { signal, deadline }, other, fields);
  const sent = pickFields(endpoint, input);
  return { ask, id: String(input["id"]), sent, since, isSameTime: state.skew.isNone };
}

/** Looks for what a call has written whose end is in doubt. */
async function lookForWrite(state: ClientState, call: Call): Promise<Finding> {
  const { endpoint, input, signal } = call;
  let finding: Finding = { kind: "unclear", checked: "nothing, because it cannot be looked up" };
  const findWritten = writeFinders[endpoint.tool];
  if (findWritten === undefined) return finding;
  // Where nothing is sent again, what is not there yet may still come.
  const isPatient = readRetryPolicy(endpoint, input) === "never";
  for (const wait_ms of isPatient ? lookAfter_ms : lookAfter_ms.slice(0, 1)) {
    if (!hasTime(state, call, wait_ms)) break;
    await pause(state, call, wait_ms);
    finding = await findWritten(describeLook(state, call)).catch((error: unknown): Finding => {
      if (signal.aborted) throw failCancelled(call);
      const reason = error instanceof Error ? error.message : "";
      return { kind: "unclear", checked: `nothing, because the check failed (${reason})` };
    });
    if (finding.kind !== "undone") break;
  }
  return finding;
}

/** Waits, and ends the call at once where its caller leaves meanwhile. */
async function pause(state: ClientState, call: Call, wait_ms: number): Promise<void> {
  await state.sleep(wait_ms, toSignal(call.signal)).catch(() => undefined);
  if (call.signal.aborted) throw failCancelled(call);
}

/** Each wait is longer than the one before, and differs from those of other clients. */
function chooseWait({ random }: ClientState, outcome: Outcome, tries: number): number {
  const [byte = 0] = random.bytes(1);
  const jitter = 0.75 + byte / 512;
  if (outcome.kind === "limited") return limitedBackoff_ms * 2 ** (tries - 1) * jitter;
  const backoff_ms = firstBackoff_ms * 4 ** (tries - 1) * jitter;
  return Math.max(backoff_ms, outcome.kind === "doubtful" ? (outcome.wait_ms ?? 0) : 0);
}
