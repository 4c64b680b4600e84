import { createHash } from "node:crypto";
import {
  hostHeaderValidationResponse,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { explainOutage, readOutageCode } from "../../contract/problem.ts";
import { base, controls, facts, frames } from "../../look/styles.ts";
import { icon, mark } from "../../look/mark.ts";
import { tokens } from "../../look/tokens.ts";
import { readOutage } from "../../state/state.ts";
import { escapeText } from "../../text/escape.ts";

/**
 * Renders pages outside the console, such as the approval page. The pages contain no script and
 * cannot be framed. They load only frames from their own server, for page template previews.
 */

type ServePageOptions = {
  readonly hostnames: readonly string[];
  readonly methods: readonly string[];
  /** Called if the request came from another site. */
  readonly onForeignRequest?: () => void;
  /** A sentence for error pages, such as "Nothing was decided." */
  readonly nothingDone?: string;
  readonly report: (error: unknown) => string;
};

/** Responds with an HTML page, even after an error. */
export async function servePage(
  request: Request,
  serving: ServePageOptions,
  answer: () => Promise<Response>,
): Promise<Response> {
  const { methods, onForeignRequest } = serving;
  const hostnames = [...serving.hostnames];
  // Prevents DNS rebinding, where another site points its own host name at this server.
  const refusal =
    hostHeaderValidationResponse(request, hostnames) ??
    originValidationResponse(request, hostnames);
  if (refusal !== undefined) {
    onForeignRequest?.();
    const text = "Open the address exactly as your assistant gave it to you.";
    return showPage(403, renderNotice("Wrong address", text));
  }
  if (!methods.includes(request.method)) {
    const page = renderNotice("This is a page for browsers", "Open the address in a browser.");
    return showPage(405, page, { allow: methods.join(", ") });
  }
  try {
    return await answer();
  } catch (error) {
    return explainFault(error, serving);
  }
}

function explainFault(error: unknown, { nothingDone = "", report }: ServePageOptions): Response {
  const outage = readOutage(error);
  if (outage === undefined) {
    const text = `${nothingDone} Open the address again. Reference: ${report(error)}.`.trim();
    return showPage(500, renderNotice("Something went wrong", text));
  }
  const problem = explainOutage(outage);
  const [title, text] =
    outage === "unknown"
      ? ["Your answer may not have been saved", lookAgain]
      : [titles[outage], `${nothingDone} Open the address again in a moment.`.trim()];
  const page = renderNotice(title, `${text} (${readOutageCode(problem)})`);
  return showPage(problem.status, page, problem.headers);
}

const titles = {
  busy: "The database is busy",
  locked: "The database is locked",
  away: "The database is not responding",
} as const;

const lookAgain =
  "The database stopped responding while your answer was being saved. Open the address again " +
  "to see whether it was saved.";

/** The CSS of the approval page. Its text is larger than in the console, for careful reading. */
export const style = `${tokens}${base}${controls}${facts}${frames}
:root { --text: 1rem; --small: .9rem; --large: 1.125rem; }
body { background: var(--side); }
.alone { max-width: 46rem; }
.alone .question { max-width: none; gap: var(--s5); }
.question > div { display: grid; gap: var(--s2); }
.lead { color: var(--soft); }
.act { font-weight: 600; }
.approved { border-top: 4px solid var(--good); }
.declined { border-top: 4px solid var(--edge); }
section { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); }
section h3 { color: var(--soft); }
.question > .warning, .question > .fault { margin: 0; }
.rows { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.rows > li { padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
.rows dl > div { padding: var(--s1) 0; border: 0; }
.rows dl > div:first-child { padding-top: var(--s2); }
.rows .delete { color: var(--grave); }
nav { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s4); }
nav a { font-weight: 600; padding: .6rem .25rem; min-height: 2.75rem; }
nav span { color: var(--soft); }
.field input { max-width: 16rem; }
.buttons button { min-height: 2.9rem; padding: 0 var(--s5); }
@media (max-width: 39.99rem) {
  .buttons { display: grid; grid-template-columns: minmax(0, 1fr); }
}
@media (min-width: 40rem) {
  .alone { padding-top: var(--s7); }
  .alone .question { padding: var(--s6); }
  .question dt { font-size: var(--text); }
}
`;

const styleHash = createHash("sha256").update(style).digest("base64");

const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    // Allows the inline icon, so that browsers do not request /favicon.ico.
    "img-src data:",
    // Allows previews of page templates. They come from this server and have their own policy.
    "frame-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  // Without a referrer, browsers would send `Origin: null` with the form.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

export function showPage(
  status: number,
  html: string,
  more: Readonly<Record<string, string>> = {},
): Response {
  return new Response(html, { status, headers: { ...pageHeaders, ...more } });
}

export function renderNotice(title: string, text: string, end?: DecidedAct): string {
  const subject = end === undefined ? "" : `<p class="act">${escapeText(end.act)}</p>\n`;
  const body = `<h1>${escapeText(title)}</h1>\n${subject}<p>${escapeText(text)}</p>`;
  return renderPage(title, body, end?.look);
}

type DecidedAct = { readonly act: string; readonly look: "approved" | "declined" };

export function renderPage(title: string, body: string, look?: DecidedAct["look"]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="${icon}">
<title>${escapeText(title)} – Waypost</title>
<style>${style}</style>
</head>
<body>
<div class="alone">
<header><p class="brand">${mark} Waypost</p></header>
<main class="card question${look === undefined ? "" : ` ${look}`}">
${body.replace(/\n{2,}/g, "\n")}
</main>
</div>
</body>
</html>
`;
}
