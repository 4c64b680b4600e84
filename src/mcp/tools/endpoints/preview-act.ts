import type { KnownKey } from "../../../contract/access.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { limits } from "../../../contract/limits.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { findFingerprintWarning, findTeamIdWarning } from "../../../contract/rules/app-rules.ts";
import { writeAddress } from "../../../contract/rules/link-path.ts";
import { isBlank } from "../../../contract/text.ts";
import { showAddress } from "../../../text/show-address.ts";
import { quote } from "../../../text/show-hidden.ts";
import { describeAndroidEntry, describeIosEntry } from "../../../visit/association-files.ts";
import type { Fact, Question } from "../../approval/question.ts";
import { writeValue } from "../../approval/question-text.ts";
import { readIfPossible } from "../../results/tool-failure.ts";
import { readAppChanges, type AppChanges, type NewApp } from "../apps.ts";
import type { ToolCall } from "../tool.ts";
import { listVisits } from "../visits.ts";
import { readAffected, type Act } from "./act.ts";

/** Writes the question that a user reads before approving a write. */
export async function previewAct(act: Act, call: PreviewCall): Promise<Question> {
  const { endpoint, kind, before, registered } = act;
  const [first] = registered;
  if (before === null && first?.kind === kind) return previewRegistration(first);
  const isDeletion = endpoint.effect === "destroy";
  const preview = isDeletion ? await previewDeletion(act, call) : await previewWrite(act, call);
  return addApps(preview, registered.map(previewRegistration));
}

type PreviewCall = Pick<ToolCall, "callApi" | "keyContext" | "apps">;

type ActSubject = Pick<Act, "kind" | "id" | "before" | "changes" | "affected">;

/** The length of the longest URL that the API accepts. Domains and identifiers are shorter. */
const mostCharacters = limits.web_address_characters;

/** Merges the questions about a link and the apps that it registers. */
function addApps(preview: Question, registrations: readonly Question[]): Question {
  if (registrations.length === 0) return preview;
  const [title, ...more] = [...registrations, preview].map((each) => each.title);
  const rest = more.map((text) => text.charAt(0).toLowerCase() + text.slice(1));
  const apps = registrations.length === 1 ? "app" : `${registrations.length} apps`;
  return {
    ...preview,
    title: [title, ...rest].join(", and "),
    button: `${preview.button} and register ${apps}`,
    facts: [...registrations.flatMap(({ facts }) => facts), ...preview.facts],
  };
}

function previewRegistration({ kind, fields }: NewApp): Question {
  const name = fields[kind.key ?? ""];
  const given = Object.entries(fields).flatMap(([field, value]): readonly Fact[] => {
    const texts = (Array.isArray(value) ? value : [value]).filter((text) => text !== null);
    const text = texts.map((each) => quote(String(each), mostCharacters)).join(", ");
    return text === "" ? [] : [{ name: field, text }];
  });
  return {
    title: `Register the ${kind.label} ${quote(typeof name === "string" ? name : "")}`,
    button: `Register ${kind.label}`,
    facts: [...given, ...describeAssociation(kind, undefined, fields)],
  };
}

async function previewDeletion(act: ActSubject, call: PreviewCall): Promise<Question> {
  const { kind, before } = act;
  const { ending, fact } = describeReturn(kind, call.keyContext.known);
  const visits = { name: "visitors", text: "will get a 404 page" };
  return {
    title: `Delete ${nameTarget(act)}${ending}`,
    button: `Delete ${kind.label}`,
    destroys: true,
    facts: [
      ...describeAssociation(kind, before ?? {}, undefined),
      ...describe(act, call),
      ...(kind.name === "link" ? [visits] : []),
      ...(await listAffected(act, call)),
      fact,
    ],
  };
}

/** Text that says whether a deleted resource can be restored. */
type ReturnText = {
  readonly ending: string;
  readonly fact: Fact;
};

export function describeReturn({ name: kind }: ResourceKind, { binDays }: KnownKey): ReturnText {
  const name = "undo";
  if (kind === "project") return { ending: " permanently", fact: { name, text: "not possible" } };
  const outcome = restoreOutcomes[kind];
  if (binDays === undefined || outcome === undefined) {
    const lost = kind === "link" ? " and no clicks" : "";
    const text = `only creates it again, with a new ID${lost}`;
    return { ending: " permanently", fact: { name, text } };
  }
  return { ending: "", fact: { name, text: `possible for ${binDays} days, ${outcome}` } };
}

