import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";
import { writeSpan } from "./write-span.ts";

/** The PIN that an approval needs, wherever a person gives it: the number of tries is limited. */

export type PinOptions = {
  readonly openState: () => Promise<State>;
  /** Whether a PIN is the one with this hash, which an approval has from whoever asked for it. */
  readonly checkPin: (pin: string, hash: string) => Promise<boolean>;
};

/** Why this PIN is refused; undefined where it is right, or where none is asked for. */
export async function findPinFault(
  { id, key_print, pin: hash }: Approval,
  pin: string,
  { openState, checkPin }: PinOptions,
): Promise<string | undefined> {
  if (hash === null) return undefined;
  if (pin.trim() === "") return "Type the PIN to approve.";
  const { counters } = await openState();
  // Taken before the check: many requests at once get no more tries than one after another.
  const taken = await counters.take({ pin_of_approval: id, pin_of_key: key_print });
  if (taken === undefined) return "This PIN was not checked.";
  if (!(await checkPin(pin, hash))) return "The PIN is wrong.";
  // A right PIN forgives no wrong one: a guessing assistant would get all its tries again.
  await taken.giveBack();
  return undefined;
}

export type TriesLeft = {
  readonly left: number;
  /** When the key may try a PIN again; undefined while it may, whatever the approval has left. */
  readonly blocked_until: number | undefined;
};

/** How many wrong PINs an approval may still get; undefined when it asks for none. */
export async function readTries(
  { id, key_print, pin }: Approval,
  { counters }: Pick<State, "counters">,
): Promise<TriesLeft | undefined> {
  if (pin === null) return undefined;
  const ofOne = await counters.readLeft("pin_of_approval", id);
  const ofKey = await counters.readLeft("pin_of_key", key_print);
  return { left: Math.min(ofOne.left, ofKey.left), blocked_until: ofKey.free_at };
}

export const askAgain = "You can only decline this, and then ask your assistant again.";

/** Why no PIN is taken any more, and until when. */
export function describeBlock(
  tries: TriesLeft | undefined,
  now: number,
  next = askAgain,
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
