import * as z from "zod";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract, listToolEndpoints } from "../../../contract/index.ts";
import {
  describeIds,
  findKind,
  nameResult,
  type ResourceKind,
} from "../../../contract/resource-kind.ts";
import { linkRow } from "../../results/present-body.ts";
import { listFields, listBodyFields, type ToolFields } from "../../schemas/input-schema.ts";
import { describeShown, problems, written } from "../../schemas/output-schema.ts";
import { linkAdditions, nameArguments, takesNames } from "../links.ts";
import { templateAdditions } from "../templates/run-template.ts";
import { makeTool, type EndpointAddition, type SharedDescription, type Tool } from "../tool.ts";
import { runEndpoint } from "./run-endpoint.ts";

/** Creates one tool per endpoint of the contract. */
export function deriveTools(): readonly Tool[] {
  return listToolEndpoints().map(deriveTool);
}

/**
 * Descriptions that help a model choose a tool. All other tools use the summary of their endpoint.
 */
const descriptions: Readonly<Record<string, string>> = {
  list_links: "List links, filtered, sorted and paged.",
  create_link: "Create a link. Fails if the path is taken.",
  upsert_link: "Create a link, or overwrite the given fields of the one at this path.",
  update_link:
    "Change the given fields of a link. An empty string clears one. For many links, make a plan.",
  delete_link:
    "Delete a link. An embedded server keeps it 30 days. To redirect it, change its url.",
  shorten_link:
    "Make a short path for a link's address and query (irreversible) or any web address. " +
    "Needs the Pro plan.",
  list_ios_apps: "List the iOS apps.",
  register_ios_app: "Register an iOS app so links can open it.",
  update_ios_app: "Change an iOS app's fields. All but the name need approval.",
  delete_ios_app: "Delete an iOS app. Its links stay but stop opening it.",
  list_android_apps: "List the Android apps.",
  register_android_app: "Register an Android app so links can open it.",
  update_android_app: "Change an Android app's fields. All but the name need approval.",
  delete_android_app: "Delete an Android app. Its links stay but stop opening it.",
  list_projects: "List the projects. Needs a master key.",
  get_project: "Read one project. Needs a master key.",
  create_project: "Create a project with its own link host. Needs a master key.",
  update_project: "Change a project. A new domain needs approval. Needs a master key.",
  delete_project: "Permanently delete a project, its links, apps and keys. Needs a master key.",
  save_template: "Save the draft of the page template. Visitors see it only when published.",
  publish_template:
    "Publish the draft to all preview pages. body and css, if given, are saved first.",
  unpublish_template: "Return all links to the default preview page. Draft and versions stay.",
  list_template_versions: "List the page template's published versions, newest first.",
  get_template_version: "Read a version's body and css.",
  restore_template_version: "Replace the draft with a published version. Publishes nothing.",
  preview_template:
    "Make a preview page of body and css, or of the draft: show the user its preview_url.",
};

const additions: ReadonlyMap<Endpoint, EndpointAddition> = new Map([
  ...linkAdditions,
  ...templateAdditions,
]);

function deriveTool(endpoint: Endpoint): Tool {
  const { tool: name, title, summary, effect, idempotent, overwrites, needed } = endpoint;
  const {
    fields: own = {},
    run = runEndpoint,
    result,
    ...addition
  } = additions.get(endpoint) ?? {};
  const kind = findKind(endpoint);
  const options = { idText: addition.idText ?? describeIds(kind), own };
  const known = listBodyFields(endpoint);
  return makeTool({
    name,
    title,
    description: descriptions[name] ?? summary,
    group: kind.group,
    effect,
    idempotent,
    overwrites,
    like: findDescribedFields(endpoint) ?? findDescribedFilters(endpoint),
    fields: (isTerse) => listFields(endpoint, options, isTerse),
    sharedFields: known.filter((field) => !Object.hasOwn(own, field)),
    needed,
    nullable: known,
    result: () => describeResult(endpoint, kind, result),
    readAccess: (access) => access.read(endpoint),
    run: takesNames(endpoint)
      ? async (given, call) => run(endpoint, await nameArguments(endpoint, given, call), call)
      : (given, call) => run(endpoint, given, call),
    view: addition.view,
  });
}

/** Returns the first tool with the same fields, because only that tool describes them. */
function findDescribedFields({ tool, body }: Endpoint): SharedDescription | undefined {
  const first = listToolEndpoints().find(
    (endpoint) =>
      body !== undefined && endpoint.body !== undefined && extendsBody(body, endpoint.body),
  );
  return first && first.tool !== tool ? { what: "Fields", tool: first.tool } : undefined;
}

/** Returns the tool whose schema describes the filters for all list tools. */
function findDescribedFilters({ tool, list }: Endpoint): SharedDescription | undefined {
  const first = contract.links.index.tool;
  const hasFilters = Object.keys(list?.filters ?? {}).length > 0;
  return hasFilters && tool !== first ? { what: "Filters", tool: first } : undefined;
}

/** Whether a body contains all fields of another body, with identical schemas. */
function extendsBody(body: z.ZodObject, first: z.ZodObject): boolean {
  return Object.entries(first.shape).every(([name, field]) => body.shape[name] === field);
}

function describeResult(
  endpoint: Endpoint,
  kind: ResourceKind,
  own: EndpointAddition["result"],
): ToolFields {
  const { response, list, method, effect } = endpoint;
  if (method === "DELETE") return { deleted: otherRow };
  if (own !== undefined) return { ...own, problems };
  if (!(response instanceof z.ZodObject)) return {};
  const name = nameResult(endpoint, kind);
  if (name === undefined || list !== undefined) {
    // A list's result contains the rows and, if the list has pages, `meta`.
    const pages = list === undefined ? {} : { meta: z.looseObject({}), next: z.string() };
    return { ...describeList(response, kind), ...pages, problems };
  }
  if (effect !== "read") return { [name]: written, problems };
  const isDescribed = endpoint !== contract.shortLinks.resolve;
  return { [name]: isDescribed ? describeShown(response) : otherRow, problems };
}

function describeList({ shape }: z.ZodObject, kind: ResourceKind) {
  const lists = Object.entries(shape).filter(([, member]) => member instanceof z.ZodArray);
  const rows = z.array(kind.name === "link" ? linkRow : otherRow);
  return Object.fromEntries(lists.map(([name]) => [name, rows]));
}

/** The abbreviated schema of a record that another tool's schema describes. */
const otherRow = z.looseObject({ id: z.unknown() });
