import { advise, codes, type ToolFailureCode } from "../../../src/mcp/results/advice-by-code.ts";
import { code, writeTable } from "./table.ts";

/** Writes the table of error codes, their causes and fixes. */
export function writeErrors(): string {
  const rows = codes.map((name) => [code(name), causes[name], findCure(name)]);
  return writeTable(["code", "cause", "what `next` says"], rows);
}

/** The text in `next` for an assistant, for a tool and scope without a name. */
function findCure(name: ToolFailureCode): string {
  const message = "The scope links.create is missing.";
  return advise(name, { tool: "TOOL", message })
    .replaceAll("TOOL", "the tool")
    .replace("links.create", "that is missing");
}

const causes: Readonly<Record<ToolFailureCode, string>> = {
  invalid_arguments: "An argument is unknown, missing or invalid. Nothing was sent.",
  bad_request: "The API could not read the request, or a parameter is invalid (400).",
  key_missing: "No API key is set.",
  key_invalid: "The key is unknown or revoked, or is of the wrong kind.",
  account_suspended: "The project is suspended.",
  scope_missing: "The key lacks a scope. The message names it.",
  role_required: "The key's owner has a role that may not do this.",
  plan_required: "The project is on the Free plan, or has as many links as that allows.",
  unauthorized:
    "The server refused the key (401) for another reason, such as page templates turned off.",
  not_found: "Nothing in this project has this id or name (404).",
  validation_failed: "A field is invalid (422). `problems` name the fields.",
  rate_limited: "The key made too many calls in a minute (429).",
  overloaded: "The server is overloaded, or its database is away. Nothing was written.",
  unreachable: "The remote server cannot be reached.",
  timed_out: "The remote server did not answer in time. Nothing was written.",
  outcome_unknown: "The answer to a write was lost. The change may have been made.",
  bad_response: "The remote server's answer is not one of this API.",
  approval_required: "A person must approve this call. `approval.url` is the page.",
  approval_declined: "The person declined.",
  plan_changed: "The links are no longer as the plan or the person saw them.",
  cancelled: "The client cancelled the call.",
  internal: "Waypost failed. The log has the reference that the message names.",
};
