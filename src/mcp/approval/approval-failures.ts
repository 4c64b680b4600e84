import { advise } from "../results/advice-by-code.ts";
import { ToolFailure } from "../results/tool-failure.ts";
import { writePreview, type ApprovalRequest } from "./approval-request.ts";

/** How an assistant is told that a request waits for a person, or that the person said no. */

/** Thrown where a person's page cannot be shown, because this process may not listen. */
export class NowhereToAsk extends Error {
  override readonly name = "NowhereToAsk";
  /** What a person runs to have the page. */
  readonly serveCommand: string;

  constructor(serveCommand: string) {
    super("this process may not open a port");
    this.serveCommand = serveCommand;
  }
}

/** With the address of the person's page. */
export function refuseUnapproved(
  { tool, preview }: ApprovalRequest,
  { url, expires_at }: { readonly url: string; readonly expires_at: number },
): ToolFailure {
  const until = new Date(expires_at).toISOString();
  return new ToolFailure({
    code: "approval_required",
    message: "A person has to approve this first.",
    effect: "none",
    retry: "later",
    approval: { preview: writePreview(preview), expires_at: until, url },
    next:
      "Give the user approval.url to open in a browser. When they have approved, " +
      `call ${tool} again with the same arguments.`,
  });
}

export function refuseUnasked(
  { tool, preview }: ApprovalRequest,
  { serveCommand }: NowhereToAsk,
  expires_at: number,
): ToolFailure {
  return new ToolFailure({
    code: "approval_required",
    message:
      "A person has to approve this first, but WAYPOST_SERVE is off, so no approval page " +
      "can be shown.",
    effect: "none",
    retry: "later",
    approval: { preview: writePreview(preview), expires_at: new Date(expires_at).toISOString() },
    next:
      `Tell the user to run \`${serveCommand}\`, which serves the page. While it runs, ` +
      `call ${tool} again with the same arguments.`,
  });
}

export function refuseDeclined({ tool }: ApprovalRequest, message: string): ToolFailure {
  const code = "approval_declined";
  const next = advise(code, { tool });
  return new ToolFailure({ code, message, effect: "none", retry: "never", next });
}

/** The user may have meant to approve, which only they can say. */
export function refuseUnticked({ tool }: ApprovalRequest): ToolFailure {
  return new ToolFailure({
    code: "approval_declined",
    message: "The Approve box in the form was not ticked, so nothing was done.",
    effect: "none",
    retry: "never",
    next:
      `Ask the user whether to call ${tool} again. To approve, they tick "Approve" in the form ` +
      "before they accept it.",
  });
}
