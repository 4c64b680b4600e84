import { createHash } from "node:crypto";

/** How the approval page looks. No script, nothing from elsewhere, no frame around it. */

export type Question = {
  readonly title: string;
  readonly lines: readonly string[];
  readonly token: string;
  readonly fault: string | undefined;
  readonly asksPin: boolean;
  readonly expires_at: number;
};

const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 38rem; padding: 2rem 1rem; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; }
li { overflow-wrap: anywhere; }
.fault { border-left: 4px solid #c0392b; padding: .25rem .75rem; }
.small { opacity: .75; font-size: .875rem; }
label { display: block; margin: 1rem 0; }
input { font: inherit; padding: .4rem; }
button { font: inherit; padding: .6rem 1.4rem; margin: .5rem .75rem .5rem 0; border-radius: .4rem;
  border: 1px solid currentColor; background: none; color: inherit; cursor: pointer; }
button[value="approve"] { background: #b03020; border-color: #b03020; color: #fff; }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
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
  const { title, lines, token, fault, asksPin, expires_at } = question;
  const until = `${new Date(expires_at).toISOString().slice(11, 16)} UTC`;
  return renderPage(
    "Approve?",
    `
<p>Your assistant asks for this:</p>
<h1>${escape(title)}</h1>
<ul>${lines.map((line) => `<li>${escape(line)}</li>`).join("")}</ul>
${fault === undefined ? "" : `<p class="fault" role="alert">${escape(fault)}</p>`}
<form method="post">
<input type="hidden" name="token" value="${escape(token)}">
${asksPin ? '<label>PIN <input type="password" name="pin" autocomplete="off"></label>' : ""}
<button name="decision" value="approve">Approve</button>
<button name="decision" value="decline">Decline</button>
</form>
<p class="small">Approving lets exactly this happen, once. It can be answered until ${until}.</p>`,
  );
}

export function renderNotice(title: string, text: string): string {
  return renderPage(title, `<h1>${escape(title)}</h1><p>${escape(text)}</p>`);
}

function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} – Waypost</title>
<style>${style}</style>
</head>
<body>
<main>${body}</main>
</body>
</html>
`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
