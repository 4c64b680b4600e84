import { escapeText } from "../../text/escape-html.ts";
import type { Frames, Preview } from "./approval-request.ts";

/**
 * How a page template looks before and after, in frames beside the approval page. The HTML is a
 * stranger's: each frame has an address and a policy of its own, no origin, no script, no form, and
 * nothing that it loads.
 */

const devices = { phone: "On an iPhone", desktop: "On a computer" } as const;
type Device = keyof typeof devices;

const frameHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "sandbox",
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "img-src data:",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join("; "),
  "x-frame-options": "SAMEORIGIN",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
};

/** The address is that of the approval page; left out, they are on the page itself. */
export function renderFrames(frames: Frames | undefined, address = ""): string {
  if (frames === undefined) return "";
  const body =
    "left_out" in frames
      ? `<p>${escapeText(frames.left_out)}</p>`
      : `${renderDevice(frames.pages, "phone", address)}
${renderDevice(frames.pages, "desktop", address)}
<p class="hint">Images and scripts are turned off here, and buttons do nothing.</p>`;
  const head = `<h2 id="look">How the page looks</h2>`;
  return `<section aria-labelledby="look">\n${head}\n${body}\n</section>`;
}

type Pages = Extract<Frames, { readonly pages: unknown }>["pages"];

function renderDevice(pages: Pages, device: Device, address: string): string {
  const label = devices[device];
  const figures = pages.map(({ name }, index) => {
    const title = escapeText(`${name}, ${label}`);
    const frame = escapeText(`${address}?frame=${index}-${device}`);
    return `<figure>
<figcaption>${escapeText(name)}</figcaption>
<div><iframe src="${frame}" title="${title}" sandbox></iframe></div>
</figure>`;
  });
  return `<h3>${label}</h3>\n<div class="frames ${device}">\n${figures.join("\n")}\n</div>`;
}

/** The page that a frame's address asks for. */
export function answerFrame({ frames }: Preview, params: URLSearchParams): Response | undefined {
  if (frames === undefined || "left_out" in frames) return undefined;
  const [, index, device] = /^(\d)-(phone|desktop)$/.exec(params.get("frame") ?? "") ?? [];
  const page = frames.pages[Number(index)];
  const html = device === "desktop" ? page?.desktop : page?.phone;
  return html === undefined ? undefined : new Response(html, { headers: frameHeaders });
}
