import { describe, expect, test, vi } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { starter } from "../../src/template/starter-template.ts";
import { createGate } from "../support/clock.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type CallInput, type Reply, type World } from "../support/world.ts";

/** Tests saving, publishing, unpublishing and restoring a page template. */

const body = "<h1>{{ link.name }}</h1>{% store_buttons %}";
const css = "h1{color:red}";
const by = { published_by: "owner" };
const unknownId = "0190a000-0000-7000-8000-000000000000";

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const save = (fields: object, given: CallInput = {}) =>
  world.call("PATCH", "/page_template", { body: fields, ...given });
const publish = (fields?: object, given: CallInput = {}) =>
  world.call("POST", "/page_template/publish", { ...(fields && { body: fields }), ...given });
const unpublish = (given: CallInput = {}) => world.call("POST", "/page_template/unpublish", given);
const list = (given: CallInput = {}) => world.call("GET", "/page_template/versions", given);
const show = (id: string) => world.call("GET", `/page_template/versions/${id}`);
const restore = (id: string) => world.call("POST", `/page_template/versions/${id}/restore`);

const paint = (bytes: number) => `/*${"é".repeat((bytes - 4) / 2)}*/`;

async function listVersions() {
  return (await list()).body.versions;
}

describe("a project without a page template", () => {
  test("the first save returns 201 and a draft, but no live version", async () => {
    const reply = await save({ body, css });
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      body,
      css,
      unpublished_changes: true,
      live_version: null,
      created_at: "2026-01-15T12:00:00.000Z",
      updated_at: "2026-01-15T12:00:00.000Z",
    });
    expect(await listVersions()).toEqual([]);
  });

  test("saving only CSS creates a draft with an empty body", async () => {
    const reply = await save({ css });
    expect([reply.status, reply.body.body, reply.body.css]).toEqual([201, "", css]);
  });

  test("the list of versions is empty", async () => {
    const { status, body: listed } = await list();
    expect([status, listed]).toEqual([200, { versions: [] }]);
  });

  test("publishing, unpublishing, and reading or restoring a version return 404", async () => {
    for (const reply of [await publish(), await publish({}), await unpublish()]) {
      expect([reply.status, reply.body]).toEqual([
        404,
        { error: "The project has no page template" },
      ]);
    }
    for (const reply of [await show(unknownId), await restore(unknownId)]) {
      expect([reply.status, reply.body]).toEqual([
        404,
        { error: "Page template or version not found" },
      ]);
    }
  });

  test("a body can be saved and published in a single request", async () => {
    const reply = await publish({ body, css });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ body, css, unpublished_changes: false });
    expect(reply.body.live_version).toMatchObject({ body, css, live: true });
  });
});

