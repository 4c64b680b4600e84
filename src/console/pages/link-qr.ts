import type { Account } from "../account.ts";
import { html, trust, type Html } from "../html.ts";
import type { Page, PageReply, Reply, Visit } from "../page.ts";
import { renderCard } from "../parts.ts";
import { readParam } from "../read-address.ts";
import { showGone } from "../record-page.ts";
import { gone, idPattern, linkList } from "./link-query.ts";

/** The QR code of a link's address: on the link's page, and as a file. */

export const linkQrPage: Page = {
  path: new RegExp(`^${idPattern}/qr\\.(?<ending>png|svg)$`),
  needs: "get_link",
  show,
};

async function show({ account, params }: Visit): Promise<Reply> {
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

/** A longer one is hard to read from a screen, so it is only offered as a file. */
const mostOfSvg = 12_000;

export function renderQr(svg: string, id: string): Html {
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
