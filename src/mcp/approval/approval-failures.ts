import { advise } from "../results/advice-by-code.ts";
import { ToolFailure } from "../results/tool-failure.ts";
import { writePreview, type ApprovalRequest } from "./approval-request.ts";

/** How an assistant is told that a request waits for a person, or that the person said no. */

/** With the address of the person's page, or with a token to call again with (two-step mode). */
export function refuseUnapproved(
  { tool, preview }: ApprovalRequest,
  message: string,
  { expires_at, ...means }: Readonly<{ url?: string; token?: string; expires_at: number }>,
): ToolFailure {
  const until = new Date(expires_at).toISOString();
  const again = `call ${tool} again with the same arguments`;
  const isByPage = means.url !== undefined;
  return new ToolFailure({
    code: "approval_required",
    message,
    effect: "none",
    retry: isByPage ? "later" : "now",
    approval: { preview: writePreview(preview), expires_at: until, ...means },
    next: isByPage
      ? `Give the user approval.url to open in a browser; when they have approved, ${again}.`
      : "Tell the user what approval.preview says; if they agree, " +
        `${again} and approval set to approval.token.`,
  });
}

export function refuseDeclined({ tool }: ApprovalRequest, message: string): ToolFailure {
  const code = "approval_declined";
  const next = advise(code, { tool });
  return new ToolFailure({ code, message, effect: "none", retry: "never", next });
}
