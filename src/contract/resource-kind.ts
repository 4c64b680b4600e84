import { idParameter, type Endpoint } from "./endpoint.ts";
import { contract } from "./index.ts";

/** The groups by which an operator chooses tools. */
export const groups = [
  "links",
  "short_links",
  "apps",
  "projects",
  "templates",
  "bulk",
  "history",
] as const;
export type Group = (typeof groups)[number];

/** What an endpoint is about: the name of its result, its group, and how one of them is named. */
export type ResourceKind = {
  /** `link`, `ios_app`: the member of a result that holds one. */
  readonly name: string;
  readonly label: string;
  readonly group: Group;
  /** The fields that tell one from another for a person, the best first. */
  readonly names: readonly string[];
  readonly show: Endpoint;
  readonly index: Endpoint;
  /** A field that, beside the UUID, tells exactly one. */
  readonly key?: string;
  /** How a person may name one, beside the UUID. */
  readonly by?: string;
};

const { links, iosApps, androidApps, projects, pageTemplate } = contract;

/**
 * Whether the id that is asked for is that of what is answered: the id of a template's version is
 * not that of the template.
 */
export function answersTarget(endpoint: Endpoint): boolean {
  const isAsked = endpoint.path.includes(idParameter);
  return isAsked && endpoint.response === findKind(endpoint).show.response;
}

const link: ResourceKind = {
  name: "link",
  label: "link",
  group: "links",
  names: ["name", "path"],
  show: links.show,
  index: links.index,
  key: "path",
  by: "name, (short) path or address",
};

const kinds: Readonly<Record<string, ResourceKind>> = {
  links: link,
  link_stats: link,
  short_links: { ...link, group: "short_links" },
  ios_apps: {
    name: "ios_app",
    label: "iOS app",
    group: "apps",
    names: ["name", "bundle_id"],
    show: iosApps.show,
    index: iosApps.index,
    key: "bundle_id",
    by: "name or bundle_id",
  },
  android_apps: {
    name: "android_app",
    label: "Android app",
    group: "apps",
    names: ["name", "package_name"],
    show: androidApps.show,
    index: androidApps.index,
    key: "package_name",
    by: "name or package_name",
  },
  projects: {
    name: "project",
    label: "project",
    group: "projects",
    names: ["name", "subdomain"],
    show: projects.show,
    index: projects.index,
    by: "name or subdomain",
  },
  // A project has one, and no endpoint reads it alone; the ids are those of its versions.
  page_template: {
    name: "page_template",
    label: "page template",
    group: "templates",
    names: ["published_at"],
    show: pageTemplate.version,
    index: pageTemplate.versions,
  },
};

const kindsByPath = new Map<string, ResourceKind>();

export function findKind({ path }: Pick<Endpoint, "path">): ResourceKind {
  const known = kindsByPath.get(path);
  if (known !== undefined) return known;
  const kind = kinds[path.split("/")[1] ?? ""];
  if (kind === undefined) throw new Error(`no kind of resource at ${path}`);
  kindsByPath.set(path, kind);
  return kind;
}

/** `UUID, name or bundle_id`: each way to name one. */
export function describeIds({ by }: ResourceKind): string {
  if (by === undefined) return "UUID";
  return by.includes(" or ") ? `UUID, ${by}` : `UUID or ${by}`;
}

/** By the name that `findKind` answered. */
export function findKindNamed(name: string): ResourceKind | undefined {
  return Object.values(kinds).find((kind) => kind.name === name);
}

/** The member of a result that holds the response; none where the response has members itself. */
export function nameResult(endpoint: Endpoint, { name }: ResourceKind): string | undefined {
  if (endpoint.type === "text/html") return "html";
  if (endpoint.path === pageTemplate.versions.path) return undefined;
  return endpoint.path === pageTemplate.version.path ? "version" : name;
}
