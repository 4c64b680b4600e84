import type { JsonObject } from "../../../contract/json.ts";
import { limits } from "../../../contract/limits.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { isBlank } from "../../../contract/text.ts";
import { showAddress } from "../../../text/show-address.ts";
import { quote } from "../../../text/show-hidden.ts";
import { writeWords } from "../../../text/write-label.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";
import type { Call } from "../tool.ts";
import { describeReturn } from "./describe-return.ts";
import { listVisits } from "./list-visits.ts";
import { readLinkApps, type LinkApps } from "../apps.ts";
import { findTouching, readTouched, type TouchedLinks } from "./read-touched.ts";

/** What a person reads before they approve: the target, and what else is touched. */

type Asking = Pick<Call, "ask" | "keyContext" | "apps">;

/** A request's target: its kind, its UUID, and its record as far as the key may read it. */
export type Subject = {
  readonly kind: ResourceKind;
  readonly id: string;
  readonly record: JsonObject;
};

/** As long as any address, domain or identifier that the API takes: each is shown whole. */
const mostCharacters = limits.web_address_characters;

/** The links that it touches are read where nobody has read them yet. */
export async function previewDeletion(
  subject: Subject,
  call: Asking,
  touched?: TouchedLinks,
): Promise<Preview> {
  const { kind } = subject;
  const { ending, fact } = describeReturn(kind, call.keyContext.known);
  const visits = { name: "visitors", text: "will get a 404 page" };
  return {
    title: `Delete ${nameSubject(subject)}${ending}`,
    button: `Delete ${kind.label}`,
    destroys: true,
    facts: [
      ...describe(subject, call),
      ...(kind.name === "link" ? [visits] : []),
      ...(await listTouched(subject, call, touched)),
      fact,
    ],
  };
}

export async function previewChange(
  subject: Subject,
  changes: JsonObject,
  call: Asking,
): Promise<Preview> {
  const { kind } = subject;
  const isLink = kind.name === "link";
  const apps = isLink ? await readLinkApps(subject.record, changes, call) : undefined;
  // Of a link that the key may not read, nobody knows what else it leads to.
  const isKnown = Object.keys(subject.record).length > 0;
  const changed = Object.entries(changes).map(([name, value]) =>
    describeChange(subject, name, value, apps),
  );
  const rest = describe(subject, call).filter(({ name }) => !Object.hasOwn(changes, name));
  return {
    ...writeHeadline(subject, changes),
    facts: [
      ...changed,
      ...rest.filter((fact) => isAddress(fact)),
      ...(isLink ? listNewAddress(changes, call) : []),
      ...rest.filter((fact) => !isAddress(fact)),
      ...(apps === undefined || !isKnown ? [] : listVisits({ ...subject, changes, apps }, call)),
      ...(await listTouched(subject, call)),
    ],
  };
}

function isAddress(fact: Fact): boolean {
  return fact.kind === "address";
}

/** All that a new one is given; of a link also what its visitors will meet. */
export async function previewCreation(
  kind: ResourceKind,
  given: JsonObject,
  call: Asking,
): Promise<Preview> {
  const isLink = kind.name === "link";
  const apps = isLink ? await readLinkApps({}, given, call) : {};
  const path = given["path"];
  return {
    title: `Create a ${kind.label}`,
    button: `Create ${kind.label}`,
    facts: [
      ...(isLink && isFilled(path) ? describeAddress(path, call) : []),
      ...Object.entries(given).map(([name, value]) => {
        const app = name === "ios_app" || name === "android_app" ? apps[name] : undefined;
        return app === undefined ? describeValue(name, value) : { name, text: app.change.to };
      }),
      ...(isLink ? listVisits({ record: {}, changes: given, apps }, call) : []),
    ],
  };
}

/** In the words of whoever asked for it, where one thing alone changes. */
function writeHeadline(subject: Subject, changes: JsonObject): Pick<Preview, "title" | "button"> {
  const { kind } = subject;
  const named = nameSubject(subject);
  const [[field, value] = [], ...more] = Object.entries(changes);
  const isAlone = more.length === 0 && isFilled(value);
  if (isAlone && field === "url") {
    return { title: `Point ${named} to ${quote(value)}`, button: `Change ${kind.label}` };
  }
  if (isAlone && field === "path") {
    return { title: `Move ${named} to the path ${quote(value)}`, button: `Move ${kind.label}` };
  }
  return { title: `Change ${named}`, button: `Change ${kind.label}` };
}

