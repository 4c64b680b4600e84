import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { html, trust, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderHead, showMissing, showUnread } from "../parts.ts";
import { readParam, readRecord, readText } from "../read.ts";
import { gone, idPattern, linkList } from "./link-place.ts";

/** The QR code of a link's address: on the link's page, and as a file. */

export const linkQrPage: Page = {
  path: new RegExp(`^${idPattern}/qr\\.(?<ending>png|svg)$`),
  needs: "get_link",
  show,
};

async function show({ account, params }: Visit): Promise<Reply> {
  const answer = await account.call("get_link", { id: readParam(params, "id") });
  const isGone = answer.kind === "failed" && answer.failure.code === "not_found";
  if (answer.kind === "failed" && !isGone) {
    const fault = answer.failure.message;
    return showUnread(title, linkList, fault);
  }
  if (answer.kind !== "done") return showMissing(gone, linkList);
  const link = readRecord(answer.result, "link");
  const address = readText(link, "address");
  if (address === "") return tellNone("Waypost does not know this link's address.");
  const ending = params["ending"] === "svg" ? "svg" : "png";
  const bytes = await draw(account, address, ending);
  if (bytes === undefined) return tellNone("This link's address is too long for a QR code.");
  return { kind: "file", type: types[ending], name: nameFile(link, ending), bytes };
}

const title = "QR code";

const types = { svg: "image/svg+xml", png: "image/png" } as const;
type Ending = keyof typeof types;

async function draw({ qr }: Account, address: string, ending: Ending) {
  if (ending === "png") return qr.drawPng(address);
  const svg = await qr.drawSvg(address);
  return svg === undefined ? undefined : Buffer.from(svg);
}

/** The link is there, and has no such picture. */
function tellNone(why: string): Reply {
  const body = html`${renderHead(title, linkList)}
    <p class="soft">${why}</p>`;
  return { kind: "page", status: 404, title, body };
}

/** As what a picture of its address is saved. */
function nameFile(link: JsonObject, ending: Ending): string {
  return `${readText(link, "path").replace(/[^\w.-]+/g, "-")}.${ending}`;
}

/** A longer one is hardly read from a screen, and comes as a file. */
const mostOfSvg = 12_000;

export function renderQr(svg: string, id: string): Html {
  const file = `/links/${encodeURIComponent(id)}/qr`;
  return html`<section class="card" aria-labelledby="qr">
    <h2 id="qr">QR code</h2>
    <div class="inside qr">
      ${
        svg.length > mostOfSvg
          ? html`<p class="soft">The address is long, so few cameras can read its QR code.</p>`
          : html`<div role="img" aria-label="QR code of the address">${trust(svg)}</div>`
      }
      <div class="buttons">
        <a class="button small" href="${file}.png">PNG</a>
        <a class="button small" href="${file}.svg">SVG</a>
      </div>
    </div>
  </section>`;
}
