import { uuidPattern } from "../../../contract/fields.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { isBlank } from "../../../contract/text.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";
import type { Call } from "../tool.ts";
import { describeReturn } from "./describe-return.ts";

/** What a person reads before they approve: the target, and what else is touched. */

type Asking = Pick<Call, "ask" | "keyContext">;

/** A request's target: its kind, its UUID, and its record as far as the key may read it. */
export type Subject = {
  readonly kind: ResourceKind;
  readonly id: string;
  readonly record: JsonObject;
};

const shownLinks = 3;
/** As long as any address, domain or identifier that the API takes: each is shown whole. */
export const mostCharacters = 2100;

export async function previewDeletion(subject: Subject, call: Asking): Promise<Preview> {
  const { kind } = subject;
  const { ending, fact } = describeReturn(kind, call.keyContext.known);
  return {
    title: `Delete the ${kind.label} ${nameSubject(subject)}${ending}`,
    facts: [...describe(subject, call), ...(await listTouched(subject, call)), fact],
  };
}

export async function previewChange(
  subject: Subject,
  changes: JsonObject,
  call: Asking,
): Promise<Preview> {
  const { kind, record } = subject;
  const changed = Object.entries(changes).map(([name, value]) => {
    const before = Object.hasOwn(record, name) ? `${show(record[name])} ` : "";
    return { name, text: `${before}becomes ${show(value)}` };
  });
  const rest = describe(subject, call).filter(({ name }) => !Object.hasOwn(changes, name));
  return {
    title: `Change the ${kind.label} ${nameSubject(subject)}`,
    facts: [...changed, ...rest, ...(await listTouched(subject, call))],
  };
}

function nameSubject({ kind, id, record }: Subject): string {
  return quote(kind.names.map((field) => record[field]).find(isFilled) ?? id);
}

function describe({ kind, id, record }: Subject, { keyContext }: Asking): readonly Fact[] {
  const last = { name: "id", text: showId(id) };
  if (Object.keys(record).length === 0) {
    return [{ name: "details", text: "this API key may act on it, but not read it" }, last];
  }
  const shown = kind.name === "link" ? ["path", "url", "clicks"] : kind.names;
  const filled = shown.filter((name) => !isBlank(record[name]));
  const facts = filled.map((name) => ({ name, text: show(record[name]) }));
  const { linkHost } = keyContext.known;
  const path = record["path"];
  const isAddressed = kind.name === "link" && linkHost !== undefined && isFilled(path);
  const address = isAddressed ? [{ name: "address", text: writeAddress(linkHost, path) }] : [];
  return [...address, ...facts, last];
}

/** What else changes with this target. */
async function listTouched(subject: Subject, call: Asking): Promise<readonly Fact[]> {
  const { kind, record } = subject;
  if (kind.name === "project") {
    const all = { name: "concerns", text: "everything in the project: its links, apps and keys" };
    return [all, { name: "links", text: show(record["links_count"]) }];
  }
  const field = appFilters[kind.name];
  const value = record[kind.key ?? ""];
  if (field === undefined || typeof value !== "string") return [];
  return [{ name: "links that open this app", text: await countLinks(field, value, call) }];
}

/** The filters that find an app's links, by the app's kind. */
const appFilters: Readonly<Record<string, string>> = {
  ios_app: "ios_app_bundle_id",
  android_app: "android_app_package_name",
};

async function countLinks(field: string, value: string, { ask }: Asking): Promise<string> {
  try {
    const { links, meta } = await ask(contract.links.index, {
      filters: [{ field, condition: "eq", value }],
      sort: { field: "clicks", direction: "desc" },
      limit: shownLinks,
    });
    const best = links.map(({ id, name, path, clicks }) => {
      const unit = clicks === 1 ? "click" : "clicks";
      return `${quote([name, path].find(isFilled) ?? id)} (${clicks} ${unit})`;
    });
    return `${meta.count}${best.length === 0 ? "" : `, most clicked: ${best.join(", ")}`}`;
  } catch {
    // The key may not list links; a person can decide without the number.
    return "could not be counted";
  }
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && !isBlank(value);
}

/** A deployment elsewhere may call anything an id. */
function showId(id: string): string {
  return uuidPattern.test(id) ? id : quote(id);
}

function show(value: unknown): string {
  if (typeof value === "string") return quote(value, mostCharacters);
  if (Array.isArray(value)) return value.length === 0 ? "nothing" : value.map(show).join(", ");
  return isBlank(value) ? "nothing" : JSON.stringify(value);
}
