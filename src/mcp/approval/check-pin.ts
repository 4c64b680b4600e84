import type { Approval } from "../../state/approvals.ts";
import type { TriesLeft } from "../../state/pin-tries.ts";
import type { State } from "../../state/state.ts";
import { writeSpan } from "./write-span.ts";

/** The PIN that a yes needs, wherever a person says it: tried so often, and no more. */

export type PinOptions = {
  readonly openState: () => Promise<State>;
  /** Whether a PIN is the one with this hash, which an approval has from whoever asked for it. */
  readonly checkPin: (pin: string, hash: string) => Promise<boolean>;
};

/** Why this PIN is refused; undefined where it is right, or where none is asked for. */
export async function findPinFault(
  { id, pin: hash }: Approval,
  pin: string,
  { openState, checkPin }: PinOptions,
): Promise<string | undefined> {
  if (hash === null) return undefined;
  if (pin.trim() === "") return "Type the PIN to approve.";
  const { pinTries } = await openState();
  const taken = await pinTries.take(id);
  if (taken === undefined) return "This PIN was not checked.";
  if (!(await checkPin(pin, hash))) return "The PIN is wrong.";
  await taken.giveBack();
  return undefined;
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
