import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { html, type Html } from "../html.ts";
import type { Visit } from "../page.ts";
import { renderHidden, renderPost } from "../parts.ts";
import { readRecords, readText } from "../read.ts";
import { renderTime, writeTime } from "../render-changes.ts";

/** What was published, the newest first, and the way back to it. */

export async function listVersions({ mayUse, call }: Account): Promise<readonly JsonObject[]> {
  if (!mayUse("list_template_versions")) return [];
  const answer = await call("list_template_versions", {});
  // A project that never had a template has no versions of it.
  return answer.kind === "done" ? readRecords(answer.result, "versions") : [];
}

export function renderVersions(visit: Visit, versions: readonly JsonObject[]): Html {
  const { account } = visit;
  const live = versions.find(isLive);
  const rows = versions.map((version) => renderVersion(visit, version));
  return html`<section class="card" aria-labelledby="versions">
    <header>
      <h2 id="versions">Versions</h2>
      ${
        live !== undefined && account.mayUse("unpublish_template")
          ? renderAct(visit, "unpublish", html`<button class="small grave">Unpublish…</button>`)
          : ""
      }
    </header>
    <div class="inside">
      ${live === undefined ? html`<p class="soft">Links show the default page.</p>` : ""}
      ${
        rows.length === 0
          ? ""
          : html`<ul class="list">
              ${rows}
            </ul>`
      }
    </div>
  </section>`;
}

function isLive({ live }: JsonObject): boolean {
  return live === true;
}

function renderVersion(visit: Visit, version: JsonObject): Html {
  const { account } = visit;
  const [id, at] = [readText(version, "id"), readText(version, "published_at")];
  const time = renderTime(at, account);
  const label = `Restore the version from ${writeTime(at, account)}`;
  const button = html`${renderHidden("id", id)}<button class="small" aria-label="${label}">
      Restore…
    </button>`;
  return html`<li>
    <div class="split">
      <p>
        <a href="/template?from=${encodeURIComponent(id)}">${time === "" ? id : time}</a>
        ${isLive(version) ? html`<span class="tag good">live</span>` : ""}
      </p>
      ${account.mayUse("restore_template_version") ? renderAct(visit, "restore", button) : ""}
    </div>
  </li>`;
}

function renderAct(visit: Visit, name: string, rest: Html): Html {
  return renderPost(visit, "/template", rest, { do: name });
}
