import { listLinkOrigins } from "../compose/addresses.ts";
import { projectSettings } from "../compose/by-hand.ts";
import { findRecordFault, writeDomainRecord } from "../compose/domain-record.ts";
import { clock, random, withEmbedded, withKnownEmbedded } from "../compose/embedded.ts";
import { embeddedOrigin } from "../compose/deployment.ts";
import { requireProject } from "../compose/find-project.ts";
import { compareRecords, journalCommand } from "../compose/journal-command.ts";
import { UsageFault, type Config } from "../config.ts";
import { paging } from "../contract/limits.ts";
import { plans } from "../contract/pricing-plans.ts";
import type { ProjectFields } from "../contract/projects.ts";
import { readDestinations, writeDestinations } from "../contract/rules/destinations.ts";
import { fillSubdomain } from "../contract/rules/link-address.ts";
import { checkProject } from "../contract/rules/project-rules.ts";
import { isBlank } from "../contract/text.ts";
import { changeProject, makeProject } from "../service/write-project.ts";
import { listProjects, type ProjectSettings, type StoredProject } from "../store/projects.ts";
import type { Store } from "../store/store.ts";
import type { Db } from "../store/tables.ts";
import { quote, showHidden } from "../text/show-hidden.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { formatTable, print, say } from "./terminal/output.ts";

type ProjectFlags = FlagValues<FlagsOf<"projects">>;

/** `waypost projects create|list|update`. */
export async function runProjects(
  config: Config,
  [subcommand, name, ...rest]: readonly string[],
  flags: ProjectFlags,
): Promise<void> {
  const fields = readFields(flags);
  const settings = { ...readSettings(flags), linkOrigins: listLinkOrigins(config) };
  if (subcommand === "list" && name === undefined) return showProjects(config, flags);
  if (subcommand === "create" && name === undefined) {
    if (flags["verify-domain"] === true) throw new UsageFault(verifyLater);
    requireDomain(settings, fields.custom_domain);
    const made = { id: null, name: fields.name ?? null, realm: embeddedOrigin };
    return withEmbedded(config, (store) =>
      writeProject({ config, store, flags }, { ...made, tool: "projects create" }, async (db) => ({
        before: null,
        project: await makeProject(db, { clock, random }, fields, settings),
      })),
    );
  }
  if (subcommand === "update" && name !== undefined && rest.length === 0) {
    return withEmbedded(config, async (store) => {
      const project = await requireProject(store.db, name);
      const { id } = project;
      const domain = readDomain(fields, project);
      if (flags["verify-domain"] === true) await requireRecord(id, domain);
      const changed = { id, name: null, realm: id, tool: "projects update" };
      return writeProject({ config, store, flags }, changed, async (db) => {
        const before = await requireProject(db, id);
        requireDomain(settings, fields.custom_domain ?? before.custom_domain);
        const after = await changeProject(db, { clock }, before, fields, settings);
        // Another process may have changed the domain since its record was looked up.
        const isOther = flags["verify-domain"] === true && after.custom_domain !== domain;
        if (isOther) throw new UsageFault("another process changed the custom domain; try again");
        return { before, project: after };
      });
    });
  }
  throw new UsageFault(
    "use projects create, projects list or projects update ID-OR-SUBDOMAIN (see waypost --help)",
  );
}

function requireDomain(
  settings: Partial<ProjectSettings>,
  domain: string | null | undefined,
): void {
  if (settings.custom_domain_verified !== true || !isBlank(domain)) return;
  throw new UsageFault("--assume-verified needs a custom domain; add --custom-domain");
}

const verifyLater =
  "--verify-domain checks a DNS record of an existing project, so create the project first: " +
  "projects create prints the record. To skip the check, pass --assume-verified";

/** The domain after the change, in the form in which it is stored. */
function readDomain(fields: ProjectFields, { custom_domain }: StoredProject): string | null {
  return fields.custom_domain === undefined
    ? custom_domain
    : checkProject({ custom_domain: fields.custom_domain }).values.custom_domain;
}

async function requireRecord(projectId: string, domain: string | null): Promise<void> {
  if (domain === null) {
    throw new UsageFault("--verify-domain needs a custom domain; add --custom-domain");
  }
  const record = writeDomainRecord(projectId, domain);
  const fault = await findRecordFault(record);
  if (fault === undefined) return;
  throw new UsageFault(
    `the TXT record ${record.name} "${record.value}" ${fault}; add it to the domain's DNS ` +
      "and try again later, or pass --assume-verified",
  );
}

type Written = { readonly before: StoredProject | null; readonly project: StoredProject };

type Session = {
  readonly config: Config;
  readonly store: Store;
  readonly flags: ProjectFlags;
};

async function writeProject(
  { config, store, flags }: Session,
  command: Pick<Parameters<typeof journalCommand>[1], "tool" | "realm" | "id" | "name">,
  write: (db: Db) => Promise<Written>,
): Promise<void> {
  const { before, project } = await journalCommand(
    config,
    { ...command, ...projectSettings },
    () => store.write(write),
    ({ before, project: { id, name, links_count: _count, ...after } }) => {
      const named = { id, name: name === "" ? null : name };
      if (before === null) return { ...named, before, after: { name, ...after } };
      return { ...named, ...compareRecords(before, { name, ...after }) };
    },
  );
  const { id, custom_domain, custom_domain_verified } = project;
  const isWaiting = custom_domain !== null && !custom_domain_verified;
  const record = isWaiting ? writeDomainRecord(id, custom_domain) : undefined;
  if (flags.json === true) {
    return print(JSON.stringify({ ...project, ...(record && { domain_record: record }) }));
  }
  print(id);
  say(`Project ${nameProject(project)}: ${describe(project)}.`);
  if (before !== null) say(describeChanges(before, project));
  if (before !== null && before.subdomain !== project.subdomain) {
    const [origin = ""] = listLinkOrigins(config);
    const [old, current] = [before, project].map((each) => fillSubdomain(origin, each));
    if (old !== current) {
      say(`Its links are now at ${current}. Their old addresses at ${old} no longer work.`);
    }
  }
  if (record === undefined || before?.custom_domain === custom_domain) return;
  say(`To verify ${custom_domain}, add this record to its DNS:`);
  say(`  ${record.name}  TXT  "${record.value}"`);
  say(`Then run: waypost projects update ${project.subdomain} --verify-domain`);
}

