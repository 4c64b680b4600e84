import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests request bodies with wrappers, unknown fields and values of other types. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";
const ios = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
const android = { package_name: "com.example.app", fingerprints: ["AA:BB"] };
const url = "http://default.localhost:8787/a";

function listLinks(world: World) {
  return world.call("GET", "/links").then(({ body }) => body.links);
}

test("fields are accepted inside a wrapper object named after the resource", async () => {
  const link = await world.make("/links", { link: { path: "a", name: "One" } });
  expect(link).toMatchObject({ path: "a", name: "One" });
  const body = "{% store_buttons %}";
  for (const [method, path, sent, wanted] of [
    ["PATCH", `/links/${link.id}`, { link: { name: "Two" } }, { id: link.id, name: "Two" }],
    ["PUT", `/links/${link.id}`, { link: { name: "Three" } }, { id: link.id, name: "Three" }],
    ["POST", "/links/upsert", { link: { path: "a", name: "Four" } }, { id: link.id, name: "Four" }],
    ["PATCH", `/links/${link.id}`, { link: { social_title: "Five" } }, { social_title: "Five" }],
    ["POST", "/short_links", { short_link: { url, prefix: "s-" } }, { id: link.id }],
    ["POST", "/short_links/resolve", { short_link: { url } }, { id: link.id }],
    ["PATCH", "/page_template", { page_template: { body } }, { body }],
    ["POST", "/page_template/publish", { page_template: { css: "p{}" } }, { css: "p{}" }],
  ] as const) {
    const reply = await world.call(method, path, { body: sent });
    expect([path, reply.status < 300, reply.body]).toMatchObject([path, true, wanted]);
    expect(reply.headers.get("warning")).toBeNull();
  }
  const preview = { page_template: { link_id: link.id } };
  const page = await world.call("POST", "/page_template/preview", { body: preview });
  expect([page.status, page.text]).toEqual([200, expect.stringContaining("Five")]);
});

test("creating an app without the required wrapper object returns 400", async () => {
  for (const [path, name, body] of [
    ["/ios_apps", "ios_app", ios],
    ["/android_apps", "android_app", android],
  ] as const) {
    const reply = await world.call("POST", path, { body });
    const error = messages.parameter_missing(name);
    expect([path, reply.status, reply.body]).toEqual([path, 400, { error }]);
  }
});

test("fields outside the wrapper object are ignored and listed in the Warning header", async () => {
  const body = { link: { name: "Inside" }, name: "Outside", colour: "red" };
  const reply = await world.call("POST", "/links", { body });
  expect([reply.status, reply.body.name]).toEqual([201, "Inside"]);
  const warning = '299 waypost "Ignored fields: name (did you mean link.name?), colour."';
  expect(reply.headers.get("warning")).toBe(warning);
});

test("an empty JSON object is valid: POST creates a link, and PATCH changes nothing", async () => {
  for (const body of [{}, { link: {} }]) {
    const link = await world.make("/links", body);
    const reply = await world.call("PATCH", `/links/${link.id}`, { body });
    expect([reply.status, reply.body]).toEqual([200, link]);
  }
});

const unknown = [
  ["/links", { title: "A" }, "title: did you mean name or social_title?"],
  [
    "/links",
    { link: { titel: "A", urls: "x" } },
    "titel: no such field and urls: did you mean url?",
  ],
  ["/links", { link: {}, url: "x" }, "url: did you mean link.url?"],
  ["/links", { link: "https://example.com" }, "link: did you mean url?"],
  ["/links", { socialTitle: "A" }, "socialTitle: did you mean social_title?"],
  [
    "/links",
    { fallback_url: "A" },
    "fallback_url: did you mean ios_fallback_url or android_fallback_url?",
  ],
  ["/links", { long_url: "A" }, "long_url: did you mean url?"],
  [
    "/links",
    { constructor: 1 },
    expect.stringMatching(/^constructor: no such field. The fields are name, path,/),
  ],
  [
    "/links",
    { "a\u0000\u202e": 1 },
    expect.stringMatching(/^a\\\\u\{0\}\\\\u\{202e\}: no such field/),
  ],
  ["/ios_apps", { ios_app: { bundle: "A" } }, "bundle: did you mean bundle_id or clip_bundle_id?"],
  ["/android_apps", { android_app: { package: "A" } }, "package: did you mean package_name?"],
  ["/page_template/publish", { html: "A" }, "html: did you mean body?"],
  ["/page_template/preview", { link: "A" }, "link: did you mean link_id or link_fields?"],
] as const;

