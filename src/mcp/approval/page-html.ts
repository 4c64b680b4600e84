import { createHash } from "node:crypto";
import { escapeText } from "../../text/escape-html.ts";
import type { Fact, Preview } from "./approval-request.ts";
import { style } from "./page-style.ts";

/** The text of the approval page. It has no script, loads nothing and is shown in no frame. */

export type Question = {
  readonly preview: Preview;
  readonly token: string;
  /** What was wrong with the last attempt. */
  readonly fault: string | undefined;
  readonly asksPin: boolean;
  readonly expires_at: number;
};

const styleHash = createHash("sha256").update(style).digest("base64");

export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    // The empty icon of the page itself, so that no browser asks for another one.
    "img-src data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  // With no referrer at all a browser would send the form's origin as null.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

export function renderQuestion(question: Question): string {
  const { preview, token, fault, asksPin, expires_at } = question;
  const until = `${new Date(expires_at).toISOString().slice(11, 16)} UTC`;
  return renderPage(
    "Approve?",
    `<p class="lead">Your assistant asks for your approval</p>
<h1>${escapeText(preview.title)}</h1>
<dl>${preview.facts.map(renderFact).join("")}</dl>
${fault === undefined ? "" : `<p class="fault" role="alert">${escapeText(fault)}</p>`}
<form method="post">
<input type="hidden" name="token" value="${escapeText(token)}">
${preview.count === undefined ? "" : countField(preview.count)}
${asksPin ? pinField : ""}
<div class="buttons">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="decline" formnovalidate>Decline</button>
</div>
</form>
<p class="small">Approving lets exactly this happen, once. Answer it until ${until}.</p>`,
  );
}

export function renderNotice(title: string, text: string): string {
  return renderPage(title, `<h1>${escapeText(title)}</h1>\n<p>${escapeText(text)}</p>`);
}

function countField(count: number): string {
  return `<label>Type ${count}, the number of links
<input name="count" inputmode="numeric" autocomplete="off" required>
</label>`;
}

const pinField = `<label>PIN
<input type="password" name="pin" autocomplete="off" required>
</label>`;

function renderFact({ name, text }: Fact): string {
  // A name that a person has given to a link is quoted, and stays as it is.
  const label = name.includes('"') ? name : writeLabel(name);
  return `<div><dt>${escapeText(label)}</dt><dd>${escapeText(text)}</dd></div>`;
}

function writeLabel(name: string): string {
  const words = name.replaceAll("_", " ").replace(/\b(id|url)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${escapeText(title)} – Waypost</title>
<style>${style}</style>
</head>
<body>
<header>Waypost</header>
<main>
${body}
</main>
</body>
</html>
`;
}
