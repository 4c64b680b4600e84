import * as z from "zod";
import { asCreate, asDestroy, asRead, asUpdate, type Endpoint } from "./endpoint.ts";
import { byId, meta, storedId, storedText, text } from "./fields.ts";
import { projectFilters } from "./filters.ts";
import { defaultMaxLinks } from "./rights.ts";

/** The endpoints of projects. They need a master key. */

const project = z.looseObject({
  id: storedId,
  name: z.string(),
  subdomain: z.string(),
  custom_domain: storedText,
  custom_domain_verified: z.boolean(),
  links_count: z.int(),
});
export type Project = z.output<typeof project>;

const projectFields = z.object({
  name: text("Name."),
  subdomain: text("Subdomain of the link host."),
  custom_domain: text("Custom link host, once verified."),
});
export type ProjectFields = z.output<typeof projectFields>;

/**
 * The default values of settings that only the operator can see and change, with `waypost
 * projects`.
 */
export const defaultProjectSettings = {
  plan: "pro",
  templates_enabled: true,
  link_in_referrer: false,
  clipboard: false,
  max_links: defaultMaxLinks,
  suspended: false,
  custom_domain_verified: false,
  destinations: null,
  home_url: null,
  not_found_url: null,
} as const;

export const projects = {
  index: {
    ...asRead,
    path: "/projects",
    tool: "list_projects",
    title: "List projects",
    summary: "List the projects.",
    auth: "master",
    list: { name: "projects", filters: projectFilters },
    response: z.looseObject({ projects: z.array(project), meta }),
  },
  create: {
    ...asCreate,
    path: "/projects",
    tool: "create_project",
    title: "Create a project",
    summary: "Create a project.",
    auth: "master",
    body: projectFields,
    // The API's specification does not list the required fields.
    needed_here: ["name", "subdomain"],
    wrapper: "project",
    response: project,
  },
  show: {
    ...asRead,
    path: "/projects/:id",
    tool: "get_project",
    title: "Get a project",
    summary: "Read one project.",
    auth: "master",
    params: byId,
    response: project,
  },
  update: {
    ...asUpdate,
    path: "/projects/:id",
    tool: "update_project",
    title: "Update a project",
    summary: "Change the given fields of a project.",
    auth: "master",
    patch_only: true,
    params: byId,
    body: projectFields,
    wrapper: "project",
    response: project,
    approval_fields: ["subdomain", "custom_domain"],
  },
  destroy: {
    ...asDestroy,
    path: "/projects/:id",
    tool: "delete_project",
    title: "Delete a project",
    summary: "Permanently delete a project with its links, apps and keys.",
    auth: "master",
    params: byId,
  },
} as const satisfies Record<string, Endpoint>;