test.each(unknown)(
  "POST %s with only unknown fields returns 422: %j",
  async (path, body, error) => {
    const reply = await world.call("POST", path, { body });
    expect([reply.status, reply.body]).toEqual([422, { error }]);
    expect(await listLinks(world)).toEqual([]);
  },
);

test("an update with only unknown fields returns 422 and changes nothing", async () => {
  const link = await world.make("/links", { name: "One" });
  const body = { nmae: "Two" };
  for (const method of ["PATCH", "PUT"]) {
    const reply = await world.call(method, `/links/${link.id}`, { body });
    const error = "nmae: did you mean name?";
    expect([reply.status, reply.body]).toEqual([422, { error }]);
  }
  expect(await listLinks(world)).toEqual([link]);
});

test("the response to 60,000 unknown fields is shorter than 3,000 characters", async () => {
  const names = Array.from({ length: 60_000 }, (_, index) => [`n${index}${"x".repeat(5)}`, 1]);
  const reply = await world.call("POST", "/links", { body: Object.fromEntries(names) });
  expect(reply.status).toBe(422);
  expect(reply.text.length).toBeLessThan(3000);
});

test("the Warning header lists unknown fields and suggests similar known fields", async () => {
  const body = {
    name: "A",
    titel: "B",
    social_titel: "C",
    ios_app: null,
    options: { shortn: true },
  };
  const reply = await world.call("POST", "/links", { body });
  expect(reply.status).toBe(201);
  const names = "titel, social_titel (did you mean social_title?), ";
  const inner = "options.shortn (did you mean options.shorten?)";
  const warning = `299 waypost "Ignored fields: ${names}${inner}."`;
  expect(reply.headers.get("warning")).toBe(warning);
});

test("a link or app sent back unmodified causes warnings only about read-only fields", async () => {
  const app = await world.make("/ios_apps", { ios_app: ios });
  const link = await world.make("/links", { path: "a", ios_app_id: app.id });
  const ignored = '299 waypost "Ignored fields: id, shortened_path, clicks."';
  for (const [method, path] of [
    ["PUT", `/links/${link.id}`],
    ["POST", "/links/upsert"],
  ] as const) {
    const reply = await world.call(method, path, { body: { link } });
    expect([reply.status, reply.body]).toEqual([200, link]);
    expect(reply.headers.get("warning")).toBe(ignored);
  }
  const { id, clicks } = link;
  const reply = await world.call("PATCH", `/links/${id}`, { body: { id, clicks } });
  expect([reply.status, reply.body]).toEqual([200, link]);
  const same = await world.call("PUT", `/ios_apps/${app.id}`, { body: { ios_app: app } });
  expect([same.status, same.body]).toEqual([200, app]);
  // Fields that appear only in responses are not enough to create a link.
  expect((await world.call("POST", "/links", { body: { id, clicks } })).status).toBe(422);
});

test("the Warning header is well-formed whatever characters the field names contain", async () => {
  for (const name of [
    'a"b\\',
    "c\r\nset-cookie: x=y",
    "\u202e\u0000ü🎉",
    "x".repeat(5000),
    `${"y".repeat(60)}"`.repeat(20),
  ]) {
    const strange = Object.fromEntries([name, `${name}1`, `${name}2`].map((key) => [key, 1]));
    const reply = await world.call("POST", "/links", { body: { name: "A", ...strange } });
    const warning = reply.headers.get("warning") ?? "";
    expect([reply.status, warning]).toEqual([
      201,
      expect.stringMatching(/^299 waypost "(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])+"$/),
    ]);
    expect(warning.length).toBeLessThanOrEqual(500);
    expect(reply.headers.get("set-cookie")).toBeNull();
  }
});

const formTypes = ["application/x-www-form-urlencoded", "Multipart/Form-Data; boundary=x"];

test.each(formTypes)(
  "a form body of type %s is rejected with a 400 that shows the JSON to send instead",
  async (type) => {
    for (const [method, path, example, key] of [
      ["POST", "/links", '{"name":"…"}', world.key],
      ["PUT", `/links/${unknownId}`, '{"name":"…"}', world.key],
      ["POST", "/short_links", '{"url":"…"}', world.key],
      ["POST", "/short_links/resolve", '{"url":"…"}', null],
      ["POST", "/ios_apps", '{"ios_app":{"bundle_id":"…"}}', world.key],
      ["POST", "/projects", '{"project":{"name":"…"}}', world.master],
      ["PATCH", "/page_template", '{"body":"…"}', world.key],
      ["POST", "/page_template/publish", '{"body":"…"}', world.key],
    ] as const) {
      const given = { key, body: "link[name]=Spring", headers: { "content-type": type } };
      const reply = await world.call(method, path, given);
      const error = messages.form_refused(example);
      expect([path, reply.status, reply.body]).toEqual([path, 400, { error }]);
    }
  },
);

