import type { TypedSettings } from "../../admin/projects.ts";
import type { JsonObject } from "../../contract/json.ts";
import { plans } from "../../contract/rights.ts";
import type { Field } from "../form-fields.ts";
import { html, type Part } from "../html.ts";
import { goToLast, renderAnswer, renderPaging, renderRows } from "../list-parts.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import { renderBox, renderCard, renderCopy, renderFacts, writeNumber } from "../parts.ts";
import { readPage } from "../read-address.ts";
import { createRecordPages } from "../record-page.ts";
import type { Records } from "../records.ts";
import { renderHistory } from "../render-changes.ts";

/** The pages for projects: the list, and pages to create, edit and delete a project. */

const list = { name: "Projects", address: "/projects" };

const projectsPage: Page = {
  path: /^\/projects$/,
  entry: { ...list, group: "Service", icon: "M2.5 12.5v-9h4l1.5 2h5.5v7z" },
  needs: "list_projects",
  show,
};

/** Settings that the API can change. */
const projectFields: readonly Field[] = [
  { name: "name", kind: "text", hint: "Visitors see this name on the link host's pages." },
  {
    name: "subdomain",
    kind: "text",
    isExact: true,
    hint: "The first part of the link host, such as shop in shop.example.com.",
  },
  {
    name: "custom_domain",
    kind: "text",
    isBroad: true,
    isExact: true,
    hint: "Your own domain for the links. It works after you verify it.",
  },
];

/** Settings that only the operator can change. */
const settingFields: readonly Field[] = [
  {
    name: "plan",
    label: "Plan",
    kind: "choice",
    choices: plans.map((value) => ({ value, name: value === "pro" ? "Pro" : "Free" })),
  },
  { name: "max_links", label: "Link limit", kind: "text", hint: "Applies to the Free plan only." },
  {
    name: "home_url",
    label: "Home page",
    kind: "text",
    isExact: true,
    hint:
      "The root of the link host redirects here. If this is empty, the root shows the " +
      "project's name.",
  },
  {
    name: "not_found_url",
    label: "404 page",
    kind: "text",
    isExact: true,
    hint: "Paths without a link redirect here. If this is empty, visitors see a plain 404 page.",
  },
  {
    name: "destinations",
    label: "Allowed destinations",
    kind: "text",
    isBroad: true,
    isExact: true,
    hint:
      "Links may redirect only to these hosts, such as example.com or *.example.com. If this is " +
      "empty, every host is allowed.",
  },
  {
    name: "custom_domain_verified",
    label: "The custom domain is verified",
    kind: "check",
    hint: "Turn this on yourself, or let waypost projects update --verify-domain check the DNS.",
  },
  {
    name: "templates_enabled",
    label: "Page templates",
    kind: "check",
    hint: "The project may use its own page template.",
  },
  {
    name: "link_in_referrer",
    label: "Link in referrer",
    kind: "check",
    hint: "Google Play passes the visited link to the Android app.",
  },
  {
    name: "clipboard",
    label: "Clipboard",
    kind: "check",
    hint:
      "On iPhones, the App Store button copies an address. After the install, the app uses it to " +
      "find the link.",
  },
  {
    name: "suspended",
    label: "Suspended",
    kind: "check",
    hint: "The project's links stop working, and its keys are rejected.",
  },
];

export const projectPages: readonly Page[] = [
  projectsPage,
  ...createRecordPages({
    name: "project",
    label: "project",
    title: "Project",
    base: list.address,
    list,
    creation: { tool: "create_project", button: "Create project", note: "founded" },
    form: { heading: "Project", fields: projectFields },
    settings: {
      heading: "Settings",
      suffix: "/settings",
      fields: settingFields,
      tool: "update_project_settings",
      read: async (id, account) => {
        if (!account.mayUse("get_project_settings")) return undefined;
        const answer = await account.admin.readProjectSettings(id);
        const isGone = answer.kind === "failed" && answer.failure.code === "404";
        return answer.kind === "asks" || isGone ? undefined : answer;
      },
      save: (id, changes, account) =>
        account.admin.updateProjectSettings(id, writeSettings(changes)),
    },
    names: ({ name, subdomain }) => [name, subdomain],
    loadView: async (request, project) => ({ side: await renderSide(request, project) }),
    deleted: "closed",
  }),
];

/** Builds the settings to save. An empty list of hosts allows all hosts. */
function writeSettings(changes: JsonObject): TypedSettings {
  const isAny = changes["destinations"] === "";
  return { ...changes, ...(isAny && { destinations: "any" }) };
}

/** Changes to settings are in the project's history. A master key cannot read that history. */
const noChanges =
  "No changes with a master key yet. To see all changes, sign in with a key of this project.";

type ShownProject = Records["project"];

async function renderSide(
  request: PageRequest,
  { id, subdomain, links_count }: ShownProject,
): Promise<Part> {
  const command = `waypost keys create --project ${subdomain ?? ""}`;
  const keys = html`<p class="soft">
      A master key manages only projects. To manage this project's links, create a key on the
      machine that runs Waypost:
    </p>
    ${renderCopy(command, "make-key", "Copy the command")}`;
  const facts = renderFacts([
    ["Links", writeNumber(links_count)],
    ["ID", id],
  ]);
  return [
    renderCard("About", { inside: facts }),
    request.account.mayUse("get_project_settings") && renderCard("Keys", { inside: keys }),
    await renderHistory(request, id, noChanges),
  ];
}

const perPage = 25;

async function show({ account, url }: PageRequest): Promise<Reply> {
  const answer = await account.call("list_projects", { page: readPage(url), limit: perPage });
  const past = goToLast(url, answer);
  if (past !== undefined) return past;
  const below = renderAnswer(answer, ({ projects, meta }) =>
    renderRows({
      things: "Projects",
      columns,
      rows: projects,
      empty: "No projects yet.",
      paging: renderPaging(meta, "projects", "/projects?page="),
    }),
  );
  return {
    kind: "page",
    title: "Projects",
    actions:
      account.mayUse("create_project") &&
      html`<a class="button main" href="/projects/new">New project</a>`,
    body: renderBox("Projects", { below }),
  };
}

const columns = [
  {
    name: "Project",
    cell: (project: ShownProject) =>
      html`<a class="line" href="/projects/${encodeURIComponent(project.id)}" dir="auto"
          >${project.name || project.subdomain}</a
        >
        <span class="line soft" dir="auto">${project.subdomain}</span>
        <span class="line soft early" dir="auto">${project.custom_domain}</span>
        <span class="early">${renderTag(project)}</span>`,
  },
  {
    name: "Domain",
    look: "late",
    cell: (project: ShownProject) =>
      html`<span class="line soft" dir="auto">${project.custom_domain}${renderTag(project)}</span>`,
  },
  {
    name: "Links",
    look: "number slim",
    cell: ({ links_count }: ShownProject) => writeNumber(links_count),
  },
];

function renderTag({ custom_domain, custom_domain_verified }: ShownProject): Part {
  return custom_domain && !custom_domain_verified && html` <span class="tag">not verified</span>`;
}
