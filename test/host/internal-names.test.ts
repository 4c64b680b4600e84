import { expect, test } from "vitest";
import { androidOpened, iosOpened } from "../sdk/recorded.ts";
import { agents } from "../attribution/agents.ts";
import { homeIp, openInstallWorld, startFirst, type InstallWorld } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** A link's `name` is only for its managers: no visitor and no app receives it. */

let world: InstallWorld;
openForEach(openInstallWorld, (opened) => (world = opened));

const canary = "Push: cart abandoned 7f3a";
const slack = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)";
const template = "<h1>{{ link.name }}</h1>{% store_buttons %}";

async function nameLink(fields: object = {}): Promise<void> {
  const body = { name: canary, ...fields };
  expect((await world.world.call("PATCH", `/links/${world.link.id}`, { body })).status).toBe(200);
}

async function publish(): Promise<void> {
  const body = { body: template, css: "" };
  expect((await world.world.call("POST", "/page_template/publish", { body })).status).toBe(200);
}

const readTitles = (html: string) => [
  /<title>(.*?)<\/title>/.exec(html)?.[1],
  /property="og:title" content="(.*?)"/.exec(html)?.[1],
  /name="twitter:title" content="(.*?)"/.exec(html)?.[1],
  /<h1[^>]*>(.*?)<\/h1>/.exec(html)?.[1],
];

const four = (title: string) => [title, title, title, title];

async function readHost(): Promise<readonly (readonly [string, string])[]> {
  const { open } = world;
  const { safari26, android, desktop } = agents;
  const phones = { safari26, android, desktop, slack };
  const paths = ["/spring", "/spring?a=1", "/spring.qr", "/spring.qr?format=png"];
  const files = ["/.well-known/apple-app-site-association", "/.well-known/assetlinks.json"];
  const asked = Object.entries(phones).flatMap(([phone, agent]) =>
    [...paths, ...files, "/", "/none"].map(async (path) => {
      const { headers, text } = await open(path, { agent });
      return [`${phone} ${path}`, JSON.stringify(headers) + text] as const;
    }),
  );
  return Promise.all(asked);
}

async function readSdk(): Promise<readonly (readonly [string, string])[]> {
  const address = "http://default.localhost:8787/spring?a=1";
  const requests = {
    "iOS opened": iosOpened(address),
    "Android opened": androidOpened(address, false),
    "Android installed": androidOpened(address, true),
    "iOS installed": startFirst(1),
  };
  await world.visitPage();
  const asked = Object.entries(requests).map(async ([name, request]) => {
    const { status, text } = await world.install(homeIp, request);
    expect([name, status, text]).toEqual([name, 200, expect.stringContaining('"matched":true')]);
    return [name, text] as const;
  });
  return Promise.all(asked);
}

test("no response from the link host or the SDK endpoints contains a link's name", async () => {
  await nameLink();
  const designed = [...(await readHost()), ...(await readSdk())];
  await publish();
  const answers = [...designed, ...(await readHost())];
  const leaks = answers.filter(([, text]) => text.includes("cart abandoned"));
  expect(leaks.map(([asked]) => asked)).toEqual([]);
  // Resolving a short link returns the whole link, as the API specifies.
  const body = { url: "http://default.localhost:8787/spring" };
  const resolved = await world.world.call("POST", "/short_links/resolve", { key: null, body });
  expect(resolved.body.name).toBe(canary);
});

test("a page's title is the social title, else the app's name, else the host name", async () => {
  const read = async () => readTitles((await world.open("/spring")).text);
  const [app] = (await world.world.call("GET", "/ios_apps")).body.ios_apps;
  for (const isPublished of [false, true]) {
    if (isPublished) await publish();
    await nameLink({ social_title: "" });
    const path = `/ios_apps/${app.id}`;
    await world.world.call("PATCH", path, { body: { ios_app: { name: "" } } });
    expect(await read()).toEqual(four("default.localhost"));
    await world.world.call("PATCH", path, { body: { ios_app: { name: "Shop" } } });
    expect(await read()).toEqual(four("Shop"));
    await nameLink({ social_title: "Spring sale" });
    expect(await read()).toEqual(four("Spring sale"));
  }
});

test("a template preview shows the title that visitors see, not the link's name", async () => {
  await nameLink();
  const preview = async (fields: object) =>
    (await world.world.call("POST", "/page_template/preview", { body: fields })).text;
  const { id } = world.link;
  for (const fields of [
    { link_id: id },
    { link_id: id, body: template },
    { link_id: id, link_fields: { name: canary } },
    { link_fields: { name: canary, path: "new" }, body: template },
  ]) {
    const text = await preview(fields);
    expect(text).toContain("<title>default.localhost</title>");
    expect(text).not.toContain("cart abandoned");
  }
});