function describeChange(
  { record }: Subject,
  name: string,
  value: unknown,
  apps: LinkApps | undefined,
): Fact {
  const app = name === "ios_app" || name === "android_app" ? apps?.[name] : undefined;
  if (app !== undefined) return { name, kind: "change", ...app.change };
  return {
    name,
    kind: "change",
    ...(Object.hasOwn(record, name) && { from: show(record[name]) }),
    to: show(value),
    ...describeHostOf(name, value),
  };
}

/** Of an address, and of a domain that addresses will begin with. */
function describeHostOf(name: string, value: unknown): Pick<Fact, "note" | "warnings"> {
  if (typeof value !== "string") return {};
  const address = showAddress(name === "custom_domain" ? `https://${value}` : value);
  return address === undefined ? {} : describeHost(address);
}

/** The host as machines read it, and what may deceive about it. */
function describeHost({
  ascii,
  warnings,
}: NonNullable<ReturnType<typeof showAddress>>): Pick<Fact, "note" | "warnings"> {
  if (ascii === undefined) return {};
  return { note: `host ${quote(ascii, mostCharacters)}`, warnings };
}

/** By its name; its id, which says nothing to a person, stands among the facts. */
function nameSubject({ kind, record }: Subject): string {
  const name = kind.names.map((field) => record[field]).find(isFilled);
  const named = name === undefined ? "that this API key cannot read" : quote(name);
  return `the ${kind.label} ${named}`;
}

function describe({ kind, id, record }: Subject, call: Asking): readonly Fact[] {
  const shown = kind.name === "link" ? ["path", "url", "clicks"] : kind.names;
  const filled = shown.filter((name) => !isBlank(record[name]));
  const facts = filled.map((name) => describeValue(name, record[name]));
  const path = record["path"];
  const address = kind.name === "link" && isFilled(path) ? describeAddress(path, call) : [];
  if (facts.length > 0) return [...address, ...facts];
  const details = "this API key has no permission to read it";
  // Without a name, its id is all that tells it from others.
  return [
    { name: "details", text: details },
    { name: "id", text: quote(id) },
  ];
}

function describeValue(name: string, value: unknown): Fact {
  return { name, text: show(value), ...describeHostOf(name, value) };
}

function describeAddress(
  path: string,
  { keyContext }: Pick<Call, "keyContext">,
  name = "address",
): readonly Fact[] {
  const { linkHost } = keyContext.known;
  if (linkHost === undefined) return [];
  const address = writeAddress(linkHost, path);
  const shown = showAddress(address);
  return [{ name, kind: "address", address, ...(shown && describeHost(shown)) }];
}

/** What is known of the old address leads nowhere from then on. */
function listNewAddress({ path }: JsonObject, call: Asking): readonly Fact[] {
  if (!isFilled(path)) return [];
  const old = { name: "old address", text: "visitors will get a 404 page" };
  return [...describeAddress(path, call, "new address"), old];
}

/** What else changes with this target. */
async function listTouched(
  { kind, record }: Subject,
  call: Asking,
  known?: TouchedLinks,
): Promise<readonly Fact[]> {
  if (kind.name === "project") {
    const all = { name: "affects", text: "everything in the project: its links, apps and keys" };
    return [all, { name: "links", text: show(record["links_count"]) }];
  }
  if (findTouching(kind, record) === undefined) return [];
  // The key may not list links; a person can decide without the number.
  const touched = known ?? (await readTouched(kind, record, call).catch(() => undefined));
  return [{ name: "links that open this app", text: writeTouched(touched) }];
}

function writeTouched(touched: TouchedLinks | undefined): string {
  if (touched === undefined) return "could not be counted";
  const best = touched.best.map(({ id, name, path, clicks }) => {
    const unit = clicks === 1 ? "click" : "clicks";
    const told = typeof clicks === "number" ? ` (${clicks} ${unit})` : "";
    return `${quote([name, path].find(isFilled) ?? id)}${told}`;
  });
  const count = touched.count ?? "could not be counted";
  return `${count}${best.length === 0 ? "" : `, most clicked: ${best.join(", ")}`}`;
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && !isBlank(value);
}

/** A text in quotes, a list or an object by its members, and whatever else as it is written. */
function show(value: unknown): string {
  if (typeof value === "string") return quote(value, mostCharacters);
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(show).join(", ");
  if (isBlank(value)) return "none";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${writeWords(name)} ${show(member)}`,
  );
  return members.join(", ");
}
