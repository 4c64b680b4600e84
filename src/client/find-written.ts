import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import type { Answer, Endpoint, Input } from "../contract/endpoint.ts";
import type { ListInput } from "../contract/filters.ts";
import { normalizeId } from "../contract/fields.ts";
import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import type { LinkFields } from "../contract/links.ts";
import { Problem } from "../contract/problem.ts";
import type { ProjectFields } from "../contract/projects.ts";
import { findKind, type ResourceKind } from "../contract/resource-kind.ts";
import { checkAndroidApp, checkIosApp } from "../contract/rules/app-rules.ts";
import { decodePath, normalizePath } from "../contract/rules/link-path.ts";
import { checkLink } from "../contract/rules/link-rules.ts";
import { checkProject } from "../contract/rules/project-rules.ts";
import { isBlank } from "../contract/text.ts";
import { listUnreadRows } from "../contract/deviations.ts";

/**
 * Finds what a call has written whose end we did not see (security-reliability.md §3). Only what is
 * proved counts as done: every sent field matches and, for what was created, the row is no older
 * than the call.
 */
export type WriteFinder = (look: Look) => Promise<Finding>;

export type Finding =
  | { readonly kind: "done"; readonly body: object | null }
  /** What is there now is not what was asked for. */
  | { readonly kind: "undone"; readonly checked: string }
  /** What is there now may be this call's work or another caller's. */
  | { readonly kind: "unclear"; readonly checked: string };

export type Ask = <E extends Endpoint>(endpoint: E, input: Input<E>) => Promise<Answer<E>>;

export type Look = {
  readonly ask: Ask;
  readonly id: string;
  /** Whether the deployment said that it is done: then the row of its name is its work. */
  readonly isAccepted?: true;
  /** The fields that were sent in the body. */
  readonly sent: JsonObject;
  /** When the call began. */
  readonly since: string;
  /** Whether the server's clock is known to agree with ours: else `since` means nothing there. */
  readonly isSameTime: () => boolean;
};

type Row = JsonObject & { readonly id: string };

/** One kind of resource, and when a row of it is as it was asked for. */
type Kind = ResourceKind & {
  readonly isAsSent: (sent: JsonObject, row: Row, ask: Ask) => boolean | Promise<boolean>;
};

const { links, shortLinks, iosApps, androidApps, projects } = contract;

// Each kind's rules take the fields of its own entries; what was sent is typed by those entries.

const link: Kind = { ...findKind(links.show), isAsSent: isLinkAsSent };

const iosApp: Kind = {
  ...findKind(iosApps.show),
  isAsSent: (sent, app) =>
    isSame(sent, checkIosApp({ ...app, ...sent } as IosAppFields).values, app),
};

const androidApp: Kind = {
  ...findKind(androidApps.show),
  isAsSent: (sent, app) =>
    isSame(sent, checkAndroidApp({ ...app, ...sent } as AndroidAppFields).values, app),
};

const project: Kind = {
  ...findKind(projects.show),
  isAsSent: (sent, row) =>
    isSame(sent, checkProject({ ...row, ...sent } as ProjectFields).values, row),
};

export const writeFinders: Readonly<Record<string, WriteFinder | undefined>> = {
  [links.create.tool]: findCreated(link),
  [links.upsert.tool]: findNamed(link),
  [links.update.tool]: findChanged(link),
  [links.destroy.tool]: findDeleted(link),
  [links.restore.tool]: findChanged(link),
  [shortLinks.create.tool]: findShortened,
  [iosApps.create.tool]: findCreated(iosApp),
  [iosApps.update.tool]: findChanged(iosApp),
  [iosApps.destroy.tool]: findDeleted(iosApp),
  [iosApps.restore.tool]: findChanged(iosApp),
  [androidApps.create.tool]: findCreated(androidApp),
  [androidApps.update.tool]: findChanged(androidApp),
  [androidApps.destroy.tool]: findDeleted(androidApp),
  [androidApps.restore.tool]: findChanged(androidApp),
  [projects.create.tool]: findProject,
  [projects.update.tool]: findChanged(project),
  [projects.destroy.tool]: findDeleted(project),
};

