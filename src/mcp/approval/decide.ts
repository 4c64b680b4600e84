import { readPlanPage, type PlanPart } from "./plan-rows.ts";
import { readStored } from "./question.ts";
import { writeSpan } from "./write-asking.ts";
import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";

/** Reads pending approvals and records decisions, for the approval page and the console. */

/**
 * A question with its plan's rows and the remaining PIN attempts. If it cannot be approved now,
 * `blocked` is the reason.
 */
export type OpenQuestion = Awaited<ReturnType<typeof readOpen>>;

export async function readOpen(
  approval: Approval,
  part: PlanPart,
  {
    state,
    now,
    next = askAgain,
  }: { readonly state: State; now: number; next?: string | undefined },
) {
  const question = readStored(approval);
  const { rows } = question;
  const plan = rows && (await readPlanPage(state, rows, part));
  const tries = await readTries(approval, state);
  const isGone = rows !== undefined && plan === undefined;
  const blocked = isGone ? `The plan no longer exists. ${next}` : describeBlock(tries, now, next);
  return { question, plan, tries, blocked };
}

export type Decision = "approved" | "declined";

/** Callbacks for a decision and for a rejected attempt to decide. */
export type DecisionListeners = {
  readonly onDecided: (id: string, decision: Decision, address: string | undefined) => void;
  /** `reason` contains no secrets. */
  readonly onRefused: (reason: string, address: string | undefined) => void;
};

type AnswerOptions = PinOptions &
  DecisionListeners & {
    /** The user's IP address, if known. */
    readonly address: string | undefined;
  };

type TypedProof = { readonly pin: string; readonly count: string };

/** Approves or declines. Returns whether this call made the decision, or why it was rejected. */
export async function decide(
  approval: Approval,
  decision: Decision,
  typed: TypedProof,
  options: AnswerOptions,
): Promise<{ readonly isFirst: boolean; readonly fault: string | undefined }> {
  const { openState, address, onDecided, onRefused } = options;
  const isOpen = approval.status === "waiting";
  // Only approving requires the PIN and the row count.
  const isYes = isOpen && decision === "approved";
  const fault = isYes ? await findApprovalFault(approval, typed, options) : undefined;
  const { approvals } = await openState();
  const isFirst =
    isOpen && fault === undefined && (await approvals.decidePage(approval.id, decision));
  if (isFirst) onDecided(approval.id, decision, address);
  else onRefused(fault ?? alreadyAnswered, address);
  return { isFirst, fault };
}

export const alreadyAnswered = "This was already answered.";

async function findApprovalFault(
  approval: Approval,
  { pin, count: typed }: TypedProof,
  options: PinOptions,
): Promise<string | undefined> {
  const { count, rows } = readStored(approval);
  if (rows !== undefined) {
    const { plans } = await options.openState();
    if ((await plans.find(rows.plan_id)) === undefined) return "The plan no longer exists.";
  }
  if (count !== undefined && typed.trim() !== String(count)) {
    return `To approve, type the number of links: ${count}.`;
  }
  return findPinFault(approval, pin, options);
}

const askAgain = "You can only decline this, and then ask your assistant again.";

export type PinOptions = {
  readonly openState: () => Promise<State>;
  readonly checkPin: (pin: string, hash: string) => Promise<boolean>;
};

/** Returns why this PIN is rejected, or undefined if it is correct or none is needed. */
async function findPinFault(
  { id, key_print, pin: hash }: Approval,
  pin: string,
  { openState, checkPin }: PinOptions,
): Promise<string | undefined> {
  if (hash === null) return undefined;
  if (pin.trim() === "") return "Type the PIN to approve.";
  const { counters } = await openState();
  // The attempt is counted before the check, so parallel requests get no extra attempts.
  const taken = await counters.take({ pin_of_approval: id, pin_of_key: key_print });
  if (taken === undefined) return "This PIN was not checked.";
  if (!(await checkPin(pin, hash))) return "The PIN is wrong.";
  // A correct PIN does not reset the number of wrong attempts. Otherwise, each approval by the user
  // would give an assistant more guesses.
  await taken.giveBack();
  return undefined;
}

type TriesLeft = {
  readonly left: number;
  /** When the user can enter a PIN for this key again; undefined if attempts are left. */
  readonly blocked_until: number | undefined;
};

/** Returns the remaining PIN attempts of an approval, or undefined if it needs no PIN. */
async function readTries(
  { id, key_print, pin }: Approval,
  { counters }: Pick<State, "counters">,
): Promise<TriesLeft | undefined> {
  if (pin === null) return undefined;
  const ofOne = await counters.readLeft("pin_of_approval", id);
  const ofKey = await counters.readLeft("pin_of_key", key_print);
  return { left: Math.min(ofOne.left, ofKey.left), blocked_until: ofKey.free_at };
}

function describeBlock(
  tries: TriesLeft | undefined,
  now: number,
  next: string,
): string | undefined {
  if (tries === undefined || tries.left > 0) return undefined;
  const { blocked_until } = tries;
  if (blocked_until === undefined) {
    return `Too many wrong PINs were entered. ${next}`;
  }
  const span = writeSpan(blocked_until - now);
  return `Too many wrong PINs were entered for this API key. You can only decline its approvals \
now. You can enter a PIN again in ${span}.`;
}
