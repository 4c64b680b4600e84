import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type CallInput, type World } from "../support/world.ts";

/** Tests previews of unsaved links, which follow the rules of a write but save nothing. */

const body = "<h1>{{ link.name }} at {{ link.path }}</h1>{% store_buttons %}";
const url = "https://example.com/spring";

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const preview = (fields: object, given: CallInput = {}) =>
  world.call("POST", "/page_template/preview", { body: { body, ...fields }, ...given });

test("previewing an edited link does not save the edits", async () => {
  const { id: link_id } = await world.make("/links", {
    path: "spring",
    social_title: "Spring",
    url,
  });
  const before = (await world.call("GET", `/links/${link_id}`)).body;
  const link_fields = { social_title: "May <b>", url: "https://example.com/may" };
  const { status, text } = await preview({ link_id, link_fields });
  expect([status, text.includes("<h1>May &lt;b&gt; at spring</h1>")]).toEqual([200, true]);
  const desktop = { headers: { "user-agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" } };
  expect((await preview({ link_id, link_fields }, desktop)).text).toContain(link_fields.url);
  expect((await world.call("GET", `/links/${link_id}`)).body).toEqual(before);
});

test("previewing a new link does not reserve its path", async () => {
  const ios_app = { bundle_id: "com.shop", team_id: "ABCDE12345", name: "Shop" };
  const { id } = await world.make("/ios_apps", { ios_app });
  const link_fields = { social_title: "New", path: "/new/", ios_app: { id } };
  const { status, text } = await preview({ link_fields });
  expect([status, text.includes("<h1>New at new</h1>")]).toEqual([200, true]);
  expect(text).toContain('content="Shop"');
  expect((await world.call("GET", "/links")).body.links).toEqual([]);
  await world.make("/links", { path: "new/" });
});

test("previewing an invalid link returns the same error message as saving it", async () => {
  await world.make("/links", { path: "taken" });
  const { id: link_id } = await world.make("/links", { path: "spring" });
  for (const link_fields of [
    { url: "nowhere" },
    { path: "taken" },
    { path: "a\\b", name: "x".repeat(501) },
    { provider_token: "1" },
    { ios_app: { id: "0190a000-0000-7000-8000-000000000000" } },
  ]) {
    const [drawn, changed, made] = [
      await preview({ link_id, link_fields }),
      await world.call("PATCH", `/links/${link_id}`, { body: link_fields }),
      await preview({ link_fields }),
    ];
    expect([drawn.status, drawn.body], JSON.stringify(link_fields)).toEqual([422, changed.body]);
    expect(made.status).toBe(422);
  }
});

test("previewing a link with an unregistered app returns 422 and registers no app", async () => {
  const ios_app = { bundle_id: "com.new", team_id: "ABCDE12345" };
  const { status, body: told } = await preview({ link_fields: { ios_app } });
  expect([status, told]).toEqual([422, { error: messages.ios_app_not_found }]);
  expect((await world.call("GET", "/ios_apps")).body.ios_apps).toEqual([]);
});

test("previewing a link requires the scope for creating or updating that link", async () => {
  const { id: link_id } = await world.make("/links", { path: "spring" });
  const scopes = ["page_templates.show", "links.show"] as const;
  const key = await world.addKey({ scopes: [...scopes] });
  const refused = await preview({ link_id, link_fields: { path: "other" } }, { key });
  const error = messages.scope_missing("links.update");
  expect([refused.status, refused.body]).toEqual([401, { error }]);
  const creating = await preview({ link_fields: {} }, { key });
  expect(creating.body).toEqual({ error: messages.scope_missing("links.create") });
  const writer = await world.addKey({ scopes: [...scopes, "links.update"] });
  const drawn = await preview({ link_id, link_fields: { path: "other" } }, { key: writer });
  expect(drawn.status).toBe(200);
});