/** Describes what is restored for each kind of resource, and what may prevent it. */
const restoreOutcomes: Readonly<Record<string, string>> = {
  link: "with its clicks and short path, unless another link takes its path",
  ios_app: "unless another app takes its bundle ID; its links then open it again",
  android_app: "unless another app takes its package name; its links then open it again",
};

/** Describes the changes, the target's other properties, and what a link's visitors will see. */
async function previewWrite(act: ActSubject, call: PreviewCall): Promise<Question> {
  const { kind, before, changes } = act;
  const record = before ?? {};
  const isNew = before === null;
  const isLink = kind.name === "link";
  const apps = isLink ? await readAppChanges(record, changes, call) : {};
  const changed = Object.entries(changes).map(([name, value]) =>
    writeChange(before, name, value, apps),
  );
  const rest = isNew ? [] : describe(act, call);
  const kept = rest.filter(({ name }) => !Object.hasOwn(changes, name));
  return {
    ...writeHeadline(act),
    facts: [
      ...(isNew
        ? describeAddress(changes["path"], call)
        : describeAssociation(kind, record, { ...record, ...changes })),
      ...changed,
      ...kept.filter((fact) => fact.kind === "address"),
      ...(isNew ? [] : describeMove(changes, call)),
      ...kept.filter((fact) => fact.kind !== "address"),
      // Omitted if the key cannot read the link, because what visitors see is then unknown.
      ...(isLink && before !== undefined
        ? listVisits(before, changes, apps, call.keyContext.known)
        : []),
      ...(isNew ? [] : await listAffected(act, call)),
    ],
  };
}

/** Writes the title. If only one field changes, the title names it in everyday words. */
function writeHeadline(act: ActSubject): Pick<Question, "title" | "button"> {
  const { label } = act.kind;
  if (act.before === null) return { title: `Create a ${label}`, button: `Create ${label}` };
  const named = nameTarget(act);
  const [[field, value] = [], ...more] = Object.entries(act.changes);
  const isAlone = more.length === 0 && isFilled(value);
  if (isAlone && field === "url") {
    return { title: `Point ${named} to ${quote(value)}`, button: `Change ${label}` };
  }
  if (isAlone && field === "path") {
    return { title: `Move ${named} to the path ${quote(value)}`, button: `Move ${label}` };
  }
  return { title: `Change ${named}`, button: `Change ${label}` };
}

function writeChange(before: Act["before"], name: string, value: unknown, apps: AppChanges): Fact {
  const app = name === "ios_app" || name === "android_app" ? apps[name] : undefined;
  if (before === null) {
    return app === undefined ? describeValue(name, value) : { name, text: app.change.to };
  }
  if (app !== undefined) return { name, kind: "change", ...app.change };
  return {
    name,
    kind: "change",
    ...(Object.hasOwn(before ?? {}, name) && { from: writeValue(before?.[name]) }),
    to: writeValue(value),
    ...describeHostOf(name, value),
  };
}

/** Warns that the old URL will return an error page. */
function describeMove({ path }: JsonObject, call: PreviewCall): readonly Fact[] {
  if (!isFilled(path)) return [];
  const old = { name: "old address", text: "visitors will get a 404 page" };
  return [...describeAddress(path, call, "new address"), old];
}

/** Names the target without its id, which means nothing to people. */
function nameTarget({ kind, before }: ActSubject): string {
  const name = kind.names.map((field) => before?.[field]).find(isFilled);
  const named = name === undefined ? "that this API key cannot read" : quote(name);
  return `the ${kind.label} ${named}`;
}

function describe({ kind, id, before }: ActSubject, call: PreviewCall): readonly Fact[] {
  const record = before ?? {};
  const shown = kind.name === "link" ? ["path", "url", "clicks"] : kind.names;
  const filled = shown.filter((name) => !isBlank(record[name]));
  const facts = filled.map((name) => describeValue(name, record[name]));
  if (facts.length > 0) return [...describeAddress(record["path"], call), ...facts];
  return [
    { name: "details", text: "this API key has no permission to read it" },
    ...(id === undefined ? [] : [{ name: "id", text: quote(id) }]),
  ];
}

