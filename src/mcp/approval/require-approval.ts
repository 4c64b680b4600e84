import type { Clock } from "../../contract/clock.ts";
import type { State } from "../../state/state.ts";
import { refuseDeclined, refuseUntilPage, refuseUntilToken } from "./approval-failures.ts";
import { digestRequest, fitsText, writePreview, type ApprovalRequest } from "./approval-request.ts";
import { createSeals, type Sealed } from "./approval-token.ts";
import { PersonAsked, type Answer, type Person } from "./ask-person.ts";
import type { Mode } from "./mode.ts";

/** Lets a request through once a person has approved of it (design.md, "Approval"). */
export type Gate = {
  readonly pass: (request: ApprovalRequest, keyPrint: string, person: Person) => Promise<void>;
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
    pass: async (request, keyPrint, person) => {
      if (mode === "full") return;
      const digest = digestRequest(request, keyPrint);
      if (mode === "two-step") return passToken(request, digest, person);
      if (hasPin) return passPage(request, digest);
      if (person.answer !== undefined) return passAnswer(request, digest, person.answer);
      // What a form has no room for is read on the page.
      if (person.canAnswer && fitsText(request.preview)) throw await askClient(request, digest);
      return passPage(request, digest);
    },
  };

  /** The same call with the token goes through. */
  async function passToken(
    request: ApprovalRequest,
    digest: string,
    { token }: Person,
  ): Promise<void> {
    const sealed = token === undefined ? undefined : await seals.open(token);
    if (sealed?.digest === digest && (await seals.take(sealed))) return;
    throw refuseUntilToken(
      request,
      describeStale(token, sealed),
      await seals.issue(request, digest),
    );
  }

  /** The client's form came back. Whatever it says, it says it once. */
  async function passAnswer(
    request: ApprovalRequest,
    digest: string,
    answer: Answer,
  ): Promise<void> {
    const sealed = answer.state === undefined ? undefined : await seals.open(answer.state);
    if (sealed === undefined) {
      throw refuseDeclined(request, "The answer does not belong to a question of ours.");
    }
    const isFirst = await seals.take(sealed);
    if (!answer.isYes) throw refuseDeclined(request, "The user did not approve.");
    const { count } = request.preview;
    if (count !== undefined && answer.count !== count) {
      throw refuseDeclined(request, `The user did not type the number ${count}.`);
    }
    // The target changed, or the question grew old, while the person thought about it.
    const isStale = sealed.digest !== digest || sealed.expires_at <= clock.now();
    if (isStale) throw await askClient(request, digest);
    if (!isFirst) throw refuseDeclined(request, "This approval was used already, or is over.");
  }

  async function passPage(request: ApprovalRequest, digest: string): Promise<void> {
    const { approvals } = await openState();
    const asked = await approvals.askPage({ digest, preview: JSON.stringify(request.preview) });
    if ("waits" in asked) {
      const { id, expires_at } = asked.waits;
      throw refuseUntilPage(request, await openPage(id), expires_at);
    }
    if (asked.said === "declined") {
      throw refuseDeclined(request, "The user declined this on the approval page.");
    }
  }

  async function askClient(request: ApprovalRequest, digest: string): Promise<PersonAsked> {
    const { text } = await seals.issue(request, digest);
    const { preview } = request;
    return new PersonAsked(`${writePreview(preview)}\n\nDo you approve?`, text, preview.count);
  }
}

function describeStale(token: string | undefined, sealed: Sealed | undefined): string {
  if (token === undefined) return "This needs a second call with the approval token.";
  if (sealed === undefined) return "The approval token is none of ours.";
  return "The approval token was used, grew old, or was given for another request or target.";
}
