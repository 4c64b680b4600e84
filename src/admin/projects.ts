import { messages } from "../contract/messages.ts";
import { plans } from "../contract/rights.ts";
import { notFound } from "../contract/problem.ts";
import type { ProjectFields } from "../contract/projects.ts";
import { readDestinations, writeDestinations } from "../contract/rules/destinations.ts";
import { changeProject, makeProject } from "../service/write-project.ts";
import { findProject, type ProjectSettings, type StoredProject } from "../store/projects.ts";
import { quote } from "../text/show-hidden.ts";
import { compareRecords, journal, type AdminFact, type Operator } from "./operator.ts";

/** Creates and changes projects, including the settings that only the operator can change. */

export type ProjectWrite = {
  readonly fields?: ProjectFields;
  readonly settings: Partial<ProjectSettings>;
  /** The origins of links on this server. */
  readonly linkOrigins: readonly string[];
};

export async function createProject(
  operator: Operator,
  { fields = {}, settings, linkOrigins }: ProjectWrite,
): Promise<StoredProject> {
  const { store, origin } = operator;
  const act = { tool: "projects create", realm: origin, id: null, name: fields.name ?? null };
  return journal(
    operator,
    { ...act, ...described },
    () => store.write((db) => makeProject(db, operator, fields, { ...settings, linkOrigins })),
    ({ id, links_count: _count, ...after }) => ({
      id,
      name: after.name || null,
      before: null,
      after,
    }),
  );
}

type ProjectChange = { readonly before: StoredProject; readonly after: StoredProject };

/** Changes only the given fields and settings. */
export async function updateProject(
  operator: Operator,
  project: StoredProject,
  { fields = {}, settings, linkOrigins }: ProjectWrite,
): Promise<ProjectChange> {
  const { store } = operator;
  const { id } = project;
  if (settings.suspended === true && !project.suspended) {
    await approveSuspension(operator, project, settings);
  }
  return journal(
    operator,
    { tool: "projects update", realm: id, id, name: project.name || null, ...described },
    () =>
      store.write(async (db) => {
        const before = await findProject(db, id);
        if (before === undefined) throw notFound(messages.project_not_found);
        const given = { ...settings, linkOrigins };
        return { before, after: await changeProject(db, operator, before, fields, given) };
      }),
    ({ before, after: { id: _id, links_count: _count, ...after } }) => ({
      id,
      name: after.name || null,
      ...compareRecords(before, after),
    }),
  );
}

const described = {
  kind: "project_settings",
  note:
    "There is no undo for this. Change it back in the console with a master key, or " +
    "with waypost projects update.",
} as const;

/** Suspension is the only setting that disables existing links, so only this one needs approval. */
async function approveSuspension(
  { person }: Operator,
  { id, name, subdomain, links_count }: StoredProject,
  settings: Partial<ProjectSettings>,
): Promise<void> {
  const facts: readonly AdminFact[] = [
    { name: "subdomain", text: subdomain },
    { name: "links", text: links_count.toLocaleString("en") },
    {
      name: "then",
      text: "its links stop working and its keys are rejected until you turn off “Suspended”",
    },
  ];
  const title = `Suspend the project ${quote(name)}`;
  await person?.requireApproved({
    tool: "projects update",
    args: { id, ...settings },
    target: id,
    state: { name, subdomain },
    preview: { title, button: "Suspend project", destroys: true, facts },
  });
}

type TextSetting = "plan" | "max_links" | "destinations" | "home_url" | "not_found_url";

/** Settings as a person enters them: strings and booleans. */
export type TypedSettings = Partial<Readonly<Record<TextSetting, string>>> &
  Partial<Omit<ProjectSettings, TextSetting>>;

/** An empty URL removes the setting. */
export function readProjectSettings(typed: TypedSettings): {
  readonly settings: Partial<ProjectSettings>;
  readonly faults: readonly { readonly field: string; readonly fault: string }[];
} {
  const { plan: name, max_links, destinations, home_url, not_found_url, ...switches } = typed;
  const plan = plans.find((each) => each === name);
  const hosts = destinations === undefined ? undefined : readDestinations(destinations);
  const faults: { field: string; fault: string }[] = [];
  const refuse = (field: string, fault: string) => void faults.push({ field, fault });
  if (name !== undefined && plan === undefined) refuse("plan", "is invalid");
  if (max_links !== undefined && !/^\d{1,9}$/.test(max_links)) {
    refuse("max_links", "must be a whole number");
  }
  if (hosts !== undefined && "fault" in hosts) refuse("destinations", hosts.fault);
  const settings = {
    ...switches,
    ...(plan && { plan }),
    ...(max_links !== undefined && { max_links: Number(max_links) }),
    ...(hosts && "destinations" in hosts
      ? { destinations: writeDestinations(hosts.destinations) }
      : {}),
    ...(home_url !== undefined && { home_url: home_url.trim() || null }),
    ...(not_found_url !== undefined && { not_found_url: not_found_url.trim() || null }),
  };
  return { settings, faults };
}
