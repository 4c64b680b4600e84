import type { CallError } from "../account.ts";
import { readTyped, renderField, type Field, type Values } from "../form-fields.ts";
import { html } from "../html.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import { goToPlan, renderBox, renderForm } from "../parts.ts";
import { mostFileBytes } from "../read-form.ts";
import { linkList } from "./link-query.ts";

/** Uploads a file of links and shows the changes as a plan. */
export const importPage: Page = {
  path: /^\/links\/import$/,
  needs: "plan_links",
  takesFile: true,
  show: (request) => {
    const { kept, isLeft = false } = request;
    if (kept === undefined || isLeft) return show(request);
    return show(request, readTyped(fields, kept), "The file was not kept. Choose it again.");
  },
  submit,
};

const fields: readonly Field[] = [
  {
    name: "operation",
    kind: "choice",
    label: "What to do with the rows",
    choices: [
      { value: "upsert", name: "Create new links, and overwrite links with the same path" },
      { value: "update", name: "Change existing links, by ID or path" },
      { value: "delete", name: "Delete links, by ID or path" },
    ],
  },
  { name: "skip", kind: "check", label: "Leave out invalid rows" },
];

const initialValues: Values = { operation: "upsert" };

function show(request: PageRequest, values = initialValues, fault?: string): Reply {
  const form = html`${fields.map((field) => renderField(field, values))}
    <div class="field">
      <label for="file">File</label>
      <input
        id="file"
        class="drop"
        name="file"
        type="file"
        required
        accept=".csv,.tsv,.txt,.json,text/csv,application/json"
        data-drop
        data-most="${mostFileBytes}"
        aria-describedby="file-hint"
        ${fault !== undefined && html` aria-invalid="true"`}
      />
      <p class="hint" id="file-hint">
        Drop a file here or choose one: CSV or JSON from Waypost, or an export from Firebase Dynamic
        Links, Branch, Bitly or Short.io. Up to 10,000 links and 4 MB. Use
        <code>waypost import</code> for larger files.
      </p>
    </div>
    <p class="soft">Waypost shows you a plan first. Nothing changes until you approve it.</p>
    <div class="buttons">
      <button class="main">Show plan</button>
      <a class="button quiet" href="/links">Cancel</a>
    </div>`;
  const attributes = html`class="stack" enctype="multipart/form-data"`;
  const inside = renderForm(request, "/links/import", form, attributes);
  return {
    kind: "page",
    title: "Import links",
    above: linkList,
    fault,
    body: renderBox("Import", { inside, look: "narrow" }),
  };
}

async function submit(request: PageRequest, form: Form): Promise<Reply> {
  const values = readTyped(fields, form);
  const { upload } = form;
  if (upload === undefined) return show(request, values, "Choose a file with links.");
  const operation = values["operation"] ?? "";
  const skipsInvalid = values["skip"] !== "";
  const answer = await request.account.planFile({ ...upload, operation, skipsInvalid });
  if (answer.kind === "failed") return show(request, values, describe(answer.failure));
  return goToPlan(answer.result);
}

function describe({ message, problems = [] }: CallError): string {
  const texts = problems.map((problem) => problem.message);
  return texts.length === 0 ? message : `${texts.join(". ")}.`;
}
