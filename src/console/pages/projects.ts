import type { JsonObject } from "../../contract/json.ts";
import type { Failure } from "../account.ts";
import { act } from "../act.ts";
import {
  readTyped,
  renderField,
  renderGuard,
  renderOthers,
  writeFields,
  type Values,
} from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import { leadToLast, renderAnswer, renderPaging } from "../list-parts.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderHead, renderHidden, renderNote, renderTable } from "../parts.ts";
import { readNumber, readPage, readRecord, readRecords, readText } from "../read.ts";
import { projectFields, projectList, writeProjectAddress } from "./project-fields.ts";

/** All projects, for whoever has a master key, and the form for a new one. */
export const projectsPage: Page = {
  path: /^\/projects$/,
  entry: {
    name: projectList.name,
    address: projectList.address,
    group: "Service",
    icon: "M2.5 12.5v-9h4l1.5 2h5.5v7z",
  },
  needs: "list_projects",
  show,
};

export const newProjectPage: Page = {
  path: /^\/projects\/new$/,
  needs: "create_project",
  show: (visit) => showNew(visit),
  submit: create,
};

const perPage = 25;

async function show({ account, url }: Visit): Promise<Reply> {
  const page = readPage(url);
  const answer = await account.call("list_projects", { page, limit: perPage });
  const past = leadToLast(url, answer);
  if (past !== undefined) return past;
  const list = renderAnswer(answer, renderList);
  const body = html`<div class="head">
      <h1>Projects</h1>
      ${
        account.mayUse("create_project")
          ? html`<a class="button main" href="/projects/new">New project</a>`
          : ""
      }
    </div>
    ${renderNote(url)}
    <section class="card" aria-label="Projects">${list}</section>`;
  return { kind: "page", title: "Projects", body };
}

function renderList(result: JsonObject): Html {
  const projects = readRecords(result, "projects");
  if (projects.length === 0) return html`<div class="empty"><p>No projects yet.</p></div>`;
  return html`${renderTable("Projects", columns, projects.map(renderRow))}
  ${renderPaging(readRecord(result, "meta"), "projects", "/projects?page=")}`;
}

const columns = [
  { name: "Project" },
  { name: "Domain", look: "late" },
  { name: "Links", look: "number slim" },
];

function renderRow(project: JsonObject): Html {
  const [name, subdomain] = [readText(project, "name"), readText(project, "subdomain")];
  const domain = readText(project, "custom_domain");
  const isWaiting = domain !== "" && project["custom_domain_verified"] !== true;
  const tag = isWaiting ? html` <span class="tag">not verified</span>` : "";
  return html`<tr>
    <td>
      <a class="line" href="${writeProjectAddress(readText(project, "id"))}" dir="auto"
        >${name || subdomain}</a
      >
      <span class="line soft" dir="auto">${subdomain}</span>
      <span class="line soft early" dir="auto">${domain}</span>
      <span class="early">${tag}</span>
    </td>
    <td class="late"><span class="line soft" dir="auto">${domain}${tag}</span></td>
    <td class="number">${readNumber(project, "links_count").toLocaleString("en")}</td>
  </tr>`;
}

function showNew(visit: Visit, typed?: Values, failure?: Failure): Promise<Reply> {
  const { formToken, kept } = visit;
  const values = typed ?? (kept === undefined ? {} : readTyped(projectFields, kept));
  const guard = renderGuard(typed !== undefined || kept !== undefined);
  const fields = projectFields.map((field) => renderField(field, values, failure?.problems));
  const body = html`${renderHead("New project", projectList)}
    <section class="card narrow" aria-label="Fields">
      <div class="inside">
        <form method="post" action="/projects/new" class="stack" ${guard}>
          ${renderHidden("form_token", formToken)} ${renderOthers(projectFields, failure)}
          <div class="pair">${fields}</div>
          <div class="buttons">
            <button class="main">Create project</button>
            <a class="button quiet" href="/projects">Cancel</a>
          </div>
        </form>
      </div>
    </section>`;
  const status = failure === undefined ? 200 : 422;
  return Promise.resolve({ kind: "page", title: "New project", body, status });
}

async function create(visit: Visit, form: Form): Promise<Reply> {
  const typed = readTyped(projectFields, form);
  const filled = projectFields.flatMap(({ name }) => (typed[name] === "" ? [] : [name]));
  const args = writeFields(projectFields, typed, filled);
  const ended = await act(visit, form, { run: () => visit.account.call("create_project", args) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return showNew(visit, typed, ended.failure);
  const id = readText(readRecord(ended.result, "project"), "id");
  return { kind: "go", to: `${writeProjectAddress(id)}?done=founded` };
}
