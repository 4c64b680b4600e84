import { leave, renderQuestion } from "../act.ts";
import type { Values } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Reply, Visit } from "../page.ts";
import { renderCopy, renderHead } from "../parts.ts";
import { readParam, readRecord, readText } from "../read.ts";
import { createRecordPages, type RecordKind } from "../record-page.ts";
import { renderHistory } from "../render-changes.ts";
import { hasDestination, linkFields, renderFields, writeChanges } from "./link-fields.ts";
import { gone, linkList } from "./link-place.ts";
import { markDraft, renderLinkPreview, renderNewPreview } from "./link-preview.ts";
import { renderQr } from "./link-qr.ts";
import { renderLinkStats } from "./statistics.ts";
import { renderVisits } from "./visits.ts";

/** A new link, and one link: its address, its fields, what its visitors see, and its history. */
export const linkPages = createRecordPages({
  name: "link",
  label: "link",
  title: "Link",
  base: linkList.address,
  list: linkList,
  gone,
  creation: {
    tool: "create_link",
    button: "Create link",
    done: "created",
    beside: renderNewPreview,
    check: (visit, form, typed) => {
      return hasDestination(typed) || form.has(anyway)
        ? undefined
        : askToCreate(visit, form, typed);
    },
  },
  forms: [
    {
      fields: linkFields,
      tool: "update_link",
      read: (id, account) => account.readRecord("link", id),
      save: (id, changes, account) => account.call("update_link", { id, ...changes }),
      write: writeChanges,
      render: renderFields,
      mark: markDraft,
    },
  ],
  names: (link) => [readText(link, "name"), `/${readText(link, "path")}`],
  view,
  deleted: "deleted",
});

async function view(visit: Visit): ReturnType<RecordKind["view"]> {
  const { account } = visit;
  const id = readParam(visit.params, "id");
  const [answer, visits, stats, history] = await Promise.all([
    account.call("get_link", { id }),
    account.mayUse("explain_link") ? account.call("explain_link", { id }) : undefined,
    renderLinkStats(visit, id),
    renderHistory(visit, id),
  ]);
  if (answer.kind === "failed") {
    return { failure: answer.failure.code === "not_found" ? undefined : answer.failure };
  }
  const link = answer.kind === "done" ? readRecord(answer.result, "link") : {};
  const address = readText(link, "address");
  const svg = address === "" ? undefined : await account.qr.drawSvg(address);
  const explained = visits?.kind === "done" ? visits.result : undefined;
  return {
    above: html`${renderAddresses(address, readText(link, "short_address"))} ${stats}`,
    side: html`${renderLinkPreview(account, id, readRecord(explained ?? {}, "visits"))}
    ${explained === undefined ? "" : renderVisits(explained)}
    ${svg === undefined ? "" : renderQr(svg, id)} ${history}`,
    hasFrames: account.mayUse("preview_template"),
  };
}

function renderAddresses(address: string, short: string): Html {
  if (address === "") return renderUnknownAddress();
  return html`<section class="card" aria-label="Address">
    <div class="inside">
      ${renderCopy(address, "address", "Copy the address")}
      ${short === "" ? "" : renderCopy(short, "short", "Copy the address with the short path")}
    </div>
  </section>`;
}

/** The link host of a remote server is only known if the operator sets it. */
function renderUnknownAddress(): Html {
  return html`<section class="card" aria-label="Address">
    <div class="inside">
      <p class="soft">
        Waypost does not know the link host of the remote server, so it cannot show this link's
        address or QR code. The operator can set the link host with
        <code>WAYPOST_LINK_ORIGIN</code>.
      </p>
    </div>
  </section>`;
}

const anyway = "anyway";
const notKept = new Set(["form_token", leave]);

/** A link without a destination is allowed, and mostly a mistake. */
function askToCreate(visit: Visit, form: Form, typed: Values): Reply {
  const isTyped = Object.values(typed).some((value) => value !== "");
  const title = "This link has no destination. Create it anyway?";
  const kept = form.entries.filter(([name]) => !notKept.has(name));
  const question = {
    id: "",
    title,
    button: "Create it anyway",
    destroys: false,
    facts: String(
      html`<p>It has no web address, app or fallback. You can add a destination later.</p>`,
    ),
    frames: "",
    rows: "",
    count: undefined,
    pin: undefined,
    blocked: undefined,
  };
  const hidden = [...kept, [anyway, "1"] as const];
  const noLabel = "Back to the form";
  const body = html`${renderHead(title, linkList)}
  ${renderQuestion({ question, visit, hidden, no: leave, noLabel, isTyped })}`;
  return { kind: "page", title: "New link", body };
}