function nameProject({ name, subdomain }: StoredProject): string {
  return name === "" ? subdomain : `${quote(name)} (${subdomain})`;
}

/** Old and new values of what the command changed. */
function describeChanges(
  { links_count: _before, ...before }: StoredProject,
  { links_count: _after, ...after }: StoredProject,
): string {
  const changed = compareRecords(before, after);
  const parts = Object.keys(changed.after).map(
    (field) =>
      `${field} from ${showValue(changed.before[field])} to ${showValue(changed.after[field])}`,
  );
  return parts.length === 0 ? "Nothing changed." : `Changed ${parts.join(", ")}.`;
}

function showValue(value: unknown): string {
  if (value === null) return "none";
  return typeof value === "string" ? quote(value) : JSON.stringify(value);
}

async function showProjects(config: Config, flags: ProjectFlags): Promise<void> {
  const projects = await withKnownEmbedded(config, (store) => readAll(store.db));
  if (flags.json === true) return print(JSON.stringify({ projects }));
  const rows = projects.map((project) => [
    project.id,
    project.subdomain,
    showHidden(project.name),
    String(project.links_count),
    describe(project),
  ]);
  print(formatTable([["ID", "SUBDOMAIN", "NAME", "LINKS", "SETTINGS"], ...rows]));
}

async function readAll(db: Db): Promise<readonly StoredProject[]> {
  const all: StoredProject[] = [];
  const sorts = [{ field: "created_at", direction: "asc" }] as const;
  for (let page = 1; ; page += 1) {
    const { items, meta } = await listProjects(db, {
      page,
      limit: paging.max_limit,
      filters: [],
      sorts,
    });
    all.push(...items);
    if (!meta.next) return all;
  }
}

function describe(project: StoredProject): string {
  const { plan, max_links, custom_domain, custom_domain_verified: isVerified } = project;
  const domain = `custom domain ${custom_domain} (${isVerified ? "" : "not "}verified)`;
  return [
    plan === "free" ? `free plan, at most ${max_links} links` : "pro plan",
    `templates ${project.templates_enabled ? "on" : "off"}`,
    ...(project.link_in_referrer ? ["link in referrer on"] : []),
    ...(project.clipboard ? ["clipboard on"] : []),
    ...(custom_domain === null ? [] : [domain]),
    ...(project.destinations === null ? [] : [`destinations limited to ${project.destinations}`]),
    ...(project.home_url === null ? [] : [`home page redirects to ${project.home_url}`]),
    ...(project.not_found_url === null
      ? []
      : [`unknown paths redirect to ${project.not_found_url}`]),
    ...(project.suspended ? ["suspended"] : []),
  ].join(", ");
}

function readFields(flags: ProjectFlags): ProjectFields {
  const { name, subdomain, "custom-domain": custom_domain } = flags;
  return {
    ...(name !== undefined && { name }),
    ...(subdomain !== undefined && { subdomain }),
    ...(custom_domain !== undefined && { custom_domain }),
  };
}

function readSettings(flags: ProjectFlags): Partial<ProjectSettings> {
  const { plan, "max-links": links, templates, suspend, "link-in-referrer": referrer } = flags;
  return {
    ...(plan !== undefined && { plan: readPlan(plan) }),
    ...(links !== undefined && { max_links: readCount(links) }),
    ...(templates !== undefined && { templates_enabled: readSwitch("templates", templates) }),
    ...(referrer !== undefined && { link_in_referrer: readSwitch("link-in-referrer", referrer) }),
    ...(flags.clipboard !== undefined && { clipboard: readSwitch("clipboard", flags.clipboard) }),
    ...(suspend !== undefined && { suspended: readSwitch("suspend", suspend) }),
    ...(flags.destinations !== undefined && { destinations: readHosts(flags.destinations) }),
    ...(flags.home !== undefined && { home_url: flags.home || null }),
    ...(flags["not-found"] !== undefined && { not_found_url: flags["not-found"] || null }),
    ...((flags["verify-domain"] === true || flags["assume-verified"] === true) && {
      custom_domain_verified: true,
    }),
  };
}

function readPlan(text: string): "free" | "pro" {
  const plan = plans.find((name) => name === text);
  if (plan === undefined) throw new UsageFault(`--plan takes ${plans.join(" or ")}`);
  return plan;
}

function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageFault("--max-links takes a whole number");
  return Number(text);
}

function readHosts(text: string): string | null {
  const read = readDestinations(text);
  if ("fault" in read) throw new UsageFault(`--destinations ${read.fault}`);
  return writeDestinations(read.destinations);
}

function readSwitch(flag: string, text: string): boolean {
  if (text !== "on" && text !== "off") throw new UsageFault(`--${flag} takes on or off`);
  return text === "on";
}