test("text fields accept numbers and booleans, and boolean fields accept strings", async () => {
  for (const [flag, wanted] of [
    ["true", true],
    ["True", true],
    ["1", true],
    [1, true],
    ["false", false],
    ["0", false],
    [0, false],
  ] as const) {
    const link = await world.make("/links", { name: 2026, enable_forced_redirect: flag });
    expect(link).toMatchObject({ name: "2026", enable_forced_redirect: wanted });
  }
  const tokens = { provider_token: 118, campaign_token: false };
  expect(await world.make("/links", tokens)).toMatchObject({
    provider_token: "118",
    campaign_token: "false",
  });
  const app = { bundle_id: "com.a", team_id: 1234567890, app_store_id: 987654 };
  expect(await world.make("/ios_apps", { ios_app: app })).toMatchObject({
    team_id: "1234567890",
    app_store_id: "987654",
  });
  const shortened = await world.make("/links", { options: { shorten: "true" } });
  expect(shortened.shortened_path).toEqual(expect.any(String));
});

const lossy = [
  [{ name: 1.5 }, "Name must be a string"],
  [{ name: 2 ** 53 }, "Name must be a string"],
  [{ name: 1e21 }, "Name must be a string"],
  [{ name: {} }, "Name must be a string"],
  [{ enable_forced_redirect: "" }, "Enable forced redirect must be true or false"],
  [{ enable_forced_redirect: "yes" }, "Enable forced redirect must be true or false"],
  [{ enable_forced_redirect: 2 }, "Enable forced redirect must be true or false"],
] as const;

test.each(lossy)(
  "a value that cannot be converted to the field's type is rejected: %j",
  async (...row) => {
    const [body, error] = row;
    await using world = await createWorld();
    const reply = await world.call("POST", "/links", { body });
    expect([reply.status, reply.body]).toEqual([422, { error }]);
  },
);

for (const [field, list, app] of [
  ["ios_app", "/ios_apps", ios],
  ["android_app", "/android_apps", android],
] as const) {
  const member = `${field}_id`;
  const label = field === "ios_app" ? "Ios app" : "Android app";

  test(`the field ${member} sets and clears a link's app`, async () => {
    const { id } = await world.make(list, { [field]: app });
    const link = await world.make("/links", { path: "a", [member]: id });
    expect(link[member]).toBe(id);
    for (const [method, path] of [
      ["PATCH", `/links/${link.id}`],
      ["PUT", `/links/${link.id}.json`],
      ["POST", "/links/upsert"],
    ] as const) {
      for (const [given, wanted] of [
        [null, null],
        [id, id],
        ["", null],
        [id.toUpperCase(), id],
      ]) {
        const body = { link: { path: "a", [member]: given } };
        const reply = await world.call(method, path, { body });
        expect([path, given, reply.status, reply.body[member]]).toEqual([path, given, 200, wanted]);
        expect(reply.headers.get("warning")).toBeNull();
      }
    }
  });

  test(`${member} rejects unknown IDs with the same error message as ${field}`, async () => {
    const stranger = await world.addKey({ project: await world.addProject() });
    const { id } = await world.make(list, { [field]: app });
    const error = field === "ios_app" ? messages.ios_app_not_found : messages.android_app_not_found;
    for (const [given, key, wanted] of [
      [unknownId, world.key, error],
      [5, world.key, error],
      [id, stranger, error],
      [{ id }, world.key, `${label} must be a string in ${member}`],
      [[id], world.key, `${label} must be a string in ${member}`],
    ] as const) {
      const reply = await world.call("POST", "/links", { key, body: { [member]: given } });
      expect([given, reply.status, reply.body]).toEqual([given, 422, { error: wanted }]);
    }
  });

  test(`${member} and ${field} can be sent together only if both select the same app`, async () => {
    const { id } = await world.make(list, { [field]: app });
    const error = `${label} contradicts ${member}: send only one of the two`;
    for (const [one, other] of [
      [id, { id }],
      [id.toUpperCase(), { id }],
      [null, null],
      ["", null],
    ]) {
      const body = { [member]: one, [field]: other };
      const link = await world.make("/links", body);
      expect(link[member]).toBe(other === null ? null : id);
    }
    for (const [one, other] of [
      [id, { id: unknownId }],
      [id, null],
      [null, { id }],
      [id, app],
      [id, { id, ...app }],
      [id, "x"],
    ]) {
      const body = { [member]: one, [field]: other };
      const reply = await world.call("POST", "/links", { body });
      expect([body, reply.status, reply.body]).toEqual([body, 422, { error }]);
    }
  });
}
