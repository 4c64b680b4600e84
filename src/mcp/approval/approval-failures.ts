import { advise } from "../results/advice.ts";
import { ToolFailure } from "../results/tool-failure.ts";
import { writePreview, type ApprovalRequest } from "./approval-request.ts";

/** How an assistant is told that a request waits for a person, or that the person said no. */

export function refuseUntilPage(
  request: ApprovalRequest,
  url: string,
  expires_at: number,
): ToolFailure {
  return new ToolFailure({
    code: "approval_required",
    message: "A person has to approve this first.",
    effect: "none",
    retry: "later",
    approval: { ...describe(request, expires_at), url },
    next:
      "Give the user approval.url to open in a browser; when they have approved, " +
      `call ${request.tool} again with the same arguments.`,
  });
}

/** Two-step mode: the same call goes through with the token. */
export function refuseUntilToken(
  request: ApprovalRequest,
  message: string,
  { text: token, expires_at }: { readonly text: string; readonly expires_at: number },
): ToolFailure {
  return new ToolFailure({
    code: "approval_required",
    message,
    effect: "none",
    retry: "now",
    approval: { ...describe(request, expires_at), token },
    next:
      "Tell the user what approval.preview says; if they agree, " +
      `call ${request.tool} again with the same arguments and approval set to approval.token.`,
  });
}

export function refuseDeclined({ tool }: ApprovalRequest, message: string): ToolFailure {
  const code = "approval_declined";
  const next = advise(code, { tool });
  return new ToolFailure({ code, message, effect: "none", retry: "never", next });
}

function describe({ preview }: ApprovalRequest, expires_at: number) {
  return { preview: writePreview(preview), expires_at: new Date(expires_at).toISOString() };
}
