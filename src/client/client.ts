import type { Clock, Random } from "../contract/clock.ts";
import { pickFields, type Answer, type Endpoint, type Input } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { nobodyLeaves, toSignal, type Leaving } from "../contract/leaving.ts";
import { Problem } from "../contract/problem.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import { noteUnread } from "../contract/unread.ts";
import { CallFailure } from "./call-failure.ts";
import { findWritten, type Ask, type Finding, type Look } from "./find-written.ts";
import {
  describeFailure,
  failCancelled,
  failLimited,
  isRepeatable,
  type CallSoFar,
  type Outcome,
  type Unanswered,
} from "./outcome.ts";
import { createBudgetLedger, type BudgetLedger } from "./rate-limit.ts";
import { buildRequest, type RequestOptions, type Target } from "./request.ts";
import { sendOnce, type Send, type SetTimer } from "./send-once.ts";

/** How a call is made: one try after another, until its end is known or the time is up. */

export type Client = {
  readonly call: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    signal?: Leaving,
    options?: RequestOptions,
  ) => Promise<Answer<E>>;
  /** One try within the key's budgets, and how it ended. Nothing is repeated or looked for. */
  readonly tryOnce: (endpoint: Endpoint, attempt: Attempt) => Promise<Outcome>;
  /** Throws where a call now would fail because the key's budget is spent. */
  readonly requireBudget: (endpoint: Endpoint) => Promise<void>;
};

type Attempt = {
  readonly input: JsonObject;
  readonly signal?: Leaving;
};

export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

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

type State = ClientOptions & {
  /** Whether the service of this process answers: by the same clock, and without a network. */
  readonly isOwn: boolean;
  readonly ledger: BudgetLedger;
  repeatsLeft: number;
  /** How far the server's clock is ahead, once one of its replies has shown it. */
  skew_ms: number | undefined;
};

/** How long a call may take, together with the calls that look for what it has written. */
type Limits = {
  readonly signal: Leaving;
  /** When the whole call must be over, on the clock that never jumps. */
  readonly deadline: number;
  readonly options?: RequestOptions | undefined;
};

type Call = CallSoFar & Limits & { readonly since_ms: number };

/** security-reliability.md §2.2: a call's whole time, its tries, and the time of one try. */
const callDeadline_ms = 45_000;
const mostTries = 4;
const tryDeadline_ms = 15_000;
/** Of a call that is tried once, its wait for a place in the budget included. */
const onceDeadline_ms = 10_000;

const firstBackoff_ms = 200;
const limitedBackoff_ms = 2000;

/** §2.2: in the long run one repeat for ten calls, so that an outage is not made worse. */
const mostRepeats = 100;
const earnedPerCall = 0.1;

/** A call that may still be running over there gets this long before we look for its work. */
const lookAfter_ms = [500, 2000, 4000] as const;

/** A `Date` header counts whole seconds, and the reply was on its way. */
const toleratedSkew_ms = 2000;

export function createClient(options: ClientOptions): Client {
  const { clock, ledger = createBudgetLedger(clock), target } = options;
  const isOwn = target.checksConditions === true;
  const skew_ms = isOwn ? 0 : undefined;
  const state: State = { ...options, isOwn, ledger, repeatsLeft: mostRepeats, skew_ms };
  return {
    call: (endpoint, input, signal = nobodyLeaves, asked) => {
      const deadline = clock.monotonic() + callDeadline_ms;
      return makeCall(state, endpoint, input, { signal, deadline, options: asked });
    },
    tryOnce: (endpoint, { input, signal = nobodyLeaves }) => {
      const deadline = clock.monotonic() + onceDeadline_ms;
      const call = beginCall(state, endpoint, input, { signal, deadline });
      return tryInTurn(state, call).catch(readEnd);
    },
    requireBudget: (endpoint) => requireBudget(state, endpoint),
  };
}

async function makeCall<E extends Endpoint>(
  state: State,
  endpoint: E,
  input: Input<E>,
  limits: Limits,
): Promise<Answer<E>> {
  // `Input` is an object of named fields. What came was read by this entry's own schema, and
  // `Answer` names what can be had by that.
  const call = beginCall(state, endpoint, input as JsonObject, limits);
  return (await perform(state, call)) as Answer<E>;
}

function beginCall(state: State, endpoint: Endpoint, input: JsonObject, limits: Limits): Call {
  return { ...limits, endpoint, input, since_ms: state.clock.now(), doubt: undefined };
}

async function perform(state: State, call: Call): Promise<unknown> {
  const { endpoint, input } = call;
  const isSafe = isRepeatable(endpoint, input);
  state.repeatsLeft = Math.min(mostRepeats, state.repeatsLeft + earnedPerCall);
  for (let tries = 1; ; tries += 1) {
    const outcome = await tryInTurn(state, call);
    const { kind } = outcome;
    if (kind === "answered") return outcome.body;
    if (kind === "accepted") return describeAccepted(state, call, outcome.found);
    if (kind === "doubtful" && endpoint.effect !== "read") call.doubt = outcome;
    if ((kind === "doubtful" || kind === "unsent") && call.signal.aborted) {
      throw failCancelled(call);
    }
    const wait_ms = chooseWait(state, outcome, tries);
    const isHarmless = isUndone(outcome) || (kind === "doubtful" && isSafe);
    const isLeft = kind === "limited" || state.repeatsLeft >= 1;
    if (!isHarmless || !isLeft || tries === mostTries || !hasTime(state, call, wait_ms)) {
      return settle(state, call, outcome);
    }
    if (kind !== "limited") state.repeatsLeft -= 1;
    await pause(state, call, wait_ms);
  }
}

