import { describe, expect, test } from "vitest";
import type { StoredProject } from "../../src/store/projects.ts";
import { changeProject } from "../../src/service/write-project.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests a project whose links may point only to allowed hosts. */

const fields = {
  url: "Url",
  social_image_url: "Social image url",
  ios_fallback_url: "Ios fallback url",
  android_fallback_url: "Android fallback url",
} as const;
const rejection = "must point to one of the allowed hosts (shop.example, *.shop.example), not to";
const allowedUrl = "https://shop.example/spring";
const forbiddenUrl = "https://evil.example/spring";

let world: World;

openForEach(createWorld, (opened) => (world = opened));

/** Writes the setting to the database, like the operator's command. */
async function allow(destinations: string | null): Promise<StoredProject> {
  const changed = await world.store.write((db) =>
    changeProject(db, world, world.project, {}, { destinations }),
  );
  world.advance(100);
  return changed;
}

const limit = () => allow("shop.example,*.shop.example");
const create = (body: object) => world.call("POST", "/links", { body });
const upsert = (body: object) => world.call("POST", "/links/upsert", { body });
const patch = (id: string, body: object) => world.call("PATCH", `/links/${id}`, { body });
const shorten = (url: string) => world.call("POST", "/short_links", { body: { url } });

const page = (inside: string) => `<p>${inside}</p>\n{% store_buttons %}`;
const save = (body: object) => world.call("PATCH", "/page_template", { body });
const publish = (body?: object) =>
  world.call("POST", "/page_template/publish", { ...(body && { body }) });

describe("a link in a project with allowed hosts", () => {
  test.each(Object.entries(fields))(
    "cannot have a %s on a host that is not allowed",
    async (field, label) => {
      await limit();
      const made = await create({ path: "kept", [field]: "https://a.SHOP.example:8443/x" });
      expect(made.status).toBe(201);
      const ways = [
        create({ [field]: forbiddenUrl }),
        upsert({ path: "new", [field]: forbiddenUrl }),
        upsert({ path: "kept", [field]: forbiddenUrl }),
        patch(made.body.id, { [field]: forbiddenUrl }),
      ];
      for (const reply of await Promise.all(ways)) {
        const error = `${label} ${rejection} evil.example`;
        expect([reply.status, reply.body]).toEqual([422, { error }]);
      }
      expect((await world.call("GET", "/links")).body.links).toEqual([made.body]);
    },
  );

  test("is rejected with a single 422 that lists forbidden hosts and other problems", async () => {
    await limit();
    const reply = await create({
      url: forbiddenUrl,
      ios_fallback_url: "ftp://x.example",
      name: "\0",
    });
    expect(reply.status).toBe(422);
    expect(reply.body.error).toBe(
      "Name contains characters that can't be stored, " +
        `Ios fallback url must be an http or https address, and Url ${rejection} evil.example`,
    );
  });

  test("can be created without a destination or have its destination removed", async () => {
    await limit();
    const made = await create({ path: "bare", url: allowedUrl });
    expect((await patch(made.body.id, { url: "" })).body.url).toBe(null);
    expect((await create({ path: "none" })).status).toBe(201);
  });
});

describe("an existing link whose host is no longer allowed", () => {
  test("keeps its destination when other fields change", async () => {
    const { id } = (
      await create({ path: "old", url: forbiddenUrl, social_image_url: forbiddenUrl })
    ).body;
    await limit();
    expect((await patch(id, { name: "Renamed" })).status).toBe(200);
    expect((await patch(id, { url: forbiddenUrl, name: "Again" })).status).toBe(200);
    const whole = await upsert({
      path: "old",
      url: forbiddenUrl,
      social_image_url: forbiddenUrl,
      name: "Whole",
    });
    expect([whole.status, whole.body.name]).toEqual([200, "Whole"]);
    const other = await patch(id, { url: `${forbiddenUrl}/2` });
    expect([other.status, other.body.error]).toEqual([422, `Url ${rejection} evil.example`]);
    const swapped = await patch(id, { url: forbiddenUrl, ios_fallback_url: forbiddenUrl });
    expect(swapped.body.error).toBe(`Ios fallback url ${rejection} evil.example`);
  });

  test("cannot be changed back to its old destination", async () => {
    const { id } = (await create({ path: "old", url: forbiddenUrl })).body;
    await limit();
    expect((await patch(id, { url: allowedUrl })).status).toBe(200);
    expect((await patch(id, { url: forbiddenUrl })).status).toBe(422);
  });
});

describe("POST /short_links in a project with allowed hosts", () => {
  test("accepts URLs on allowed hosts and URLs of the project's own links", async () => {
    await create({ path: "own", url: forbiddenUrl });
    await limit();
    expect((await shorten(allowedUrl)).status).toBe(201);
    expect((await shorten("http://default.localhost:8787/own")).status).toBe(201);
    const reply = await shorten(forbiddenUrl);
    expect([reply.status, reply.body]).toEqual([422, { errors: `Url ${rejection} evil.example` }]);
  });

  test("rejects the URL of another project's link", async () => {
    await world.addProject({ subdomain: "other" });
    await limit();
    expect((await shorten("http://other.localhost:8787/own")).status).toBe(422);
  });
});

test("changing a project's allowed hosts takes effect on the next request", async () => {
  expect((await create({ url: forbiddenUrl })).status).toBe(201);
  await limit();
  expect((await create({ url: forbiddenUrl })).status).toBe(422);
  const other = await world.addKey({ project: await world.addProject() });
  expect(
    (await world.call("POST", "/links", { key: other, body: { url: forbiddenUrl } })).status,
  ).toBe(201);
  await allow(null);
  expect((await create({ url: forbiddenUrl })).status).toBe(201);
});

test("the error for a forbidden host lists at most five allowed hosts", async () => {
  await allow("a.example,b.example,c.example,d.example,e.example,f.example,g.example");
  expect((await create({ url: forbiddenUrl })).body.error).toBe(
    "Url must point to one of the allowed hosts (a.example, b.example, c.example, d.example, " +
      "e.example and 2 more), not to evil.example",
  );
});

describe("the page template of a project with allowed hosts", () => {
  const picture = page(`<img src="https://evil.example/a.png" alt="">`);

  test("cannot contain images or links on forbidden hosts", async () => {
    await limit();
    const kept = page(
      `<img src="https://cdn.shop.example/{{ link.path }}.png" alt="{{ link.name }}">` +
        `<a href="{{ link.url }}">Go</a>` +
        `<a href="mailto:a@evil.example">Mail</a><a href="#x">Up</a>`,
    );
    expect((await save({ body: kept })).status).toBe(201);
    for (const reply of [await save({ body: picture }), await publish({ body: picture })]) {
      const message = `This address ${rejection} evil.example.`;
      expect([reply.status, reply.body.problems]).toEqual([
        422,
        [{ field: "body", line: 1, column: 9, message }],
      ]);
    }
    expect((await publish()).status).toBe(200);
  });

  test("can be published with a forbidden host only if the live template contains it", async () => {
    await save({ body: picture });
    await limit();
    expect((await save({ css: "p{color:red}" })).status).toBe(200);
    expect((await publish()).status).toBe(422);
    await allow(null);
    const live = (await publish()).body.live_version;
    await limit();
    expect((await publish()).status).toBe(200);
    await save({ body: page("Other") });
    const restored = await world.call("POST", `/page_template/versions/${live.id}/restore`);
    expect([restored.status, restored.body.body]).toEqual([200, picture]);
    expect((await publish()).status).toBe(200);
  });
});
