import { describe, expect, test } from "vitest";
import { openLinkHost, type LinkHost, type VisitInput } from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";
import { addApps } from "./add-apps.ts";

import agents from "./user-agents.json" with { type: "json" };

/** The default page of a project without a published template: texts, languages, buttons. */

let host: LinkHost;
const bundle_id = "com.example.a";
const picture = "https://shop.example/spring.png";
const iPhone = agents.ios["Safari on an iPhone"];
const computer = agents.desktop["Chrome on Windows"];

openForAll(openLinkHost, async (opened) => {
  host = opened;
  const name = "Al's <Shop>";
  const apps = await addApps(host, { ios: name, android: name });
  await host.add("link", { path: "spring", social_title: "Sale", ...apps });
  await host.add("link", { path: "pictured", social_image_url: picture, ...apps });
  await host.add("link", {
    path: "plain-http",
    social_image_url: "http://shop.example/a",
    ...apps,
  });
  await host.add("link", { path: "bare" });
  const project = await host.world.addProject({ subdomain: "other", name: "Other" });
  const key = await host.world.addKey({ project });
  const ios_app = { bundle_id, team_id: "ABCDE12345" };
  await host.world.call("POST", "/links", { key, body: { path: "nameless", ios_app } });
});

const show = async (path: string, given: VisitInput = {}) => {
  const { text, headers } = await host.visit(path, { agent: iPhone, ...given });
  const [, shown = ""] = /<body[^>]*>(.*)<\/body>/s.exec(text) ?? [];
  return { text, shown, policy: String(headers["content-security-policy"]), headers };
};
const speak = (language: string) => ({ headers: { "accept-language": language } });
const listWays = (shown: string) =>
  Array.from(shown.matchAll(/<a [^>]*href="([^"]*)"/g), ([, href]) => href);

describe("the default page", () => {
  test("is in the visitor's language and text direction, and shows the app's name", async () => {
    const seen = [];
    for (const language of ["de-AT", "ar", "sv, zh-CN;q=0.5", ""]) {
      const { text, shown, headers } = await show("/spring", speak(language));
      expect(headers).toMatchObject({
        vary: "user-agent, accept-language",
        "cache-control": "private, no-store",
      });
      const [, html] = /<html ([^>]*)>/.exec(text) ?? [];
      const [label] = Array.from(shown.matchAll(/<span>(.*?)<\/span>/g), ([, words]) => words);
      seen.push([html, label]);
    }
    const name = "<bdi>Al&#39;s &lt;Shop&gt;</bdi>";
    expect(seen).toEqual([
      ['lang="de" dir="ltr"', `${name} öffnen`],
      ['lang="ar" dir="rtl"', `فتح ${name}`],
      ['lang="zh-Hans" dir="ltr"', `打开 ${name}`],
      ['lang="en" dir="ltr"', `Open ${name}`],
    ]);
    expect((await show("/spring", speak("he"))).shown).toContain('<h1 class="title" dir="auto">');
  });

  test("is in each visitor's own language when several visitors request it at once", async () => {
    const labels = ["fr", "ja", "fr"].map(async (language) =>
      /<html lang="(\w+)"/.exec((await show("/spring", speak(language))).text)?.at(1),
    );
    expect(await Promise.all(labels)).toEqual(["fr", "ja", "fr"]);
  });

  test("has a CSP that allows images only if the link has an image", async () => {
    const { shown, policy } = await show("/pictured");
    expect(shown).toContain(`src="${picture}"`);
    expect(shown).toMatch(/role="img" aria-label="[^"]+"/);
    expect(policy).toContain("img-src data: https:;");
    for (const path of ["/spring", "/plain-http"]) {
      const other = await show(path);
      expect(other.shown).not.toContain("<img");
      expect(other.policy).toContain("img-src data:;");
    }
  });

  test("shows the project's name only once if the link has no title", async () => {
    const { shown } = await show("/bare", { agent: computer });
    expect(shown.match(/>\s*Default\s*</g)).toHaveLength(1);
    const other = { host: `other.localhost:${host.port}` };
    expect((await show("/nameless", other)).shown.match(/Other/g)).toHaveLength(1);
  });

  test("is smaller than 30,000 bytes", async () => {
    const { text } = await show("/spring", { agent: computer, ...speak("hi") });
    expect(Buffer.byteLength(text)).toBeLessThan(30_000);
  });
});

describe("the default page on a computer, for a link without a desktop URL", () => {
  test("shows both app stores and a QR code of the visited URL", async () => {
    const { shown } = await show("/spring?id=7", { agent: computer });
    expect(listWays(shown)).toEqual([
      "https://apps.apple.com/app/id1",
      `https://play.google.com/store/apps/details?id=${bundle_id}`,
    ]);
    const code = (await host.visit("/spring.qr?id=7")).text;
    expect(shown).toContain(`role="img" aria-label="QR code of this link">${code}</div>`);
    expect((await show("/spring", { agent: computer })).shown).not.toContain(code);
  });

  test("shows no QR code if the link has no destination for phones either", async () => {
    const { shown } = await show("/bare", { agent: computer });
    expect([listWays(shown), shown.includes("<svg")]).toEqual([[], false]);
  });

  test("shows neither app stores nor a QR code to a bot", async () => {
    const { shown } = await show("/spring", { agent: agents.bots.Slack });
    expect([listWays(shown), shown.includes("<svg")]).toEqual([[], false]);
  });

  test("shows a QR code without the query once the visitor exceeds the rate limit", async () => {
    const shown = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        show(`/pictured?turn=${index}`, { agent: computer }),
      ),
    );
    const codes = shown.map((page) => /aria-label="QR[^>]*>(.*?)<\/div>/.exec(page.shown)?.[1]);
    expect(codes).not.toContain(undefined);
    expect(codes.at(-1)).toBe((await host.visit("/pictured.qr")).text);
  });
});

describe("the advice for in-app browsers on the default page", () => {
  const inside = [
    ["Instagram", "⋯", agents.ios["Instagram's browser on an iPhone"]],
    ["Facebook", "⋯", agents.ios["Facebook's browser on an iPhone"]],
    ["TikTok", "⋯", agents.ios["TikTok's browser on an iPhone"]],
    ["LinkedIn", "⋯", agents.ios["LinkedIn's browser on an iPhone"]],
    ["Facebook", "⋮", agents.android["Facebook's browser on a phone"]],
    ["TikTok", "⋮", agents.android["TikTok's browser on a phone"]],
    ["WeChat", "⋯", agents.android["WeChat's browser on a phone"]],
  ] as const;

  test.each(inside)(
    "explains to visitors in %s how to open the page in their browser from the menu %s",
    async (name, menu, agent) => {
      const { shown } = await show("/spring", { agent, ...speak("fr") });
      expect(shown).toContain("<strong>Ouvrez cette page dans votre navigateur</strong>");
      expect(shown).toContain(`<bdi>${name}</bdi> n’ouvre pas toujours`);
      expect(shown).toContain(`<bdi>${menu}</bdi>`);
      expect(listWays(shown)).toHaveLength(2);
    },
  );

  test("is omitted in browsers that can open apps, and for links without an app", async () => {
    const [, , instagram] = inside[0];
    for (const [path, agent] of [
      ["/spring", iPhone],
      ["/spring", agents.android["Chrome on a phone"]],
      ["/bare", instagram],
    ] as const) {
      expect((await show(path, { agent })).shown).not.toContain('class="leave"');
    }
  });
});
