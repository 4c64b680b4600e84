import type { Account } from "../account.ts";
import { leave, renderQuestion } from "../act.ts";
import type { Values } from "../form-fields.ts";
import { html, trust, type Html, type Part } from "../html.ts";
import type { Form, Page, PageReply, Reply, PageRequest } from "../page.ts";
import { renderBox, renderCard, renderCopy } from "../parts.ts";
import { readParam } from "../read-address.ts";
import { createRecordPages, showGone } from "../record-page.ts";
import type { LinkAddresses, Records } from "../records.ts";
import { renderHistory } from "../render-changes.ts";
import { hasDestination, linkFields, renderFields, writeChanges } from "./link-fields.ts";
import { markDraft, renderLinkPreview, renderNewPreview, renderVisits } from "./link-preview.ts";
import { gone, idPattern, linkList } from "./link-query.ts";
import { renderLinkStats } from "./statistics.ts";

/** The form for a new link, and the page of each link. */
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
    check: (request, form, typed) =>
      hasDestination(typed) || form.has(anyway) ? undefined : askToCreate(request, form, typed),
  },
  form: { fields: linkFields, write: writeChanges, render: renderFields, mark: markDraft },
  names: ({ name, path }: Records["link"]) => [name, `/${path ?? ""}`],
  loadView,
  deleted: "deleted",
});

async function loadView(request: PageRequest) {
  const { account } = request;
  const id = readParam(request.params, "id");
  const [answer, explained, stats, history] = await Promise.all([
    account.call("get_link", { id }),
    account.tryCall("explain_link", { id }),
    renderLinkStats(request, id),
    renderHistory(request, id),
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

/** A remote server's link host is unknown unless the operator sets it. */
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
function askToCreate(request: PageRequest, form: Form, typed: Values): Reply {
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
    body: renderQuestion({ question, request, hidden, no: leave, noLabel, isTyped }),
  };
}

export const linkQrPage: Page = {
  path: new RegExp(`^${idPattern}/qr\\.(?<ending>png|svg)$`),
  needs: "get_link",
  show,
};

async function show({ account, params }: PageRequest): Promise<Reply> {
  const page = { kind: "page", title: "QR code", above: linkList } as const;
  const answer = await account.call("get_link", { id: readParam(params, "id") });
  if (answer.kind === "failed") {
    const { code, message } = answer.failure;
    return code === "not_found"
      ? showGone(gone)
      : { ...page, fault: message, body: "", status: 503 };
  }
  const { address = "", path = "" } = answer.result.link;
  const missing = (why: string): PageReply => {
    return { ...page, body: html`<p class="soft">${why}</p>`, status: 404 };
  };
  if (address === "") return missing("Waypost does not know this link's address.");
  const ending = params["ending"] === "svg" ? "svg" : "png";
  const bytes = await draw(account, address, ending);
  if (bytes === undefined) return missing("This link's address is too long for a QR code.");
  const name = `${path.replace(/[^\w.-]+/g, "-")}.${ending}`;
  return { kind: "file", type: types[ending], name, bytes };
}

const types = { svg: "image/svg+xml", png: "image/png" } as const;

async function draw({ qr }: Account, address: string, ending: keyof typeof types) {
  if (ending === "png") return qr.drawPng(address);
  const svg = await qr.drawSvg(address);
  return svg === undefined ? undefined : Buffer.from(svg);
}

/** A denser QR code is hard to scan from a screen, so it is offered only as a file. */
const mostOfSvg = 12_000;

function renderQr(svg: string, id: string): Html {
  const file = `/links/${encodeURIComponent(id)}/qr`;
  return renderCard("QR code", {
    inside: html`<div class="qr">
      ${
        svg.length > mostOfSvg
          ? html`<p class="soft">The address is long, so few cameras can read its QR code.</p>`
          : html`<div role="img" aria-label="QR code of the address">${trust(svg)}</div>`
      }
      <div class="buttons">
        <a class="button small" href="${file}.png">PNG</a>
        <a class="button small" href="${file}.svg">SVG</a>
      </div>
    </div>`,
  });
}
