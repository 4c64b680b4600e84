import type { AndroidApp, AndroidAppFields, IosApp, IosAppFields } from "../contract/apps.ts";
import type { Endpoint, Input, Output } from "../contract/endpoint.ts";
import type { ListInput } from "../contract/filters.ts";
import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Link, LinkFields } from "../contract/links.ts";
import { Problem } from "../contract/problem.ts";
import type { Project, ProjectFields } from "../contract/projects.ts";
import { checkAndroidApp, checkIosApp } from "../contract/rules/app-rules.ts";
import { normalizePath } from "../contract/rules/link-path.ts";
import { checkLink } from "../contract/rules/link-rules.ts";
import { checkProject } from "../contract/rules/project-rules.ts";
import { isBlank } from "../contract/text.ts";

/**
 * How to look for the work of a call whose end we did not see (security-reliability.md §3). Only
 * what is proved counts as done: every sent field matches and, for what was created, the row is no
 * older than the call.
 */
export type WriteFinder = (look: Look) => Promise<Finding>;

export type Finding =
  | { readonly kind: "done"; readonly body: unknown }
  /** What is there now is not what was asked for. */
  | { readonly kind: "undone"; readonly checked: string }
  /** What is there now may be this call's work or somebody else's. */
  | { readonly kind: "unclear"; readonly checked: string };

export type Ask = <E extends Endpoint>(endpoint: E, input: Input<E>) => Promise<Output<E>>;

type Look = {
  readonly ask: Ask;
  readonly id: string;
  /** The fields that were sent in the body. */
  readonly sent: JsonObject;
  /** When the call began. */
  readonly since: string;
  /** Whether the deployment's clock goes as ours: else `since` means nothing there. */
  readonly isSameTime: () => boolean;
};

/** One kind of resource: how it is read, and when a row is as it was asked for. */
type Kind<Row extends { readonly id: string }> = {
  readonly label: string;
  readonly show: (ask: Ask, id: string) => Promise<Row>;
  readonly isAsSent: (sent: JsonObject, row: Row, ask: Ask) => boolean | Promise<boolean>;
};

/** A kind of which at most one row has a name. */
type NamedKind<Row extends { readonly id: string }> = Kind<Row> & {
  readonly field: string;
  readonly readName: (row: Row) => string | null;
  /** The name that was asked for, or undefined where the deployment makes one up. */
  readonly findName: (sent: JsonObject) => string | undefined;
  readonly list: (ask: Ask, input: ListInput) => Promise<readonly Row[]>;
};

const { links, shortLinks, iosApps, androidApps, projects } = contract;

// Each kind's rules take the fields of its own entries, which is what callers are held to.

const iosKind: NamedKind<IosApp> = {
  label: "iOS app",
  field: "bundle_id",
  readName: (app) => app.bundle_id,
  findName: (sent) => (sent as IosAppFields).bundle_id ?? undefined,
  show: (ask, id) => ask(iosApps.show, { id }),
  list: async (ask, input) => (await ask(iosApps.index, input)).ios_apps,
  isAsSent: (sent, app) =>
    isSame(sent, checkIosApp({ ...app, ...(sent as IosAppFields) }).values, app),
};

const androidKind: NamedKind<AndroidApp> = {
  label: "Android app",
  field: "package_name",
  readName: (app) => app.package_name,
  findName: (sent) => (sent as AndroidAppFields).package_name ?? undefined,
  show: (ask, id) => ask(androidApps.show, { id }),
  list: async (ask, input) => (await ask(androidApps.index, input)).android_apps,
  isAsSent: (sent, app) =>
    isSame(sent, checkAndroidApp({ ...app, ...(sent as AndroidAppFields) }).values, app),
};

const linkKind: NamedKind<Link> = {
  label: "link",
  field: "path",
  readName: (link) => link.path,
  findName: (sent) => normalizePath((sent as LinkFields).path ?? ""),
  show: (ask, id) => ask(links.show, { id }),
  list: async (ask, input) => (await ask(links.index, input)).links,
  isAsSent: isLinkAsSent,
};

const projectKind: Kind<Project> = {
  label: "project",
  show: (ask, id) => ask(projects.show, { id }),
  isAsSent: (sent, project) =>
    isSame(sent, checkProject({ ...project, ...(sent as ProjectFields) }).values, project),
};

export const writeFinders: Readonly<Record<string, WriteFinder | undefined>> = {
  [links.create.tool]: findCreated(linkKind),
  [links.upsert.tool]: findNamed(linkKind),
  [links.update.tool]: findChanged(linkKind),
  [links.destroy.tool]: findDeleted(linkKind),
  [shortLinks.create.tool]: findShortened,
  [iosApps.create.tool]: findCreated(iosKind),
  [iosApps.update.tool]: findChanged(iosKind),
  [iosApps.destroy.tool]: findDeleted(iosKind),
  [androidApps.create.tool]: findCreated(androidKind),
  [androidApps.update.tool]: findChanged(androidKind),
  [androidApps.destroy.tool]: findDeleted(androidKind),
  [projects.create.tool]: findProject,
  [projects.update.tool]: findChanged(projectKind),
  [projects.destroy.tool]: findDeleted(projectKind),
};

function findCreated<Row extends { readonly id: string }>(kind: NamedKind<Row>): WriteFinder {
  return async (look) => {
    const found = await findNamed(kind)(look);
    if (found.kind !== "done") return found;
    const filter = { field: "created_at", condition: "gteq", value: look.since } as const;
    const young = await findNamed(kind, [filter])(look);
    if (young.kind === "done" && look.isSameTime()) return young;
    const why = look.isSameTime() ? "older than this call" : clocksDiffer;
    const checked = `${describeName(kind, look)} is there as asked for, but ${why}`;
    return { kind: "unclear", checked };
  };
}

