import { writeLocalTime } from "../../../contract/local-time.ts";
import { isBlank } from "../../../contract/text.ts";
import type { Change } from "../../../state/history.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { ApprovalRequest, Preview } from "../../approval/approval-request.ts";
import { writeWords } from "../../../text/write-label.ts";
import type { KeyContext } from "../../access/key-context.ts";
import { nameWriter, showFields } from "./show-change.ts";

/** What a person may still remember of the target: it was another one within the hour. */

const lately_ms = 60 * 60_000;
const mostFields = 5;

export async function addRecent(
  request: ApprovalRequest,
  keyContext: KeyContext,
): Promise<ApprovalRequest> {
  const { target, preview } = request;
  if (target === "") return request;
  const history = await keyContext.openHistory();
  const change = await history.findRecent(keyContext.realm, target, lately_ms);
  const recent = change && describeRecent(change, keyContext);
  return recent === undefined ? request : { ...request, preview: { ...preview, recent } };
}

function describeRecent(change: Change, keyContext: KeyContext): Preview["recent"] {
  // What was made or deleted was nothing before, and what is not known to be done may be nothing.
  const isChange = change.effects.every(({ before, after }) => before && after);
  const fields = Object.entries(showFields(change, keyContext)).slice(0, mostFields);
  if (!isChange || change.state !== "done" || fields.length === 0) return undefined;
  const told = fields.map(([name, { from }]) => describe(writeWords(name), from));
  const was = fields.every(([, { from }]) => isBlank(from)) ? "empty" : told.join(", ");
  const isOwn = change.key_print === keyContext.key_print;
  // The console saves the first draft itself before it asks about publishing it.
  if (isOwn && change.kind === "page_template" && was === "empty") return undefined;
  const by = isOwn ? "this key" : nameWriter(change);
  const { at } = change;
  return { at, time: writeLocalTime(at, keyContext.timeZone), by, was };
}

function describe(name: string, value: unknown): string {
  // A version of a page has a body and css, which say nothing inside a sentence.
  const isVersion = typeof value === "object" && !isBlank(value) && !Array.isArray(value);
  return isVersion ? `another ${name} version` : `${name} ${show(value)}`;
}

function show(value: unknown): string {
  if (isBlank(value)) return "none";
  if (Array.isArray(value)) return quote(value.join(", "));
  return quote(typeof value === "string" ? value : JSON.stringify(value));
}
