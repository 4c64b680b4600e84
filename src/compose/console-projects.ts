import { findRefusal } from "../contract/access.ts";
import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { plans } from "../contract/pricing-plans.ts";
import { faultOf, notFound, validationFailed, type FieldProblem } from "../contract/problem.ts";
import { readDestinations, writeDestinations } from "../contract/rules/destinations.ts";
import { isBlank } from "../contract/text.ts";
import type { Fact } from "../mcp/approval/approval-request.ts";
import { changeProject, checkPages } from "../service/write-project.ts";
import { findProject, type ProjectSettings, type StoredProject } from "../store/projects.ts";
import { quote } from "../text/show-hidden.ts";
import { listLinkOrigins } from "./addresses.ts";
import { projectSettings } from "./by-hand.ts";
import { mayChange, readNoting, readOwn, requireYes } from "./console-act.ts";
import type { Acting, ConsoleAct } from "./console-act.ts";
import { clock } from "./embedded.ts";
import { compareRecords, journalAct } from "./journal-command.ts";

/** What the API does not show of a project: as `waypost projects` sets it, for a master key. */

export const projectActs: Readonly<Record<string, ConsoleAct>> = {
  get_project_settings: { isThere: isMaster, run: readSettings },
  update_project_settings: {
    isThere: (acting) =>
      isMaster(acting) && mayChange(acting) && acting.keyContext.mayAsk(contract.projects.update),
    run: changeSettings,
  },
};

function isMaster({ deployment, keyContext }: Acting): boolean {
  const { facts } = keyContext.known;
  if (deployment.own === undefined || facts === undefined) return false;
  return findRefusal(contract.projects.show, facts) === undefined;
}

async function readSettings({ id }: JsonObject, acting: Acting): Promise<JsonObject> {
  return { project: await requireProject(id, acting) };
}

async function requireProject(id: unknown, acting: Acting): Promise<StoredProject> {
  const project =
    typeof id === "string" ? await findProject(readOwn(acting).store.db, id) : undefined;
  if (project === undefined) throw notFound(messages.project_not_found);
  return project;
}

/** Only what is given is changed. */
async function changeSettings({ id, ...given }: JsonObject, acting: Acting): Promise<JsonObject> {
  const { store } = readOwn(acting);
  const project = await requireProject(id, acting);
  const linkOrigins = listLinkOrigins(acting.config);
  const settings = parseSettings(given, project, linkOrigins);
  if (settings.suspended === true && !project.suspended) await approve(project, given, acting);
  const named = { id: project.id, name: project.name || null };
  const changed = await journalAct(
    await readNoting(acting),
    { tool: "projects update", realm: project.id, ...projectSettings, ...named },
    () =>
      store.write(async (db) => {
        const before = await findProject(db, project.id);
        if (before === undefined) throw notFound(messages.project_not_found);
        const after = await changeProject(db, { clock }, before, {}, { ...settings, linkOrigins });
        return { before, after };
      }),
    ({ before, after: { id: _id, links_count: _count, ...after } }) => ({
      ...named,
      ...compareRecords(before, after),
    }),
  );
  return { project: changed.after };
}

type Read = { readonly settings: Partial<ProjectSettings> } | { readonly problem: FieldProblem };

function parseSettings(
  given: JsonObject,
  project: StoredProject,
  linkOrigins: readonly string[],
): Partial<ProjectSettings> {
  const plan = readPlan(given["plan"]);
  const count = readCount(given["max_links"]);
  const hosts = readHosts(given["destinations"]);
  const verified = readVerified(given["custom_domain_verified"], project);
  const read = [plan, count, hosts, verified];
  const known = { ...take(plan), ...take(count), ...take(hosts), ...take(verified) };
  const settings = { ...known, ...pickFlags(given), ...pickAddresses(given) };
  const problems = [
    ...read.flatMap((each) => ("problem" in each ? [each.problem] : [])),
    ...checkPages(settings, { ...project, ...settings }, linkOrigins),
  ];
  if (problems.length > 0) throw validationFailed(problems);
  return settings;
}

function take(read: Read): Partial<ProjectSettings> {
  return "settings" in read ? read.settings : {};
}

const unchanged: Read = { settings: {} };

function readPlan(given: unknown): Read {
  if (given === undefined) return unchanged;
  const plan = plans.find((name) => name === given);
  return plan === undefined ? refuse("plan", "is invalid") : { settings: { plan } };
}

function readCount(given: unknown): Read {
  if (given === undefined) return unchanged;
  if (typeof given === "string" && /^\d{1,9}$/.test(given)) {
    return { settings: { max_links: Number(given) } };
  }
  return refuse("max_links", "must be a whole number");
}

/** An empty text allows every host. */
function readHosts(given: unknown): Read {
  if (typeof given !== "string") return unchanged;
  if (given.trim() === "") return { settings: { destinations: null } };
  const read = readDestinations(given);
  if ("fault" in read) return refuse("destinations", read.fault);
  return { settings: { destinations: writeDestinations(read.destinations) } };
}

function readVerified(given: unknown, { custom_domain }: StoredProject): Read {
  if (typeof given !== "boolean") return unchanged;
  if (given && isBlank(custom_domain)) {
    return refuse("custom_domain_verified", "needs a custom domain first");
  }
  return { settings: { custom_domain_verified: given } };
}

function refuse(field: string, fault: string): Read {
  return { problem: faultOf(field, fault) };
}

const flags = ["templates_enabled", "link_in_referrer", "clipboard", "suspended"] as const;

function pickFlags(given: JsonObject): Partial<ProjectSettings> {
  const found = flags.flatMap((name) => {
    const value = given[name];
    return typeof value === "boolean" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}

/** An empty one is none. */
function pickAddresses(given: JsonObject): Partial<ProjectSettings> {
  const found = (["home_url", "not_found_url"] as const).flatMap((name) => {
    const value = given[name];
    return typeof value === "string" ? [[name, value.trim() || null] as const] : [];
  });
  return Object.fromEntries(found);
}

/** Nothing else that is set here stops links that work. */
function approve(project: StoredProject, given: JsonObject, acting: Acting): Promise<void> {
  const { id, name, links_count } = project;
  const title = `Suspend the project ${quote(name)}`;
  const facts: readonly Fact[] = [
    { name: "subdomain", text: project.subdomain },
    { name: "links", text: links_count.toLocaleString("en") },
    {
      name: "then",
      text: "its links stop working and its keys are rejected until you turn off “Suspended”",
    },
  ];
  const preview = { title, button: "Suspend project", destroys: true, facts };
  const state = { name, subdomain: project.subdomain };
  const request = { tool: "projects update", args: { id, ...given }, target: id, state, preview };
  return requireYes(request, acting);
}
