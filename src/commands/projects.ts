import { compareRecords, type Operator } from "../admin/operator.ts";
import { createProject, readProjectSettings, updateProject } from "../admin/projects.ts";
import { listLinkOrigins } from "../app/http/addresses.ts";
import { findRecordFault, writeDomainRecord } from "../app/process/domain-record.ts";
import { withKnownEmbedded } from "../app/process/embedded.ts";
import { requireProject } from "../app/process/find-project.ts";
import { withOperator } from "../app/process/with-operator.ts";
import { UsageFault, type Config } from "../config.ts";
import { paging } from "../contract/limits.ts";
import { plans } from "../contract/pricing-plans.ts";
import type { ProjectFields } from "../contract/projects.ts";
import { fillSubdomain } from "../contract/rules/link-address.ts";
import { checkProject } from "../contract/rules/project-rules.ts";
import { isBlank } from "../contract/text.ts";
import { listProjects, type ProjectSettings, type StoredProject } from "../store/projects.ts";
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
  const settings = readSettings(flags);
  const linkOrigins = listLinkOrigins(config);
  const written = { fields, settings, linkOrigins };
  if (subcommand === "list" && name === undefined) return showProjects(config, flags);
  if (subcommand === "create" && name === undefined) {
    if (flags["verify-domain"] === true) throw new UsageFault(verifyLater);
    requireDomain(settings, fields.custom_domain);
    const create = (operator: Operator) => createProject(operator, written);
    const after = await withOperator(config, create, { mayCreate: true });
    return showWritten({ before: undefined, after }, linkOrigins, flags);
  }
  if (subcommand === "update" && name !== undefined && rest.length === 0) {
    const update = async (operator: Operator) => {
      const project = await requireProject(operator.store.db, name);
      const domain = readDomain(fields, project);
      if (flags["verify-domain"] === true) await requireRecord(project.id, domain);
      requireDomain(settings, domain);
      return updateProject(operator, project, written, (after) => {
        // Another process may have changed the domain since its record was looked up.
        const isOther = flags["verify-domain"] === true && after.custom_domain !== domain;
        if (isOther) throw new UsageFault("another process changed the custom domain; try again");
      });
    };
    const changed = await withOperator(config, update, { mayCreate: true });
    return showWritten(changed, linkOrigins, flags);
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

type Written = { readonly before: StoredProject | undefined; readonly after: StoredProject };

function showWritten(
  { before, after: project }: Written,
  [origin = ""]: readonly string[],
  flags: ProjectFlags,
): void {
  const { id, custom_domain, custom_domain_verified } = project;
  const isWaiting = custom_domain !== null && !custom_domain_verified;
  const record = isWaiting ? writeDomainRecord(id, custom_domain) : undefined;
  if (flags.json === true) {
    return print(JSON.stringify({ ...project, ...(record && { domain_record: record }) }));
  }
  print(id);
  say(`Project ${nameProject(project)}: ${describe(project)}.`);
  if (before !== undefined) say(describeChanges(before, project));
  if (before !== undefined && before.subdomain !== project.subdomain) {
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
  const { plan, "max-links": max_links, destinations, home: home_url } = flags;
  const typed = { plan, max_links, destinations, home_url, not_found_url: flags["not-found"] };
  const switches = Object.entries(switchFlags).flatMap(([field, flag]) => {
    const text = flags[flag];
    return text === undefined ? [] : [[field, readSwitch(flag, text)] as const];
  });
  const isVerified = flags["verify-domain"] === true || flags["assume-verified"] === true;
  const { settings, faults } = readProjectSettings({
    ...Object.fromEntries(Object.entries(typed).filter(([, text]) => text !== undefined)),
    ...Object.fromEntries(switches),
    ...(isVerified && { custom_domain_verified: true }),
  });
  const [first] = faults;
  if (first === undefined) return settings;
  const { field, fault } = first;
  throw new UsageFault(`--${field.replaceAll("_", "-")} ${accepted[field] ?? fault}`);
}

/** What a flag takes, where that says more than the fault of the field. */
const accepted: Readonly<Record<string, string>> = {
  plan: `takes ${plans.join(" or ")}`,
  max_links: "takes a whole number",
};

const switchFlags = {
  templates_enabled: "templates",
  link_in_referrer: "link-in-referrer",
  clipboard: "clipboard",
  suspended: "suspend",
} as const;

function readSwitch(flag: string, text: string): boolean {
  if (text !== "on" && text !== "off") throw new UsageFault(`--${flag} takes on or off`);
  return text === "on";
}
