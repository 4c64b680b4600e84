import type { Clock } from "../../contract/clock.ts";
import type { State } from "../../state/state.ts";
import { refuseDeclined, refuseUntilPage, refuseUntilToken } from "./approval-failures.ts";
import { digestAct, fitsText, writePreview, type Act } from "./approval-request.ts";
import { createSeals, type Sealed } from "./approval-token.ts";
import { PersonAsked, type Answer, type Person } from "./ask-person.ts";
import type { Mode } from "./mode.ts";

/** Lets an act through once a person has approved of it (design.md, "Approval"). */
export type Gate = {
  readonly pass: (act: Act, keyPrint: string, person: Person) => Promise<void>;
};

type GateOptions = {
  readonly mode: Mode;
  /**
   * Whether the page asks for a PIN. Then the page alone counts: a form's yes may come from a
   * client that the assistant itself has started.
   */
  readonly hasPin: boolean;
  /** Opened by the first approval: most sessions destroy nothing. */
  readonly openState: () => Promise<State>;
  /** The address of an approval's page, which is open from now on. */
  readonly openPage: (id: string) => Promise<string>;
  readonly clock: Clock;
};

export function createGate(options: GateOptions): Gate {
  const { mode, hasPin, openState, openPage, clock } = options;
  const seals = createSeals(openState);
  return {
    pass: async (act, keyPrint, person) => {
      if (mode === "full") return;
      const digest = digestAct(act, keyPrint);
      if (mode === "two-step") return passToken(act, digest, person);
      if (hasPin) return passPage(act, digest);
      if (person.answer !== undefined) return passAnswer(act, digest, person.answer);
      // What a form has no room for is read on the page.
      if (person.canAnswer && fitsText(act.preview)) throw await askClient(act, digest);
      return passPage(act, digest);
    },
  };

  /** The same call with the token goes through. */
  async function passToken(act: Act, digest: string, { token }: Person): Promise<void> {
    const sealed = token === undefined ? undefined : await seals.open(token);
    if (sealed?.digest === digest && (await seals.take(sealed))) return;
    throw refuseUntilToken(act, describeStale(token, sealed), await seals.issue(act, digest));
  }

  /** The client's form came back. Whatever it says, it says it once. */
  async function passAnswer(act: Act, digest: string, answer: Answer): Promise<void> {
    const sealed = answer.state === undefined ? undefined : await seals.open(answer.state);
    if (sealed === undefined) {
      throw refuseDeclined(act, "The answer does not belong to a question of ours.");
    }
    const isFirst = await seals.take(sealed);
    if (!answer.isYes) throw refuseDeclined(act, "The user did not approve.");
    const { count } = act.preview;
    if (count !== undefined && answer.count !== count) {
      throw refuseDeclined(act, `The user did not type the number ${count}.`);
    }
    // The target changed, or the question grew old, while the person thought about it.
    const isStale = sealed.digest !== digest || sealed.expires_at <= clock.now();
    if (isStale) throw await askClient(act, digest);
    if (!isFirst) throw refuseDeclined(act, "This approval was used already, or is over.");
  }

  async function passPage(act: Act, digest: string): Promise<void> {
    const { approvals } = await openState();
    const asked = await approvals.askPage({ digest, preview: JSON.stringify(act.preview) });
    if ("waits" in asked) {
      const { id, expires_at } = asked.waits;
      throw refuseUntilPage(act, await openPage(id), expires_at);
    }
    if (asked.said === "declined") {
      throw refuseDeclined(act, "The user declined this on the approval page.");
    }
  }

  async function askClient(act: Act, digest: string): Promise<PersonAsked> {
    const { text } = await seals.issue(act, digest);
    const { preview } = act;
    return new PersonAsked(`${writePreview(preview)}\n\nDo you approve?`, text, preview.count);
  }
}

function describeStale(token: string | undefined, sealed: Sealed | undefined): string {
  if (token === undefined) return "This needs a second call with the approval token.";
  if (sealed === undefined) return "The approval token is none of ours.";
  return "The approval token was used, grew old, or was given for another act or target.";
}
