import { compareRecords, type Operator } from "../admin/operator.ts";
import { createProject, readProjectSettings, updateProject } from "../admin/projects.ts";
import { listLinkOrigins } from "../app/http/addresses.ts";
import { findRecordFault, writeDomainRecord } from "../app/process/domain-record.ts";
import { requireProject, withOperator } from "../app/process/with-operator.ts";
import { UsageFault } from "../config.ts";
import { plans } from "../contract/rights.ts";
import type { ProjectFields } from "../contract/projects.ts";
import { fillSubdomain } from "../contract/rules/link-address.ts";
import { checkProject } from "../contract/rules/project-rules.ts";
import { isBlank } from "../contract/text.ts";
import { listProjects, type ProjectSettings, type StoredProject } from "../store/projects.ts";
import { quote, showHidden } from "../text/show-hidden.ts";
import { jsonHelp, pickGiven, type Command, type Invocation } from "./terminal/command.ts";
import { print, printJson, printTable, say } from "./terminal/output.ts";

/** `waypost projects` creates, lists and changes projects. */

const projectFlags = {
  "--name NAME": "the name, which visitors see on the home page",
  "--subdomain NAME":
    "the first part of the link host; after a change, the old addresses stop working",
  "--plan free|pro": "the plan (default: pro)",
  "--max-links N": "how many links the free plan allows (default: 1000)",
  "--templates on|off": "whether the project has page templates (default: on)",
  "--suspend on|off":
    "whether the project is suspended, which stops its links and keys (default: off)",
  "--custom-domain DOMAIN": "your own domain for the project's links",
  "--verify-domain":
    "update: verify the custom domain by its TXT record, which `--custom-domain` prints",
  "--assume-verified": "mark the custom domain as verified without checking its TXT record",
  "--link-in-referrer on|off": "send the link to Android apps through Google Play (default: off)",
  "--clipboard on|off":
    "on iPhones, the App Store button of the preview page copies an address that a newly " +
    "installed app can use once to find its link (default: off)",
  "--destinations A,*.B": "the only hosts that new or changed links may redirect to (default: any)",
  "--home URL": 'the address that the root of the link host redirects to; `""` clears it',
  "--not-found URL": 'the address that unknown paths redirect to; `""` clears it',
  "--json": jsonHelp,
};

export const projects: Command<typeof projectFlags> = {
  usages: {
    "projects create": ["create a project", create],
    "projects list": ["list the projects and their settings", list],
    "projects update ID-OR-SUBDOMAIN": ["change a project", update],
  },
  flags: projectFlags,
};

type ProjectInvocation = Invocation<typeof projectFlags>;

async function create(invocation: ProjectInvocation): Promise<void> {
  const written = readWrite(invocation);
  requireDomain(invocation, written.fields.custom_domain);
  const make = (operator: Operator) => createProject(operator, written);
  const after = await withOperator(invocation.config, make, { mayCreate: true });
  showWritten({ after }, invocation);
}

async function update(invocation: ProjectInvocation, name: string): Promise<void> {
  const written = readWrite(invocation);
  const verifies = invocation.flags["verify-domain"] === true;
  const change = async (operator: Operator) => {
    const project = await requireProject(operator.store.db, name);
    const { custom_domain } = checkProject({ ...project, ...written.fields }).values;
    requireDomain(invocation, custom_domain);
    if (!verifies) return updateProject(operator, project, written);
    await requireRecord(project.id, custom_domain ?? "");
    // The verified domain is saved too, because another process may have changed the project's
    // domain since the DNS record was checked.
    const fields = { ...written.fields, custom_domain };
    return updateProject(operator, project, { ...written, fields });
  };
  showWritten(await withOperator(invocation.config, change), invocation);
}

function readWrite({ config, flags }: ProjectInvocation) {
  const { name, subdomain, "custom-domain": custom_domain } = flags;
  const fields: ProjectFields = pickGiven({ name, subdomain, custom_domain });
  return { fields, settings: readSettings(flags), linkOrigins: listLinkOrigins(config) };
}

function requireDomain({ flags }: ProjectInvocation, domain: string | null | undefined): void {
  const names = ["verify-domain", "assume-verified"] as const;
  const flag = names.find((each) => flags[each] === true);
  if (flag === undefined || !isBlank(domain)) return;
  throw new UsageFault(`--${flag} needs a custom domain; add --custom-domain`);
}

async function requireRecord(projectId: string, domain: string): Promise<void> {
  const record = writeDomainRecord(projectId, domain);
  const fault = await findRecordFault(record);
  if (fault === undefined) return;
  throw new UsageFault(
    `the TXT record ${record.name} "${record.value}" ${fault}; add it to the domain's DNS ` +
      "and try again later, or pass --assume-verified",
  );
}

type WrittenProject = { readonly before?: StoredProject; readonly after: StoredProject };

