import { listNamedScopes } from "../../contract/access.ts";
import { isKnownToMaker } from "../../contract/apps.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import { describeIds, findKind } from "../../contract/resource-kind.ts";
import { messages } from "../../contract/messages.ts";

/** Maps the error codes of failed calls to advice for the assistant. */

type AdviceContext = {
  readonly tool: string;
  readonly endpoint?: Endpoint;
  readonly effect?: "none" | "unknown" | "done";
  readonly retry?: "now" | "later" | "never";
  readonly message?: string;
  readonly fields?: readonly (string | undefined)[] | undefined;
};

const advice = {
  invalid_arguments: ({ tool, fields }) =>
    `${writeCorrection("arguments", fields)} and call ${tool} again.`,
  bad_request: ({ tool }) => `Correct the arguments and call ${tool} again.`,
  key_missing: "Ask the user to set WAYPOST_API_KEY where this server is configured.",
  key_invalid: "Ask the user for another API key.",
  account_suspended:
    "Inform the user that the account is suspended. Until that changes, no call works.",
  scope_missing: (context) =>
    `Ask the user for a key with the scope ${nameScope(context)}; do not try again with this one.`,
  role_required:
    "Inform the user that the key's owner lacks the required role; do not try again with this key.",
  plan_required:
    "Explain to the user what needs the Pro plan, or call again without the fields " +
    "that need it.",
  unauthorized: "Look up what this key may do, and inform the user.",
  not_found: adviseNotFound,
  validation_failed: ({ tool, fields }) =>
    fields === undefined
      ? `Correct the fields and call ${tool} again.`
      : `${writeCorrection("fields", fields)} and call ${tool} again.`,
  rate_limited: ({ tool, effect }) => `Wait, ${lookFirst(effect)}then call ${tool} again.`,
  overloaded: ({ tool }) => `Wait a moment, then call ${tool} again.`,
  unreachable: ({ tool }) => `Nothing was changed: call ${tool} again later, or inform the user.`,
  timed_out: ({ tool }) => `Nothing was changed: call ${tool} again later.`,
  outcome_unknown: adviseUnknown,
  bad_response: ({ effect }) =>
    effect === "unknown"
      ? "Check whether the call took effect, and ask the user to check the server's base address."
      : "Ask the user to check the server's base address.",
  approval_required: ({ tool }) =>
    `Ask the user to approve this; then call ${tool} again with the same arguments.`,
  approval_declined: "The user declined: do not try again unless the user asks for it.",
  plan_changed: ({ tool }) =>
    tool.includes("plan")
      ? "Make the plan again and show the user what it would do now."
      : `Read the record again and show it to the user. Call ${tool} again only if they still ` +
        `want this.`,
  cancelled: ({ effect, tool }) =>
    effect === "unknown"
      ? "Before you repeat the call, check whether it took effect."
      : `If the user still wants it, call ${tool} again.`,
  internal: ({ tool, message, retry }) =>
    message === messages.store_full
      ? `Ask the user to make room on the disk that holds Waypost's data, then call ${tool} again.`
      : retry === "never"
        ? "Before you repeat the call, check whether it took effect. Give the user the reference."
        : "Try again once. If that fails too, give the user the reference.",
} satisfies Readonly<Record<string, string | ((context: AdviceContext) => string)>>;

export type ToolFailureCode = keyof typeof advice;
export const codes = Object.keys(advice) as readonly ToolFailureCode[];

export function advise(code: ToolFailureCode, context: AdviceContext): string {
  const sentence = advice[code];
  return typeof sentence === "string" ? sentence : sentence(context);
}

/**
 * Makes the assistant ask the user for values that only an app's developer knows. Models tend to
 * invent such values.
 */
function writeCorrection(what: string, fields: AdviceContext["fields"] = []): string {
  return fields.some(isKnownToMaker)
    ? "Ask the user for the values named in `problems` (never invent them)"
    : `Correct the ${what} named in \`problems\``;
}

/**
 * The scope in the error message takes precedence, because it may differ from the endpoint's scope.
 */
function nameScope({ endpoint, message = "" }: AdviceContext): string {
  const [named = endpoint?.scope] = listNamedScopes(message);
  return named ?? "for this";
}

function adviseNotFound({ endpoint, tool, message }: AdviceContext): string {
  if (message === messages.not_offered) {
    return `Inform the user that this server might not offer ${tool}.`;
  }
  if (endpoint === contract.pageTemplate.preview) {
    const ids = describeIds(findKind(contract.links.show));
    return `Set link_id to a link's ${ids}, or leave link_id out for a sample.`;
  }
  if (endpoint?.feature === "page_templates" && endpoint.params === undefined) {
    return "The project has no page template yet. Save a draft first.";
  }
  // If the endpoint takes no ID, another argument must be wrong.
  return endpoint?.params === undefined
    ? "Check the argument: nothing matches it."
    : "Look up the right id, or ask the user for it.";
}

/** Advises checking the effect before a retry, so that nothing is done twice. */
function adviseUnknown({ endpoint, tool, retry }: AdviceContext): string {
  if (retry === "later") {
    return endpoint?.overwrites === true
      ? `Read the record first. Call ${tool} again only if it is unchanged.`
      : `Call ${tool} again later; repeating it does no harm.`;
  }
  const check = "First check whether the call took effect, or ask the user to check.";
  return `Do not call ${tool} again yet. ${check}`;
}

function lookFirst(effect: AdviceContext["effect"]): string {
  return effect === "unknown" ? "check whether it happened, " : "";
}