describe("a template draft", () => {
  test("is changed by a save, but the live version is not", async () => {
    await save({ body, css });
    const live = (await publish()).body.live_version;
    world.advance(1000);
    const reply = await save({ css: "" });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ body, css: "", unpublished_changes: true });
    expect(reply.body.live_version).toEqual(live);
    expect(reply.body.updated_at).toBe("2026-01-15T12:00:01.000Z");
    expect(reply.body.created_at).toBe("2026-01-15T12:00:00.000Z");
    expect((await save({ css })).body.unpublished_changes).toBe(false);
  });

  test("keeps omitted fields, clears fields sent empty, and accepts only strings", async () => {
    await save({ body, css });
    expect((await save({})).body).toMatchObject({ body, css });
    expect((await save({ css: "" })).body).toMatchObject({ body, css: "" });
    expect((await save({ body: "" })).body).toMatchObject({ body: "", css: "" });
    for (const [field, label] of [
      ["body", "Body"],
      ["css", "Css"],
    ] as const) {
      for (const value of [null, 1.5, ["x"], { x: 1 }]) {
        for (const reply of [await save({ [field]: value }), await publish({ [field]: value })]) {
          const error = `${label} must be a string`;
          expect([reply.status, reply.body]).toEqual([422, { error }]);
        }
      }
    }
  });

  test("is cleared by saving or publishing an empty body", async () => {
    await save({ body, css });
    expect((await save({ body: "" })).body).toMatchObject({ body: "", css });
    await save({ body });
    expect((await publish({ body: "", css: "" })).body).toMatchObject({ body: "", css: "" });
  });

  test("can be published empty, and previews then show the starter template", async () => {
    await save({ body: "", css: "" });
    const reply = await publish();
    expect([reply.status, reply.body.live_version]).toMatchObject([200, { body: "", css: "" }]);
    expect(await listVersions()).toHaveLength(1);
    const shown = await world.call("POST", "/page_template/preview");
    expect(shown.text).toContain(starter.css);
  });

  test('has "published_by": "owner" in every response once published', async () => {
    const { live_version } = (await publish({ body, css })).body;
    const [listed] = await listVersions();
    for (const version of [live_version, listed, (await show(listed.id)).body]) {
      expect(version).toMatchObject({ id: listed.id, published_by: "owner" });
    }
  });

  test("is published with an empty body if only CSS was saved", async () => {
    for (const reply of [await publish({ css }), await publish({ body: "" })]) {
      expect(reply.status).toBe(200);
      expect(reply.body).toMatchObject({ body: "", css, live_version: { body: "", css } });
    }
    const bad = await publish({ css: "a{behavior:x}" });
    expect([bad.status, bad.body.problems]).toMatchObject([422, [{ field: "css", line: 1 }]]);
    expect(await listVersions()).toHaveLength(2);
  });

  test("is published empty if a concurrent save empties it", async () => {
    await save({ body, css });
    const held = createGate();
    const holding = world.store.write(() => held.opened);
    const write = vi.spyOn(world.store, "write");
    // Ignore other writes, such as a key's last use, which have no signal.
    const countRequests = () => write.mock.calls.filter(([, how]) => how?.signal).length;
    const untilTheyWait = (requests: number) =>
      vi.waitFor(() => expect(countRequests()).toBe(requests), 20_000);
    const saving = save({ body: "", css: "" });
    await untilTheyWait(1);
    const publishing = publish();
    await untilTheyWait(2);
    held.open();
    await holding;
    expect((await saving).body).toMatchObject({ body: "", css: "" });
    const reply = await publishing;
    expect([reply.status, reply.body.live_version]).toMatchObject([200, { body: "", css: "" }]);
  });

  test("is unchanged by a rejected save, and the 422 has each problem's position", async () => {
    await save({ body, css });
    const bad = { body: "<p>\n<script>x</script>\n{{ foo }}", css: "a{\n  behavior:x}" };
    const problems = [
      { field: "body", line: 1, column: 1, message: expect.stringContaining("store_buttons") },
      { field: "body", line: 2, column: 1, message: expect.stringContaining("<script>") },
      {
        field: "body",
        line: 3,
        column: 4,
        message: expect.stringContaining("variable foo does not exist"),
      },
      { field: "css", line: 2, column: 3, message: expect.stringContaining("behavior") },
    ];
    for (const reply of [await save(bad), await publish(bad)]) {
      expect(reply.status).toBe(422);
      expect(reply.body).toEqual({ error: expect.any(String), problems });
      expect(reply.body.error).toMatch(
        /^Body line 1, column 1: .*, and Css line 2, column 3: [^.]*$/,
      );
    }
    expect((await save({})).body).toMatchObject({ body, css, live_version: null });
  });

  test("has a size limit in bytes, not characters", async () => {
    const buttons = "{% store_buttons %}";
    const fits = "é".repeat((65_536 - buttons.length - 1) / 2) + buttons;
    expect((await save({ body: fits, css: paint(32_768) })).status).toBe(201);
    const reply = await save({ body: `${fits}xx`, css: paint(32_770) });
    expect([reply.status, reply.body.error]).toEqual([
      422,
      "Body is too long (maximum is 65536 bytes) and Css is too long (maximum is 32768 bytes)",
    ]);
    const nul = await save({ body: `${body}\u0000` });
    expect([nul.status, nul.body.error]).toEqual([
      422,
      "Body contains characters that cannot be stored",
    ]);
  });

  test("never mixes the contents of four concurrent saves", async () => {
    await save({ body, css });
    const replies = await Promise.all(
      ["a", "b", "c", "d"].map((text) => save({ body: `${text}${body}`, css: `.${text}{top:0}` })),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const last = (await save({})).body;
    expect(last.css).toBe(`.${last.body[0]}{top:0}`);
  });
});

