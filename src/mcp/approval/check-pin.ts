import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";
import { writeSpan } from "./write-asking.ts";

/** Checks the PIN of an approval. The number of wrong PINs is limited for each approval and key. */

export type PinOptions = {
  readonly openState: () => Promise<State>;
  /** Whether a PIN has this hash, which was saved with the approval. */
  readonly checkPin: (pin: string, hash: string) => Promise<boolean>;
};

/** Why this PIN is rejected; undefined if it is right, or if no PIN is needed. */
export async function findPinFault(
  { id, key_print, pin: hash }: Approval,
  pin: string,
  { openState, checkPin }: PinOptions,
): Promise<string | undefined> {
  if (hash === null) return undefined;
  if (pin.trim() === "") return "Type the PIN to approve.";
  const { counters } = await openState();
  // Counted before the check, so that many requests at once get no additional tries.
  const taken = await counters.take({ pin_of_approval: id, pin_of_key: key_print });
  if (taken === undefined) return "This PIN was not checked.";
  if (!(await checkPin(pin, hash))) return "The PIN is wrong.";
  // A right PIN does not reset the count of wrong ones. Otherwise each approval by the user would
  // give a guessing assistant new tries.
  await taken.giveBack();
  return undefined;
}

type TriesLeft = {
  readonly left: number;
  /** When the key may try a PIN again; undefined if the key itself has tries left. */
  readonly blocked_until: number | undefined;
};

/** How many wrong PINs an approval may still get; undefined if it needs no PIN. */
export async function readTries(
  { id, key_print, pin }: Approval,
  { counters }: Pick<State, "counters">,
): Promise<TriesLeft | undefined> {
  if (pin === null) return undefined;
  const ofOne = await counters.readLeft("pin_of_approval", id);
  const ofKey = await counters.readLeft("pin_of_key", key_print);
  return { left: Math.min(ofOne.left, ofKey.left), blocked_until: ofKey.free_at };
}

/** Why no PIN is accepted now, and until when. */
export function describeBlock(
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