function findCreated(kind: Kind): WriteFinder {
  return async (look) => {
    const found = await findNamed(kind)(look);
    if (found.kind !== "done" || look.isAccepted === true) return found;
    const filter = { field: "created_at", condition: "gteq", value: look.since } as const;
    const young = await findNamed(kind, [filter])(look);
    if (young.kind === "done" && look.isSameTime()) return young;
    const why = look.isSameTime() ? "is older than this call" : clocksDiffer;
    const checked = `${describeName(kind, look.sent)} exists as requested, but ${why}`;
    return { kind: "unclear", checked };
  };
}

const clocksDiffer = "its age is unknown, because the server's clock may differ";

/** The row of a name: there can be no other, whichever call made it. */
function findNamed(kind: Kind, more: NonNullable<ListInput["filters"]> = []): WriteFinder {
  const { key = "id", index } = kind;
  return async ({ ask, sent }) => {
    const value = findName(kind, sent);
    if (value === undefined || isBlank(value)) {
      return { kind: "unclear", checked: `nothing, because no ${key} was sent` };
    }
    const filters = [{ field: key, condition: "eq", value } as const, ...more];
    const answer: unknown = await ask(index, { filters });
    // The rows are under the name that the entry gives its list, and were read by its schema.
    const body = answer as Readonly<Record<string, readonly Row[]>>;
    const rows = body[index.list?.name ?? ""];
    // Whether the deployment knows the filter is not certain, so each row is compared.
    const found = rows?.find((row) => row[key] === value);
    const name = describeName(kind, sent);
    if (found === undefined) return judgeMissing(body, `${name} does not exist yet`);
    if (await kind.isAsSent(sent, found, ask)) return { kind: "done", body: found };
    return judgeOther(sent, found, `${name} exists (${found.id}), but its fields differ`);
  };
}

/** A field that is not shown may be as it was asked for. */
function judgeOther(sent: JsonObject, found: Row, checked: string): Finding {
  const members = Object.keys(sent).map((name) => (nested.has(name) ? `${name}_id` : name));
  const hidden = members.filter((name) => name !== "options" && found[name] === undefined);
  if (hidden.length === 0) return { kind: "undone", checked };
  return { kind: "unclear", checked: `${checked}. The answer does not show ${hidden.join(", ")}` };
}

/** A link tells of its app by the app's id. */
const nested: ReadonlySet<string> = new Set(["ios_app", "android_app"]);

/** What could not be read may be what is looked for. */
function judgeMissing(page: object, checked: string): Finding {
  const { length } = listUnreadRows(page);
  if (length === 0) return { kind: "undone", checked };
  return {
    kind: "unclear",
    checked: `${checked}, but not everything could be read`,
  };
}

/** The name that was asked for; undefined where the deployment makes one up. */
function findName({ key = "id" }: Kind, sent: JsonObject): string | undefined {
  const name = sent[key];
  if (typeof name !== "string") return undefined;
  return key === link.key ? normalizePath(name) : name;
}

function describeName(kind: Kind, sent: JsonObject): string {
  return `the ${kind.label} with the ${kind.key} ${findName(kind, sent)}`;
}

function findChanged(kind: Kind): WriteFinder {
  return async ({ ask, id, sent }) => {
    const found = await findById(kind, ask, id);
    const name = `the ${kind.label} ${id}`;
    if (found === undefined) return { kind: "undone", checked: `${name} does not exist` };
    if (await kind.isAsSent(sent, found, ask)) return { kind: "done", body: found };
    return judgeOther(sent, found, `${name} does not match the request yet`);
  };
}