function describeValue(name: string, value: unknown): Fact {
  return { name, text: writeValue(value), ...describeHostOf(name, value) };
}

function describeAddress(
  path: unknown,
  { keyContext }: PreviewCall,
  name = "address",
): readonly Fact[] {
  const { linkHost } = keyContext.known;
  if (linkHost === undefined || !isFilled(path)) return [];
  const address = writeAddress(linkHost, path);
  return [{ name, kind: "address", address, ...describeHost(address) }];
}

function describeHostOf(name: string, value: unknown): Pick<Fact, "note" | "warnings"> {
  if (typeof value !== "string") return {};
  return describeHost(name === "custom_domain" ? `https://${value}` : value);
}

/**
 * For a host with non-ASCII characters, returns its ASCII form and warnings about misleading
 * characters.
 */
function describeHost(address: string): Pick<Fact, "note" | "warnings"> {
  const { ascii, warnings } = showAddress(address) ?? {};
  if (ascii === undefined) return {};
  return { note: `host ${quote(ascii, mostCharacters)}`, warnings };
}

async function listAffected(
  { kind, before, affected: known }: ActSubject,
  call: PreviewCall,
): Promise<readonly Fact[]> {
  const record = before ?? {};
  if (kind.name === "project") {
    const all = { name: "affects", text: "everything in the project: its links, apps and keys" };
    const count = record["links_count"];
    const text = typeof count === "number" ? writeValue(count) : "could not be counted";
    return [all, { name: "links", text }];
  }
  if (kind.group !== "apps" || typeof record[kind.key ?? ""] !== "string") return [];
  // Without permission to list links, the count is unknown.
  const affected = known ?? (await readIfPossible(readAffected(kind, record, call)));
  return [{ name: "links that open this app", text: writeAffected(affected) }];
}

function writeAffected(affected: Act["affected"]): string {
  if (affected === undefined) return "could not be counted";
  const best = affected.best.map(({ id, name, path, clicks }) => {
    const unit = clicks === 1 ? "click" : "clicks";
    const count = typeof clicks === "number" ? ` (${clicks} ${unit})` : "";
    return `${quote([name, path].find(isFilled) ?? id)}${count}`;
  });
  const count = affected.count ?? "could not be counted";
  return `${count}${best.length === 0 ? "" : `, most clicked: ${best.join(", ")}`}`;
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && !isBlank(value);
}

/** Lists the lines that the association file gains and loses, or nothing if it stays unchanged. */
export function describeAssociation(
  kind: ResourceKind,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
): readonly Fact[] {
  const file = associationFiles[kind.name];
  if (file === undefined) return [];
  const { name } = file;
  const [old = [], fresh = []] = [before, after].map((app) => app && file.list(app));
  const removed = old.filter((line) => !fresh.includes(line));
  const added = fresh.filter((line) => !old.includes(line));
  const lines = [
    ...removed.map((text) => ({ kind: "removed", text }) as const),
    ...added.map((text) => ({ kind: "added", text }) as const),
  ];
  const warning = after && file.findWarning(after);
  const warnings = warning === undefined ? [] : [warning];
  if (lines.length > 0) return [{ name, kind: "lines", lines, warnings }];
  return warning === undefined ? [] : [{ name, text: "unchanged", warnings }];
}

type AppAssociationFile = {
  readonly name: string;
  readonly list: (app: JsonObject) => readonly string[];
  /** Warns about values that the operating system ignores. */
  readonly findWarning: (app: JsonObject) => string | undefined;
};

const associationFiles: Readonly<Record<string, AppAssociationFile>> = {
  ios_app: {
    name: "apple-app-site-association",
    list: (app) => {
      const entry = describeIosEntry(app);
      if (entry === undefined) return [];
      const clip = entry.clipID === undefined ? [] : [`App Clip ${entry.clipID}`];
      return [`app ${entry.appID}`, ...clip];
    },
    findWarning: findTeamIdWarning,
  },
  android_app: {
    name: "assetlinks.json",
    list: (app) => {
      const entry = describeAndroidEntry(app);
      return (entry?.fingerprints ?? []).map((print) => `${entry?.package_name} ${print}`);
    },
    findWarning: findFingerprintWarning,
  },
};
