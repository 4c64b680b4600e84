import { listHelpTopics, readHelpTopic } from "../../help/help-topics.ts";
import { html, trust } from "../html.ts";
import type { Page, Reply } from "../page.ts";
import { renderBox, showMissing } from "../parts.ts";

/** The page that lists the help topics, or shows one of them. */
export const helpPage: Page = {
  path: /^\/help(?:\/(?<topic>[a-z/-]+))?$/,
  entry: {
    name: "Help",
    address: "/help",
    group: "Service",
    icon: "M2.5 8a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M6.5 6.5a1.5 1.5 0 1 1 2 1.4l-.5 1M8 11v.1",
  },
  show: ({ params: { topic } }) => (topic === undefined ? showTopics() : showTopic(topic)),
};

async function showTopics(): Promise<Reply> {
  const topics = await listHelpTopics();
  // Leaves out the API topics, because the API help page links to them.
  const listed = topics.filter(({ name }) => !name.startsWith("api/"));
  const inside = html`<ul>
    ${listed.map(({ name, title }) => html`<li><a href="/help/${name}">${title}</a></li>`)}
  </ul>`;
  return { kind: "page", title: "Help", body: renderBox("Topics", { inside }) };
}

async function showTopic(name: string): Promise<Reply> {
  const topic = await readHelpTopic(name, "html");
  if (topic === undefined) {
    const why = "The documentation has no page with this name.";
    return showMissing("help page", why, { name: "help pages", address: "/help" });
  }
  const body = html`<p><a href="/help">All help pages</a></p>
    <article class="card inside document">${trust(topic.text)}</article>`;
  return { kind: "page", title: topic.title, heading: "", body };
}
