import { idParameter, type Endpoint } from "./endpoint.ts";
import { contract } from "./index.ts";

/** Defines the kinds of records, such as links and apps, and finds an endpoint's kind. */

/** The tool groups that an operator can enable. */
export const groups = [
  "links",
  "short_links",
  "apps",
  "projects",
  "templates",
  "bulk",
  "history",
] as const;
export type ToolGroup = (typeof groups)[number];

/** A kind of resource: its name in results, its tool group, and the fields that identify it. */
export type ResourceKind = {
  /** The property of a result that holds the resource, such as `link` or `ios_app`. */
  readonly name: string;
  readonly label: string;
  readonly group: ToolGroup;
  /** The fields by which people recognize the resource, best first. */
  readonly names: readonly string[];
  readonly show: Endpoint;
  readonly index: Endpoint;
  /** A unique field besides the UUID. */
  readonly key?: string;
  /** What a person may enter to identify the resource, besides the UUID. */
  readonly by?: string;
};

const { links, iosApps, androidApps, projects, pageTemplate } = contract;

/**
 * Whether the path contains the id of the returned resource. Restoring a template version, for
 * example, takes the version's id but returns the template.
 */
export function answersTarget(endpoint: Endpoint): boolean {
  const hasId = endpoint.path.includes(idParameter);
  return hasId && endpoint.response === findKind(endpoint).show.response;
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
  // A project has one template. No endpoint returns it by id; ids identify its versions.
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

/** Lists the ways to identify a resource: `UUID, name or bundle_id`. */
export function describeIds({ by }: ResourceKind): string {
  if (by === undefined) return "UUID";
  return by.includes(" or ") ? `UUID, ${by}` : `UUID or ${by}`;
}

export function findKindNamed(name: string): ResourceKind | undefined {
  return Object.values(kinds).find((kind) => kind.name === name);
}

/** The result property that holds the response; undefined if the response itself is the result. */
export function nameResult(endpoint: Endpoint, { name }: ResourceKind): string | undefined {
  if (endpoint.type === "text/html") return "html";
  if (endpoint.path === pageTemplate.versions.path) return undefined;
  return endpoint.path === pageTemplate.version.path ? "version" : name;
}
