import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { Marked } from "marked";

/** Copies the docs next to the program: Markdown for `waypost help`, HTML for the console. */
export function writeDocs(from, to, others) {
  const files = readdirSync(from, { recursive: true }).map((file) => file.replaceAll("\\", "/"));
  const pages = files
    .filter((file) => file.endsWith(".md"))
    .toSorted()
    .map((file) => ({ name: file.slice(0, -3), text: readFileSync(join(from, file), "utf8") }))
    .concat(others);
  for (const { name, text } of pages) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    writeFileSync(join(to, `${name}.md`), text);
    writeFileSync(join(to, `${name}.html`), renderPage(name, text));
  }
  const topics = pages.map(({ name, text }) => ({ name, title: /^# (.+)$/m.exec(text)[1] }));
  writeFileSync(join(to, "topics.json"), JSON.stringify(topics));
  copyFileSync("llms.txt", join(to, "llms.txt"));
}

/** Links to other pages of docs/ become links within the console. */
function renderPage(name, text) {
  const marked = new Marked({
    renderer: {
      // Lines wrap, because a scrolling region would need a name and a tab stop.
      code({ text: code }) {
        return `<pre class="wrap">${escapeHtml(code)}</pre>\n`;
      },
      heading({ tokens, depth }) {
        const title = this.parser.parseInline(tokens);
        const id = title
          .toLowerCase()
          .replace(/<[^>]+>|&\w+;|[^\w\- ]/g, "")
          .replaceAll(" ", "-");
        return `<h${depth} id="${id}">${title}</h${depth}>\n`;
      },
      // The console has no pictures.
      image({ text: description }) {
        return escapeHtml(description);
      },
    },
    walkTokens(token) {
      if (token.type === "link") token.href = placeLink(name, token.href);
    },
  });
  return marked.parse(text);
}

function escapeHtml(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function placeLink(name, href) {
  if (/^[a-z]+:/.test(href) || href.startsWith("#")) return href;
  const [file, heading] = href.split("#");
  if (!file.endsWith(".md")) return href;
  const target = posix.join(posix.dirname(name), file.slice(0, -3));
  return `/help/${target}${heading === undefined ? "" : `#${heading}`}`;
}