describe("publishing a template", () => {
  test("creates a new live version each time, and the newest is listed first", async () => {
    await save({ body, css });
    const first = (await publish()).body.live_version;
    world.advance(60_000);
    const second = (await publish({ css: "" })).body;
    expect(second).toMatchObject({ css: "", unpublished_changes: false });
    expect(second.live_version.id).not.toBe(first.id);
    expect(await listVersions()).toEqual([
      { id: second.live_version.id, published_at: "2026-01-15T12:01:00.000Z", live: true, ...by },
      { id: first.id, published_at: "2026-01-15T12:00:00.000Z", live: false, ...by },
    ]);
    expect((await show(first.id)).body).toEqual({ ...first, live: false });
    expect((await show(second.live_version.id)).body).toEqual(second.live_version);
  });

  test("requires neither a request body nor a content type", async () => {
    await save({ body });
    expect((await publish()).status).toBe(200);
    expect((await publish({})).status).toBe(200);
    const typed = await publish(undefined, { headers: { "content-type": "application/json" } });
    expect(typed.status).toBe(200);
    const wrong = await publish(undefined, {
      body: "x",
      headers: { "content-type": "text/plain" },
    });
    expect([wrong.status, wrong.body]).toEqual([400, { error: messages.content_type }]);
  });

  test("deletes no versions of another project", async () => {
    const other = { key: await world.addKey({ project: await world.addProject() }) };
    await publish({ body, css });
    for (let turn = 0; turn < 21; turn += 1) await publish({ body, css }, other);
    await publish({ body, css: "" });
    const counts = [await list(), await list(other)].map((reply) => reply.body.versions.length);
    expect(counts).toEqual([2, 20]);
    expect((await listVersions()).map(({ live }: { live: boolean }) => live)).toEqual([
      true,
      false,
    ]);
  });

  test("keeps the last 20 versions, including the live one", async () => {
    const ids: string[] = [];
    for (let turn = 0; turn < 25; turn += 1) {
      ids.push((await publish({ body: `${turn}${body}` })).body.live_version.id);
    }
    const versions = await listVersions();
    expect(versions.map(({ id }: { id: string }) => id)).toEqual(ids.slice(5).toReversed());
    expect(versions.filter(({ live }: { live: boolean }) => live)).toEqual([versions[0]]);
    expect((await show(ids[4] ?? "")).status).toBe(404);
    expect((await show(ids[5] ?? "")).body.body).toBe(`5${body}`);
  });

  test("changes neither the draft nor the versions if it fails", async () => {
    await publish({ body, css });
    const before = [(await save({})).body, await listVersions()];
    expect((await publish({ body: "<p>no buttons</p>" })).status).toBe(422);
    expect([(await save({})).body, await listVersions()]).toEqual(before);
  });
});

describe("unpublishing a template", () => {
  test("keeps the draft and the versions, and the draft can be published again", async () => {
    const { live_version: live } = (await publish({ body, css })).body;
    const reply = await unpublish();
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ body, css, live_version: null, unpublished_changes: true });
    expect(await listVersions()).toEqual([
      { id: live.id, published_at: live.published_at, live: false, ...by },
    ]);
    expect((await unpublish()).body.live_version).toBeNull();
    expect((await publish()).body.live_version).toMatchObject({ body, css, live: true });
    expect(await listVersions()).toHaveLength(2);
  });
});

describe("restoring a template version", () => {
  test("copies the version into the draft and publishes nothing", async () => {
    const first = (await publish({ body, css })).body.live_version;
    const second = (await publish({ body: `new ${body}`, css: "" })).body.live_version;
    const reply = await restore(first.id);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ body, css, unpublished_changes: true });
    expect(reply.body.live_version).toEqual(second);
    expect(await listVersions()).toHaveLength(2);
    expect((await restore(second.id)).body.unpublished_changes).toBe(false);
  });
});

describe("access to page templates", () => {
  type Case = readonly [name: string, call: (given: CallInput) => Promise<Reply>, scope: string];
  const calls: readonly Case[] = [
    ["save", (given) => save({ body }, given), "page_templates.update"],
    ["publish", (given) => publish({ body }, given), "page_templates.publish"],
    ["unpublish", (given) => unpublish(given), "page_templates.publish"],
    ["list", (given) => list(given), "page_templates.show"],
  ];

  test.each(calls)(
    "is denied with a different message for each reason: %s",
    async (_, call, scope) => {
      const project = await world.addProject({ templates_enabled: false });
      const free = await world.addProject({ plan: "free" });
      const told = [
        await call({ key: await world.addKey({ scopes: ["links.show"] }) }),
        await call({ key: await world.addKey({ role: "viewer" }) }),
        await call({ key: await world.addKey({ project: free }) }),
        await call({ key: await world.addKey({ project }) }),
      ].map(({ status, body: { error } }) => [status, error]);
      expect(told).toEqual([
        [401, `API key lacks the scope ${scope}.`],
        [401, messages.role_required("manager")],
        [401, messages.plan_required],
        [401, messages.templates_off],
      ]);
    },
  );

  test("with only the publish scope allows publishing a body but not saving a draft", async () => {
    const key = await world.addKey({ scopes: ["page_templates.publish"] });
    const reply = await publish({ body, css }, { key });
    expect([reply.status, reply.body.body]).toEqual([200, body]);
    expect((await save({ css: "" }, { key })).status).toBe(401);
    expect((await unpublish({ key })).status).toBe(200);
  });
});

test("deleting a project deletes its page templates and versions", async () => {
  const project = await world.addProject();
  const key = await world.addKey({ project });
  await publish({ body, css }, { key });
  await publish({ body });
  await world.call("DELETE", `/projects/${project.id}`, { key: world.master });
  await world.store.finishTasks();
  for (const table of ["page_templates", "page_template_versions"] as const) {
    const rows = await world.store.db.selectFrom(table).select("project_id").execute();
    expect(rows).toEqual([{ project_id: world.project.id }]);
  }
});
