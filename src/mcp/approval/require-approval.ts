import type { Clock } from "../../contract/clock.ts";
import { refuseDeclined, refuseUnticked } from "./approval-failures.ts";
import {
  digestRequest,
  fitsText,
  writePreview,
  type ApprovalRequest,
  type AskingKey,
} from "./approval-request.ts";
import { issueToken, readToken, useToken } from "./approval-token.ts";
import type { Mode } from "./mode.ts";
import { PersonAsked, type Answer, type Person } from "./person-asked.ts";
import { createRequirePage, type Asking, type PageOptions } from "./require-page.ts";

/** Throws until a person has approved of the request (design.md, "Approval"). */
export type RequireApproval = (
  request: ApprovalRequest,
  key: AskingKey,
  person: Person,
) => Promise<void>;

type ApprovalOptions = PageOptions & {
  readonly mode: Mode;
  /**
   * The hash of the PIN that the page asks for. Then the page alone counts: a form's yes may come
   * from a client that the assistant itself has started.
   */
  readonly readPin: () => Promise<string | undefined>;
  readonly clock: Clock;
};

export function createRequireApproval(options: ApprovalOptions): RequireApproval {
  const { mode, readPin, openState, clock, isByHand } = options;
  const requirePage = createRequirePage(options);
  return async (request, key, person) => {
    if (mode === "full") return;
    const digest = digestRequest(request, key, isByHand);
    const { answer } = person;
    const pin = await readPin();
    const { key_print: keyPrint, realm } = key;
    const asking = { request, digest, keyPrint, realm, person, pin };
    const hasPin = pin !== undefined;
    // Where there is a PIN a form cannot say yes; no is no, from wherever it comes.
    const counts = answer?.said !== "opened" && !(hasPin && answer?.said === "yes");
    if (answer !== undefined && counts) return requireYes(asking, answer);
    // What a form has no room for is read on the page.
    const isForm = person.canAnswer && !hasPin && fitsText(request.preview);
    if (isForm) throw await askClient(request, digest);
    return requirePage(asking);
  };

  /** The client's question came back: its token is used up, whatever the answer to it is. */
  async function requireYes(asking: Asking, answer: Answer): Promise<void> {
    const { request, digest, person } = asking;
    const token = await readToken(answer.token, openState);
    if (token === undefined) {
      throw refuseDeclined(request, "The answer does not match any question that Waypost asked.");
    }
    const isFirst = await useToken(token, openState);
    // The user can still be given the page's address, whatever their client is able to show.
    if (answer.said === "nothing") {
      return requirePage({ ...asking, person: { ...person, canOpen: false } });
    }
    if (answer.said === "unticked") throw refuseUnticked(request);
    if (answer.said !== "yes") throw refuseDeclined(request, "The user did not approve.");
    const { count } = request.preview;
    if (count !== undefined && answer.count !== count) {
      throw refuseDeclined(request, `The user did not type the number ${count}.`);
    }
    // The target changed, or the question grew old, while the person thought about it.
    const isStale = token.digest !== digest || token.expires_at <= clock.now();
    if (isStale) throw await askClient(request, digest);
    if (!isFirst) throw refuseDeclined(request, "This approval was already used, or has expired.");
  }

  async function askClient(request: ApprovalRequest, digest: string): Promise<PersonAsked> {
    const token = await issueToken(request, digest, openState);
    const { preview } = request;
    const message = `${writePreview(preview)}\n\nDo you approve?`;
    return new PersonAsked(message, token, { count: preview.count });
  }
}