function findDeleted(kind: Kind): WriteFinder {
  return async ({ ask, id }) => {
    const found = await findById(kind, ask, id);
    if (found === undefined) return { kind: "done", body: null };
    return { kind: "undone", checked: `the ${kind.label} ${id} still exists` };
  };
}

async function findById(kind: Kind, ask: Ask, id: string): Promise<Row | undefined> {
  try {
    return await readRow(kind, ask, id);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

async function readRow({ show }: Kind, ask: Ask, id: string): Promise<Row> {
  const body: unknown = await ask(show, { id });
  // It was parsed by the entry's schema, and every resource has an id.
  return body as Row;
}

async function isLinkAsSent(sent: JsonObject, row: Row, ask: Ask): Promise<boolean> {
  const fields = sent as LinkFields;
  if (!isSame(sent, checkLink(fields, "create").values, row)) return false;
  if (fields.options?.shorten === true && isBlank(row["shortened_path"])) return false;
  return (
    (await isApp(iosApp, fields.ios_app, row["ios_app_id"], ask)) &&
    (await isApp(androidApp, fields.android_app, row["android_app_id"], ask))
  );
}

/** Whether a link's app is the one that was chosen by its id or its name, or none by neither. */
async function isApp(
  kind: Kind,
  chosen: JsonObject | null | undefined,
  stored: unknown,
  ask: Ask,
): Promise<boolean> {
  if (chosen === undefined) return true;
  const { key = "id" } = kind;
  const { id, [key]: name } = chosen ?? {};
  if (isBlank(id) && isBlank(name)) return stored === null;
  if (typeof stored !== "string") return false;
  if (!isBlank(id)) return normalizeId(stored) === normalizeId(String(id));
  return (await readRow(kind, ask, stored))[key] === name;
}

/** A shortened path is random and no filter names an address, so all new links are compared. */
async function findShortened({ ask, sent, since, isSameTime }: Look): Promise<Finding> {
  const { url, prefix } = sent as Input<typeof shortLinks.create>;
  const start = decodePath(prefix ?? "") ?? "";
  const page = await ask(links.index, {
    filters: [{ field: "created_at", condition: "gteq", value: since }],
    sort: { field: "created_at", direction: "asc" },
    limit: 100,
  });
  const found = page.links.filter(
    (link) => link.url === url && link.shortened_path?.startsWith(start) === true,
  );
  const [first] = found;
  if (first !== undefined && !isSameTime()) {
    return { kind: "unclear", checked: `a link shortens ${url}, but ${clocksDiffer}` };
  }
  if (first !== undefined && found.length === 1) return { kind: "done", body: first };
  const checked = `${found.length} of the links created since ${since} shorten ${url}`;
  return found.length === 0 ? judgeMissing(page, checked) : { kind: "unclear", checked };
}

const mostPages = 10;

/** Projects have no filter and show no time: a match is reported, and never counts as done. */
async function findProject({ ask, sent }: Look): Promise<Finding> {
  const { subdomain } = checkProject(sent).values;
  const missing = `none of the projects has the subdomain ${subdomain} yet`;
  for (let page = 1; page <= mostPages; page += 1) {
    const list = await ask(projects.index, { page, limit: 100 });
    const { projects: found, meta } = list;
    const match = found.find((project) => project.subdomain === subdomain);
    if (match !== undefined) {
      const checked = `the project ${match.id} now has the subdomain ${subdomain}`;
      return { kind: "unclear", checked };
    }
    const judged = judgeMissing(list, missing);
    if (judged.kind === "unclear" || !meta.next) return judged;
  }
  return { kind: "undone", checked: missing };
}

/**
 * Whether what was sent is there, in the form in which the API keeps it. What is not shown, or
 * could not be read, proves nothing.
 */
function isSame(sent: JsonObject, kept: object, found: JsonObject): boolean {
  return Object.entries(kept)
    .filter(([name]) => Object.hasOwn(sent, name))
    .every(([name, value]) => JSON.stringify(found[name]) === JSON.stringify(value));
}
