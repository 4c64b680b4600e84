import { join } from "node:path";
import { expect, test } from "vitest";
import { openLinkHost } from "../support/link-host.ts";
import { addApps } from "./add-apps.ts";
import agents from "./user-agents.json" with { type: "json" };

/**
 * A published template's pages stay what they are, byte for byte: whoever designed one did so with
 * these words and this markup before their eyes. The pages beside this file were written before
 * the default page learned languages, pictures and hints.
 */

const body = `<main class="own">
  <p>{{ platform }}: {{ apps.ios.name }} {{ apps.android.name }}, {{ project.name }}</p>
  <h1>{{ link.social_title | default: link.name }}</h1>
  <img alt="" src="{{ link.social_image_url }}">
  {% store_buttons %}
  <a href="{{ link.address }}">{{ link.path }}</a>
</main>`;
const css = ".own { color: red }";

const visitors = {
  "instagram on ios": agents.ios["Instagram's browser on an iPhone"],
  "chrome on android": agents.android["Chrome on a phone"],
  desktop: agents.desktop["Chrome on Windows"],
};

test("a published template's page is the same as ever, whoever comes from wherever", async () => {
  await using host = await openLinkHost();
  const apps = await addApps(host, { ios: 'Shop "&" Sons' });
  await host.add("link", {
    path: "spring",
    social_title: "Spring sale",
    social_description: "Everything must go.",
    social_image_url: "https://shop.example/spring.png",
    ...apps,
  });
  const published = await host.world.call("POST", "/page_template/publish", {
    body: { body, css },
  });
  expect(published.status).toBe(200);
  const told: string[] = [];
  for (const [visitor, agent] of Object.entries(visitors)) {
    const headers = { "accept-language": "ar, de;q=0.9" };
    const { text, headers: seen } = await host.visit("/spring", { agent, headers });
    const own = { ...seen, date: "", connection: "", "keep-alive": "", "content-length": "" };
    const said = Object.entries(own).map(([header, value]) => `${header}: ${String(value)}`);
    const page = `== ${visitor}\n${said.join("\n")}\n\n${text}`;
    const nonce = /nonce-([\w-]{22})'/.exec(page)?.[1] ?? "";
    told.push(page.replaceAll(nonce, "NONCE").replaceAll(String(host.port), "PORT"));
  }
  const file = join(import.meta.dirname, "published-pages.txt");
  await expect(told.join("\n")).toMatchFileSnapshot(file);
});