const clocksDiffer = "the deployment's clock differs from ours, so its age cannot be told";

/** The row of a name: there can be no other, whoever made it. */
function findNamed<Row extends { readonly id: string }>(
  kind: NamedKind<Row>,
  more: NonNullable<ListInput["filters"]> = [],
): WriteFinder {
  return async (look) => {
    const value = kind.findName(look.sent);
    if (value === undefined || isBlank(value)) {
      return { kind: "unclear", checked: `nothing: no ${kind.field} was sent to look for` };
    }
    const filters = [{ field: kind.field, condition: "eq", value } as const, ...more];
    // Whether the deployment knows the filter is not certain, so each row is looked at.
    const rows = await kind.list(look.ask, { filters });
    const found = rows.find((row) => kind.readName(row) === value);
    const name = describeName(kind, look);
    if (found === undefined) return { kind: "undone", checked: `${name} is not there yet` };
    if (await kind.isAsSent(look.sent, found, look.ask)) return { kind: "done", body: found };
    return { kind: "undone", checked: `${name} is there (${found.id}), but not as asked for` };
  };
}

function describeName<Row extends { readonly id: string }>(
  { label, field, findName }: NamedKind<Row>,
  { sent }: Look,
): string {
  return `the ${label} with the ${field} ${findName(sent)}`;
}

function findChanged<Row extends { readonly id: string }>(kind: Kind<Row>): WriteFinder {
  return async ({ ask, id, sent }) => {
    const found = await findById(kind, ask, id);
    const name = `the ${kind.label} ${id}`;
    if (found === undefined) return { kind: "undone", checked: `${name} is not there` };
    if (await kind.isAsSent(sent, found, ask)) return { kind: "done", body: found };
    return { kind: "undone", checked: `${name} is not as asked for yet` };
  };
}

function findDeleted<Row extends { readonly id: string }>(kind: Kind<Row>): WriteFinder {
  return async ({ ask, id }) => {
    const found = await findById(kind, ask, id);
    if (found === undefined) return { kind: "done", body: null };
    return { kind: "undone", checked: `the ${kind.label} ${id} is still there` };
  };
}

async function findById<Row extends { readonly id: string }>(
  { show }: Kind<Row>,
  ask: Ask,
  id: string,
): Promise<Row | undefined> {
  try {
    return await show(ask, id);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

async function isLinkAsSent(sent: JsonObject, link: Link, ask: Ask): Promise<boolean> {
  const fields = sent as LinkFields;
  if (!isSame(sent, checkLink(fields, "create").values, link)) return false;
  if (fields.options?.shorten === true && isBlank(link.shortened_path)) return false;
  const { ios_app, android_app } = fields;
  return (
    (ios_app === undefined ||
      (await isApp(iosKind, ios_app?.id, ios_app?.bundle_id, link.ios_app_id, ask))) &&
    (android_app === undefined ||
      (await isApp(
        androidKind,
        android_app?.id,
        android_app?.package_name,
        link.android_app_id,
        ask,
      )))
  );
}

/** Whether a link's app is the one that was chosen by its id or its name, or none by neither. */
async function isApp<App extends { readonly id: string }>(
  kind: NamedKind<App>,
  id: string | null | undefined,
  name: string | null | undefined,
  stored: string | null,
  ask: Ask,
): Promise<boolean> {
  if (isBlank(id) && isBlank(name)) return stored === null;
  if (stored === null) return false;
  if (!isBlank(id)) return stored.toLowerCase() === id?.toLowerCase();
  return kind.readName(await kind.show(ask, stored)) === name;
}

/** A shortened path is random and an address is no filter, so all that is new is looked through. */
async function findShortened({ ask, sent, since, isSameTime }: Look): Promise<Finding> {
  const { url, prefix } = sent as Input<typeof shortLinks.create>;
  const start = normalizePath(prefix ?? "") ?? "";
  const { links: young } = await ask(links.index, {
    filters: [{ field: "created_at", condition: "gteq", value: since }],
    sort: { field: "created_at", direction: "asc" },
    limit: 100,
  });
  const found = young.filter(
    (link) => link.url === url && link.shortened_path?.startsWith(start) === true,
  );
  const [first] = found;
  if (first !== undefined && !isSameTime()) {
    return { kind: "unclear", checked: `a link shortens ${url}, but ${clocksDiffer}` };
  }
  if (first !== undefined && found.length === 1) return { kind: "done", body: first };
  const checked = `the links made since ${since}: ${found.length} of them shorten ${url}`;
  return { kind: found.length === 0 ? "undone" : "unclear", checked };
}

const mostPages = 10;

/** Projects cannot be filtered, nor asked when they were made: a match is told, never claimed. */
async function findProject({ ask, sent }: Look): Promise<Finding> {
  const { subdomain } = checkProject(sent).values;
  for (let page = 1; page <= mostPages; page += 1) {
    const { projects: found, meta } = await ask(projects.index, { page, limit: 100 });
    const match = found.find((project) => project.subdomain === subdomain);
    if (match !== undefined) {
      const checked = `the projects: ${match.id} has the subdomain ${subdomain} now`;
      return { kind: "unclear", checked };
    }
    if (!meta.next) break;
  }
  return { kind: "undone", checked: `the projects: none has the subdomain ${subdomain} yet` };
}

/** Whether what was sent is there, in the form in which the API keeps it. */
function isSame(sent: JsonObject, kept: object, found: object): boolean {
  const stored = new Map<string, unknown>(Object.entries(found));
  return Object.entries(kept)
    .filter(([name]) => Object.hasOwn(sent, name))
    .every(([name, value]) => JSON.stringify(stored.get(name) ?? null) === JSON.stringify(value));
}