function isUndone({ kind }: Outcome): boolean {
  return kind === "unsent" || kind === "limited";
}

/** How a failed call ended. Only a write that may have been carried out is looked up. */
async function settle(state: State, call: Call, outcome: Unanswered): Promise<unknown> {
  if (call.doubt === undefined || isUndone(outcome)) throw describeFailure(call, outcome);
  const refusal = outcome.kind === "refused" ? outcome.problem : undefined;
  // An earlier try may have deleted what this one did not find.
  if (refusal?.status === 404 && call.endpoint.method === "DELETE") return null;
  const finding = await lookForWrite(state, call);
  if (finding.kind === "done") return finding.body;
  // The earlier try was the same call, and nothing is there of it: it was refused as well.
  const isRefused = refusal !== undefined && finding.kind === "undone";
  throw isRefused ? refusal : describeFailure(call, outcome, finding.checked);
}

/** Tries once, when the endpoint's budget has a place, or refuses when that takes too long. */
async function tryInTurn(state: State, call: Call): Promise<Outcome> {
  const { budget } = call.endpoint;
  const isFree = call.options?.isFree === true && state.isOwn;
  if (budget === undefined || isFree) return tryNow(state, call);
  const place = state.ledger.queue(budget);
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
    return await tryNow(state, call);
  } finally {
    await place.leave(isSpent);
  }
}

async function tryNow(state: State, call: Call): Promise<Outcome> {
  const { target, send, clock, isOwn, setTimer = setRealTimer } = state;
  const { endpoint, input, options, signal, deadline } = call;
  if (signal.aborted) throw failCancelled(call);
  const request = buildRequest(endpoint, input, target, options);
  const most_ms = Math.min(tryDeadline_ms, deadline - clock.monotonic());
  const remoteHost = isOwn ? undefined : new URL(target.origin).host;
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

/** What ended a try before it left. */
function readEnd(error: unknown): Outcome {
  if (error instanceof Problem) return { kind: "refused", problem: error };
  if (error instanceof CallFailure && error.code === "rate_limited") return { kind: "limited" };
  throw error;
}

/** Takes a place in the budget as a call would, and leaves it at once. */
async function requireBudget(state: State, endpoint: Endpoint): Promise<void> {
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
  // Our own service also counts what other clients have spent with the key.
  const outcome = state.isOwn ? await tryNow(state, call) : undefined;
  if (outcome?.kind === "limited") throw describeFailure(call, outcome);
}

/** A 2xx write is done, and is never sent again, whatever a look at the server finds. */
async function describeAccepted(state: State, call: Call, found: string): Promise<unknown> {
  const { endpoint, input } = call;
  const look = { ...describeLook(state, call), isAccepted: true } as const;
  const finding = await findWritten(endpoint, look).catch(() => undefined);
  if (finding?.kind === "done") return finding.body;
  const message = `The server made the change, but its response could not be read: ${found}`;
  return noteUnread(answersTarget(endpoint) ? { id: input["id"] } : {}, [{ message }]);
}

function describeLook(state: State, call: Call): Look {
  const { endpoint, input, signal, deadline, since_ms } = call;
  const since = new Date(since_ms).toISOString();
  const ask: Ask = (other, fields) => makeCall(state, other, fields, { signal, deadline });
  const sent = pickFields(endpoint, input);
  return { ask, id: String(input["id"]), sent, since, isSameTime: () => isSameTime(state) };
}

function isSameTime({ skew_ms }: State): boolean {
  return skew_ms !== undefined && Math.abs(skew_ms) <= toleratedSkew_ms;
}

/** Looks for what a call has written whose end is in doubt. */
async function lookForWrite(state: State, call: Call): Promise<Finding> {
  let finding: Finding = { kind: "unclear", checked: "nothing, because no time was left" };
  // Where nothing is sent again, what is not there yet may still come.
  const isPatient = !isRepeatable(call.endpoint, call.input);
  for (const wait_ms of isPatient ? lookAfter_ms : lookAfter_ms.slice(0, 1)) {
    if (!hasTime(state, call, wait_ms)) break;
    await pause(state, call, wait_ms);
    const looking = findWritten(call.endpoint, describeLook(state, call));
    finding = await looking.catch((error: unknown): Finding => {
      if (call.signal.aborted) throw failCancelled(call);
      const reason = error instanceof Error ? error.message : "";
      return { kind: "unclear", checked: `nothing, because the check failed (${reason})` };
    });
    if (finding.kind !== "undone") break;
  }
  return finding;
}

function hasTime({ clock }: State, { deadline }: Call, wait_ms: number): boolean {
  return clock.monotonic() + wait_ms < deadline;
}

/** Waits, and ends the call at once where its caller leaves meanwhile. */
async function pause(state: State, call: Call, wait_ms: number): Promise<void> {
  await state.sleep(wait_ms, toSignal(call.signal)).catch(() => undefined);
  if (call.signal.aborted) throw failCancelled(call);
}

/** Each wait is longer than the one before, and differs from those of other clients. */
function chooseWait({ random }: State, outcome: Outcome, tries: number): number {
  const [byte = 0] = random.bytes(1);
  const jitter = 0.75 + byte / 512;
  if (outcome.kind === "limited") return limitedBackoff_ms * 2 ** (tries - 1) * jitter;
  const backoff_ms = firstBackoff_ms * 4 ** (tries - 1) * jitter;
  return Math.max(backoff_ms, outcome.kind === "doubtful" ? (outcome.wait_ms ?? 0) : 0);
}
