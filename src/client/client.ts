import type { Clock, Random } from "../contract/clock.ts";
import type { Endpoint, Input, Output } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { createClockSkew, type ClockSkew } from "./clock-skew.ts";
import { failCancelled, failLimited, type End } from "./explain-end.ts";
import type { Ask } from "./find-written.ts";
import { chooseNextStep } from "./next-step.ts";
import {
  createBudgetLedger,
  createRateLimiter,
  type BudgetLedger,
  type RateLimiter,
} from "./rate-limit.ts";
import { buildRequest, type Target } from "./request.ts";
import { createRetryAllowance, type RetryAllowance } from "./retry-allowance.ts";
import { sendOnce, type Doubt, type Outcome, type Send } from "./send-once.ts";
import { createTryDeadline } from "./try-deadline.ts";

/** HOW a call travels: one try after another, until its end is known or the time is up. */

export type Client = {
  readonly call: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    signal?: AbortSignal,
  ) => Promise<Output<E>>;
};

export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** Rings once, after that time; what comes back stops it. */
export type SetTimer = (ring: () => void, milliseconds: number) => () => void;

export type ClientOptions = {
  readonly target: Target;
  readonly send: Send;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  /** Who shares the key's budgets; left out, nobody does. */
  readonly ledger?: BudgetLedger | undefined;
  /** How the time of one try is taken: a real timer, unless a test rings itself. */
  readonly setTimer?: SetTimer;
};

type ClientState = ClientOptions & {
  readonly rateLimiter: RateLimiter;
  readonly allowance: RetryAllowance;
  readonly skew: ClockSkew;
};

type Call = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
  /** When the whole call must be over, on the clock that never jumps. */
  readonly deadline: number;
};

/** security-reliability.md §2.2: a call's whole time, its tries, and the time of one try. */
const callDeadline_ms = 45_000;
const mostTries = 4;
const tryDeadline_ms = 15_000;

const firstBackoff_ms = 200;
const limitedBackoff_ms = 2000;

export function createClient(options: ClientOptions): Client {
  const { clock, ledger = createBudgetLedger(clock) } = options;
  const state = {
    ...options,
    rateLimiter: createRateLimiter(clock, ledger),
    allowance: createRetryAllowance(),
    skew: createClockSkew(clock),
  };
  return {
    call: (endpoint, input, signal = new AbortController().signal) =>
      askWithin(state, signal, clock.monotonic() + callDeadline_ms)(endpoint, input),
  };
}

function askWithin(state: ClientState, signal: AbortSignal, deadline: number): Ask {
  return async (endpoint, input) => {
    // `Input` is an object of named fields, and its entry tells where each of them travels.
    const body = await perform(state, { endpoint, input: input as JsonObject, signal, deadline });
    // What came was parsed by this entry's own schema, whose output `Output` names.
    return body as Output<typeof endpoint>;
  };
}

async function perform(state: ClientState, call: Call): Promise<unknown> {
  const { clock, allowance } = state;
  const since_ms = clock.now();
  let doubt: Doubt | undefined;
  allowance.earn();
  for (let tries = 1; ; tries += 1) {
    const outcome = await tryInTurn(state, call, doubt);
    if (outcome.kind === "answered") return outcome.body;
    if (outcome.kind === "doubtful") doubt = outcome;
    const end = { ...call, doubt };
    const isGivenUp = outcome.kind === "doubtful" || outcome.kind === "unsent";
    if (isGivenUp && call.signal.aborted) throw failCancelled(end);
    const wait_ms = chooseWait(state, outcome, tries);
    const next = await chooseNextStep(
      {
        ...end,
        since: new Date(since_ms).toISOString(),
        isSameTime: state.skew.isNone,
        mayRepeat: () =>
          tries < mostTries &&
          hasTime(state, call, wait_ms) &&
          (outcome.kind === "limited" || allowance.spend()),
        ask: askWithin(state, call.signal, call.deadline),
        pause: async (look_ms) => hasTime(state, call, look_ms) && pause(state, call, end, look_ms),
      },
      outcome,
    );
    if (next.kind === "done") return next.body;
    if (next.kind === "over") throw next.failure;
    await pause(state, call, end, wait_ms);
  }
}

/** Tries once, when the endpoint's budget has a place, or refuses when that takes too long. */
async function tryInTurn(
  state: ClientState,
  call: Call,
  doubt: Doubt | undefined,
): Promise<Outcome> {
  const { budget } = call.endpoint;
  const end = { ...call, doubt };
  if (budget === undefined) return tryOnce(state, call, end);
  const place = state.rateLimiter.queue(budget);
  let isSpent = false;
  try {
    for (;;) {
      const looked = place.readWait_ms();
      // What need not wait leaves in the same turn.
      const wait_ms = typeof looked === "number" ? looked : await looked;
      if (wait_ms <= 0) break;
      if (!hasTime(state, call, wait_ms)) throw failLimited(end, wait_ms);
      await pause(state, call, end, wait_ms);
    }
    isSpent = true;
    const outcome = await tryOnce(state, call, end);
    if (outcome.kind === "limited") state.rateLimiter.yieldHalf(budget);
    return outcome;
  } finally {
    await place.leave(isSpent);
  }
}

async function tryOnce(state: ClientState, call: Call, end: End): Promise<Outcome> {
  const { target, send, clock, skew, setTimer = setRealTimer } = state;
  const { endpoint, input, signal, deadline } = call;
  if (signal.aborted) throw failCancelled(end);
  const request = buildRequest(endpoint, input, target);
  const tryDeadline = createTryDeadline();
  signal.addEventListener("abort", tryDeadline.end, { once: true });
  const stopTimer = setTimer(
    tryDeadline.end,
    Math.min(tryDeadline_ms, deadline - clock.monotonic()),
  );
  try {
    return await sendOnce({ endpoint, request, send, tryDeadline, skew, secret: target.key });
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

/** Waits, and ends the call at once where its caller leaves meanwhile. */
async function pause(
  state: ClientState,
  { signal }: Call,
  end: End,
  wait_ms: number,
): Promise<true> {
  await state.sleep(wait_ms, signal).catch(() => undefined);
  if (signal.aborted) throw failCancelled(end);
  return true;
}

/** Each wait is longer than the one before, and none is quite like another client's. */
function chooseWait({ random }: ClientState, outcome: Outcome, tries: number): number {
  const [byte = 0] = random.bytes(1);
  const jitter = 0.75 + byte / 512;
  if (outcome.kind === "limited") return limitedBackoff_ms * 2 ** (tries - 1) * jitter;
  const backoff_ms = firstBackoff_ms * 4 ** (tries - 1) * jitter;
  return Math.max(backoff_ms, outcome.kind === "doubtful" ? (outcome.wait_ms ?? 0) : 0);
}
