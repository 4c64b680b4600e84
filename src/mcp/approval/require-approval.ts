import type { Clock } from "../../contract/clock.ts";
import type { State } from "../../state/state.ts";
import { refuseDeclined, refuseUnapproved } from "./approval-failures.ts";
import { digestRequest, fitsText, writePreview, type ApprovalRequest } from "./approval-request.ts";
import { issueToken, readToken, useToken, type ApprovalToken } from "./approval-token.ts";
import type { Mode } from "./mode.ts";
import { PersonAsked, type Answer, type Person } from "./person-asked.ts";

/** Throws until a person has approved of the request (design.md, "Approval"). */
export type RequireApproval = (
  request: ApprovalRequest,
  keyPrint: string,
  person: Person,
) => Promise<void>;

type ApprovalOptions = {
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

export function createRequireApproval(options: ApprovalOptions): RequireApproval {
  const { mode, hasPin, openState, openPage, clock } = options;
  return async (request, keyPrint, person) => {
    if (mode === "full") return;
    const digest = digestRequest(request, keyPrint);
    if (mode === "two-step") return requireToken(request, digest, person.token);
    if (hasPin) return requirePage(request, digest);
    if (person.answer !== undefined) return requireYes(request, digest, person.answer);
    // What a form has no room for is read on the page.
    if (person.canAnswer && fitsText(request.preview)) throw await askClient(request, digest);
    return requirePage(request, digest);
  };

  /** The same call with the token goes through. */
  async function requireToken(
    request: ApprovalRequest,
    digest: string,
    text: string | undefined,
  ): Promise<void> {
    const token = await readToken(text, openState);
    if (token?.digest === digest && (await useToken(token, openState))) return;
    const issued = await issueToken(request, digest, openState);
    throw refuseUnapproved(request, describeStale(text, token), issued);
  }

  /** The client's form came back: its token is used up, whatever the answer in it is. */
  async function requireYes(
    request: ApprovalRequest,
    digest: string,
    answer: Answer,
  ): Promise<void> {
    const token = await readToken(answer.token, openState);
    if (token === undefined) {
      throw refuseDeclined(request, "The answer does not belong to a question of ours.");
    }
    const isFirst = await useToken(token, openState);
    if (!answer.isYes) throw refuseDeclined(request, "The user did not approve.");
    const { count } = request.preview;
    if (count !== undefined && answer.count !== count) {
      throw refuseDeclined(request, `The user did not type the number ${count}.`);
    }
    // The target changed, or the question grew old, while the person thought about it.
    const isStale = token.digest !== digest || token.expires_at <= clock.now();
    if (isStale) throw await askClient(request, digest);
    if (!isFirst) throw refuseDeclined(request, "This approval was used already, or is over.");
  }

  async function requirePage(request: ApprovalRequest, digest: string): Promise<void> {
    const { approvals } = await openState();
    const asked = await approvals.askPage({ digest, preview: JSON.stringify(request.preview) });
    if ("waits" in asked) {
      const { id, expires_at } = asked.waits;
      const page = { url: await openPage(id), expires_at };
      throw refuseUnapproved(request, "A person has to approve this first.", page);
    }
    if (asked.said === "declined") {
      throw refuseDeclined(request, "The user declined this on the approval page.");
    }
  }

  async function askClient(request: ApprovalRequest, digest: string): Promise<PersonAsked> {
    const { token } = await issueToken(request, digest, openState);
    const { preview } = request;
    return new PersonAsked(`${writePreview(preview)}\n\nDo you approve?`, token, preview.count);
  }
}

function describeStale(text: string | undefined, token: ApprovalToken | undefined): string {
  if (text === undefined) return "This needs a second call with the approval token.";
  if (token === undefined) return "The approval token is none of ours.";
  return "The approval token was used, grew old, or was given for another act or target.";
}
