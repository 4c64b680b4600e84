import type { Failure } from "../account.ts";
import { html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { goToPlan, renderFault, renderHead, renderHidden, renderOption } from "../parts.ts";
import { mostFileBytes } from "../read-form.ts";
import { linkList } from "./link-place.ts";

/** A file of links: dropped or chosen, and then shown as a plan. */
export const importPage: Page = {
  path: /^\/links\/import$/,
  needs: "plan_links",
  takesFile: true,
  show: (visit) => {
    const { kept, isLeft = false } = visit;
    if (kept === undefined || isLeft) return show(visit);
    return show(visit, readWanted(kept), "The file was not kept. Choose it again.");
  },
  submit,
};

const operations = {
  upsert: "Create new links, and overwrite links with the same path",
  update: "Change existing links, by ID or path",
  delete: "Delete links, by ID or path",
} as const;

type Wanted = { readonly operation: string; readonly skipsInvalid: boolean };

const usual: Wanted = { operation: "upsert", skipsInvalid: false };

function show(
  visit: Visit,
  { operation, skipsInvalid }: Wanted = usual,
  fault?: string,
): Promise<Reply> {
  const skips = skipsInvalid ? html` checked` : "";
  const invalid = fault === undefined ? "" : html` aria-invalid="true"`;
  const body = html`${renderHead("Import links", linkList)}
    <section class="card narrow" aria-label="Import">
      <div class="inside">
        ${renderFault(fault)}
        <form method="post" action="/links/import" enctype="multipart/form-data" class="stack">
          ${renderHidden("form_token", visit.formToken)}
          <div class="field">
            <label for="operation">What to do with the rows</label>
            <select id="operation" name="operation">
              ${Object.entries(operations).map(([name, text]) =>
                renderOption(name, text, operation),
              )}
            </select>
          </div>
          <div class="check">
            <input type="checkbox" id="skip" name="skip" ${skips} />
            <label for="skip">Leave out invalid rows</label>
          </div>
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
              ${invalid}
            />
            <p class="hint" id="file-hint">
              Drop a file here or choose one: CSV or JSON from Waypost, or an export from Firebase
              Dynamic Links, Branch, Bitly or Short.io. Up to 10,000 links and 4 MB. Use
              <code>waypost import</code> for larger files.
            </p>
          </div>
          <p class="soft">Waypost shows you a plan first. Nothing changes until you approve it.</p>
          <div class="buttons">
            <button class="main">Show plan</button>
            <a class="button quiet" href="/links">Cancel</a>
          </div>
        </form>
      </div>
    </section>`;
  const status = fault === undefined ? 200 : 422;
  return Promise.resolve({ kind: "page", title: "Import links", body, status });
}

function readWanted(form: Form): Wanted {
  const given = form.read("operation");
  const operation = Object.hasOwn(operations, given) ? given : usual.operation;
  return { operation, skipsInvalid: form.has("skip") };
}

async function submit(visit: Visit, form: Form): Promise<Reply> {
  const wanted = readWanted(form);
  if (form.upload === undefined) return show(visit, wanted, "Choose a file with links.");
  const answer = await visit.account.planFile({ ...form.upload, ...wanted });
  if (answer.kind === "failed") return show(visit, wanted, describe(answer.failure));
  if (answer.kind === "asks") return show(visit, wanted);
  return goToPlan(answer.result);
}

function describe({ message, problems = [] }: Failure): string {
  const texts = problems.map((problem) => problem.message);
  return texts.length === 0 ? message : `${texts.join(". ")}.`;
}
