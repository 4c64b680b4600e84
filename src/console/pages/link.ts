import { leave, renderQuestion } from "../act.ts";
import type { Values } from "../form-fields.ts";
import { html, type Part } from "../html.ts";
import type { Form, Reply, Visit } from "../page.ts";
import { renderBox, renderCopy } from "../parts.ts";
import { readParam } from "../read-address.ts";
import { createRecordPages } from "../record-page.ts";
import type { LinkAddresses, Records } from "../records.ts";
import { renderHistory } from "../render-changes.ts";
import { hasDestination, linkFields, renderFields, writeChanges } from "./link-fields.ts";
import { markDraft, renderLinkPreview, renderNewPreview } from "./link-preview.ts";
import { renderQr } from "./link-qr.ts";
import { linkList } from "./link-query.ts";
import { renderLinkStats } from "./statistics.ts";
import { renderVisits } from "./visits.ts";

/** A new link, and one link: its address, its fields, what its visitors see, and its history. */
export const linkPages = createRecordPages({
  name: "link",
  label: "link",
  title: "Link",
  base: linkList.address,
  list: linkList,
  creation: {
    tool: "create_link",
    button: "Create link",
    note: "created",
    preview: renderNewPreview,
    check: (visit, form, typed) =>
      hasDestination(typed) || form.has(anyway) ? undefined : askToCreate(visit, form, typed),
  },
  form: { fields: linkFields, write: writeChanges, render: renderFields, mark: markDraft },
  names: ({ name, path }: Records["link"]) => [name, `/${path ?? ""}`],
  view,
  deleted: "deleted",
});

async function view(visit: Visit) {
  const { account } = visit;
  const id = readParam(visit.params, "id");
  const [answer, explained, stats, history] = await Promise.all([
    account.call("get_link", { id }),
    account.tryCall("explain_link", { id }),
    renderLinkStats(visit, id),
    renderHistory(visit, id),
  ]);
  if (answer.kind === "failed") {
    return { failure: answer.failure.code === "not_found" ? undefined : answer.failure };
  }
  const { link } = answer.result;
  const { address } = link;
  const svg = address && (await account.qr.drawSvg(address));
  return {
    above: [renderAddresses(link), stats],
    side: [
      renderLinkPreview(account, id, explained?.visits),
      explained && renderVisits(explained),
      svg && renderQr(svg, id),
      history,
    ],
    hasFrames: account.mayUse("preview_template"),
  };
}

/** The link host of a remote server is only known if the operator sets it. */
const unknownAddress = html`<p class="soft">
  Waypost does not know the link host of the remote server, so it cannot show this link's address or
  QR code. The operator can set the link host with <code>WAYPOST_LINK_ORIGIN</code>.
</p>`;

function renderAddresses({ address, short_address: short }: LinkAddresses): Part {
  const inside = address
    ? [
        renderCopy(address, "address", "Copy the address"),
        short && renderCopy(short, "short", "Copy the address with the short path"),
      ]
    : unknownAddress;
  return renderBox("Address", { inside });
}

const anyway = "anyway";
const notKept = new Set(["form_token", leave]);

/** A link without a destination is allowed, but usually a mistake. */
function askToCreate(visit: Visit, form: Form, typed: Values): Reply {
  const isTyped = Object.values(typed).some((value) => value !== "");
  const title = "This link has no destination. Create it anyway?";
  const kept = form.entries.filter(([name]) => !notKept.has(name));
  const question = {
    id: "",
    title,
    button: "Create it anyway",
    destroys: false,
    facts: "<p>It has no web address, app or fallback. You can add a destination later.</p>",
    frames: "",
    rows: "",
    count: undefined,
    pin: undefined,
    blocked: undefined,
  };
  const hidden = [...kept, [anyway, "1"] as const];
  const noLabel = "Back to the form";
  return {
    kind: "page",
    title: "New link",
    heading: title,
    above: linkList,
    body: renderQuestion({ question, visit, hidden, no: leave, noLabel, isTyped }),
  };
}