function showWritten(
  { before, after: project }: WrittenProject,
  { config, flags }: ProjectInvocation,
): void {
  const { id, custom_domain, custom_domain_verified } = project;
  const isWaiting = custom_domain !== null && !custom_domain_verified;
  const record = isWaiting ? writeDomainRecord(id, custom_domain) : undefined;
  if (flags.json === true) {
    return printJson({ ...project, ...(record && { domain_record: record }) });
  }
  const { name, subdomain } = project;
  print(id);
  const title = name === "" ? subdomain : `${quote(name)} (${subdomain})`;
  say(`Project ${title}: ${describe(project)}.`);
  if (before !== undefined) {
    say(describeChanges(before, project));
    const [origin = ""] = listLinkOrigins(config);
    const [old, current] = [before, project].map((each) => fillSubdomain(origin, each));
    if (old !== current) {
      say(`Its links are now at ${current}. Their old addresses at ${old} no longer work.`);
    }
  }
  if (record === undefined || before?.custom_domain === custom_domain) return;
  say(`To verify ${custom_domain}, add this record to its DNS:`);
  say(`  ${record.name}  TXT  "${record.value}"`);
  say(`Then run: waypost projects update ${subdomain} --verify-domain`);
}

function describeChanges(before: StoredProject, after: StoredProject): string {
  const changed = compareRecords(before, after);
  const fields = Object.keys(changed.after).filter((field) => field !== "links_count");
  const parts = fields.map((field) => {
    const [from, to] = [changed.before[field], changed.after[field]].map(showValue);
    return `${field} from ${from} to ${to}`;
  });
  return parts.length === 0 ? "Nothing changed." : `Changed ${parts.join(", ")}.`;
}

function showValue(value: unknown): string {
  if (value === null) return "none";
  return typeof value === "string" ? quote(value) : JSON.stringify(value);
}

async function list(invocation: ProjectInvocation): Promise<void> {
  const { config, flags } = invocation;
  const { fields, settings } = readWrite(invocation);
  if (Object.keys({ ...fields, ...settings }).length > 0) {
    throw new UsageFault("projects list lists all projects and takes no flag but --json");
  }
  const { items } = await withOperator(config, ({ store }) => listProjects(store.db, everyProject));
  if (flags.json === true) return printJson({ projects: items });
  printTable(
    ["ID", "SUBDOMAIN", "NAME", "LINKS", "SETTINGS"],
    items.map((project) => {
      const { id, subdomain, name, links_count } = project;
      return [id, subdomain, showHidden(name), String(links_count), describe(project)];
    }),
  );
}

const everyProject = {
  page: 1,
  limit: Number.MAX_SAFE_INTEGER,
  filters: [],
  sorts: [{ field: "created_at", direction: "asc" }],
} as const;

function describe(project: StoredProject): string {
  const { plan, max_links, custom_domain, custom_domain_verified: isVerified } = project;
  const { destinations, home_url, not_found_url } = project;
  const parts = [
    plan === "free" ? `free plan, at most ${max_links} links` : "pro plan",
    `templates ${project.templates_enabled ? "on" : "off"}`,
    project.link_in_referrer && "link in referrer on",
    project.clipboard && "clipboard on",
    custom_domain && `custom domain ${custom_domain} (${isVerified ? "" : "not "}verified)`,
    destinations !== null && `destinations limited to ${destinations}`,
    home_url && `home page redirects to ${home_url}`,
    not_found_url && `unknown paths redirect to ${not_found_url}`,
    project.suspended && "suspended",
  ];
  return parts.filter(Boolean).join(", ");
}

function readSettings(flags: ProjectInvocation["flags"]): Partial<ProjectSettings> {
  const isVerified = flags["verify-domain"] === true || flags["assume-verified"] === true;
  const { settings, faults } = readProjectSettings(
    pickGiven({
      plan: flags.plan,
      max_links: flags["max-links"],
      destinations: flags.destinations,
      home_url: flags.home,
      not_found_url: flags["not-found"],
      templates_enabled: readSwitch("templates", flags.templates),
      link_in_referrer: readSwitch("link-in-referrer", flags["link-in-referrer"]),
      clipboard: readSwitch("clipboard", flags.clipboard),
      suspended: readSwitch("suspend", flags.suspend),
      custom_domain_verified: isVerified || undefined,
    }),
  );
  const [first] = faults;
  if (first === undefined) return settings;
  const { field, fault } = first;
  throw new UsageFault(`--${field.replaceAll("_", "-")} ${accepted[field] ?? fault}`);
}

const accepted: Readonly<Record<string, string>> = {
  plan: `takes ${plans.join(" or ")}`,
  max_links: "takes a whole number",
};

function readSwitch(flag: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text !== "on" && text !== "off") throw new UsageFault(`--${flag} takes on or off`);
  return text === "on";
}
