import { describe, expect, test } from "vitest";
import {
  alterLinks,
  replyWith,
  withBody,
  type ReplyEdit,
  type Fields,
  createStrangeWorld,
  type StrangeWorld,
} from "../../support/remote.ts";
import { approve, callDone, callRefused } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";

/** A field that is unreadable or missing is never written back, and is not used as evidence. */

let strange: StrangeWorld;
openForEach(createStrangeWorld, (opened) => (strange = opened));

const hideIdOfSpring = (link: Fields) =>
  link["path"] === "spring" ? { ...link, id: undefined } : link;
const isHidden = (link: Fields) => ({ ...link, name: { en: link["name"] } });
const isAbsent = (link: Fields) => ({ ...link, name: undefined });
const unknownNames = [
  ["has the wrong type", isHidden],
  ["is absent", isAbsent],
] as const;

describe("a remote server with unusual responses", () => {
  test.each(unknownNames)(
    "plan_links reports a conflict if the current value of a changed field %s",
    async (_, alter) => {
      const { id } = await strange.plant("link", { path: "spring", name: "Spring" });
      strange.proxy.setAlter(alterLinks(alter));
      for (const name of ["Spring", "Summer", null]) {
        const given = { operation: "update", rows: [{ id, name }] };
        const { plan } = await callDone(strange, "plan_links", given);
        expect(plan.counts).toMatchObject({ unchanged: 0, update: 0, conflict: 1 });
        expect(plan.sample[0].message).toBe("The link's name could not be read");
      }
    },
  );

  test("a plan can change and restore the URL of a link whose name is unreadable", async () => {
    const url = "https://example.com/a";
    const { id } = await strange.plant("link", { path: "spring", name: "Spring", url });
    strange.proxy.setAlter(alterLinks(isHidden));
    const rows = [{ id, url: "https://example.com/b" }];
    const { plan } = await callDone(strange, "plan_links", { operation: "update", rows });
    const { job } = await callDone(strange, "apply_plan", { plan_id: plan.id });
    expect(job.counts).toMatchObject({ done: 1 });
    const undo = await callDone(strange, "plan_links", { undo: job.id });
    expect(undo.plan.counts).toMatchObject({ update: 1, conflict: 0 });
    await callDone(strange, "apply_plan", { plan_id: undo.plan.id });
    strange.proxy.setAlter((_, reply) => reply);
    const { link } = await callDone(strange, "get_link", { id });
    expect(link).toMatchObject({ name: "Spring", url });
  });

  test("plan_links warns if an unreadable field will prevent undoing the deletion", async () => {
    const { id } = await strange.plant("link", { path: "spring", name: "Spring" });
    strange.proxy.setAlter(alterLinks(isAbsent));
    const given = { operation: "delete", rows: [{ id }] };
    const { plan } = await callDone(strange, "plan_links", given);
    expect(plan.sample[0].message).toContain("so the deletion cannot be undone");
    const { job } = await callDone(strange, "apply_plan", { plan_id: plan.id });
    expect(job.counts).toMatchObject({ done: 1 });
    const undo = await callDone(strange, "plan_links", { undo: job.id });
    expect(undo.plan.counts).toMatchObject({ create: 0, conflict: 1 });
  });

  test("a plan does not write to the path of an unreadable link", async () => {
    const { id } = await strange.plant("link", { path: "winter" });
    await strange.plant("link", { path: "spring" });
    strange.proxy.setAlter(alterLinks(hideIdOfSpring));
    for (const [operation, row] of [
      ["upsert", { path: "spring", name: "Spring" }],
      ["update", { id, path: "spring" }],
    ] as const) {
      const { plan } = await callDone(strange, "plan_links", { operation, rows: [row] });
      expect(plan.counts).toMatchObject({ create: 0, update: 0, conflict: 1 });
    }
  });

  test("plan_links counts unreadable links that match the filters as conflicts", async () => {
    for (const path of ["a", "b", "c"]) await strange.plant("link", { path });
    strange.proxy.setAlter(alterLinks((link) => (link["path"] === "b" ? null : link)));
    const filters = [{ field: "name", condition: "null", value: true }];
    const given = { operation: "delete", filters };
    const { plan } = await callDone(strange, "plan_links", given);
    expect(plan.counts).toMatchObject({ delete: 2, conflict: 1 });
  });

  test.each([
    ["no properties", () => undefined],
    ["only the next page", ({ next }: Fields) => ({ next })],
    ["only the count", ({ count }: Fields) => ({ count })],
  ])("export_links reads all 230 links if the list's meta contains %s", async (_, change) => {
    await plantMany(230);
    strange.proxy.setAlter(({ path }, reply) =>
      path.startsWith("/api/v1/links?")
        ? withBody(reply, (body: { meta: Fields }) => ({ ...body, meta: change(body.meta) }))
        : reply,
    );
    const { export: exported } = await callDone(strange, "export_links");
    expect(exported.count).toBe(230);
  });
});

test("get_project fails if the server ignores the page number", async () => {
  const projects = Array.from({ length: 100 }, (_, id) => ({ id, name: `Number ${id}` }));
  strange.proxy.setAlter(({ path }, reply) =>
    path.startsWith("/api/v1/projects?") ? replyWith({ projects }) : reply,
  );
  const client = await strange.connect({ key: strange.world.master });
  const error = await callRefused(client, "get_project", { id: "spring" });
  expect(error).toMatchObject({ code: "overloaded" });
});

async function plantMany(count: number): Promise<void> {
  const all = Array.from({ length: count }, (_, index) => index);
  for (const index of all) await strange.plant("link", { path: `p${index}` });
}

describe("an undo", () => {
  test.each(unknownNames)(
    "is rejected if the earlier value of the changed field %s",
    async (_, alter) => {
      const { id } = await strange.plant("link", { path: "spring", name: "Spring" });
      let isOdd = true;
      strange.proxy.setAlter((asked, reply) =>
        asked.method === "GET" && isOdd ? alterLinks(alter)(asked, reply) : reply,
      );
      const { change } = await callDone(strange, "update_link", { id, name: "Summer" });
      isOdd = false;
      const error = await callRefused(strange, "undo", { change_id: change.id });
      expect(error.message).toBe("The value of name before the change is unknown.");
      expect((await callDone(strange, "get_link", { id })).link.name).toBe("Summer");
    },
  );

  test.each(unknownNames)(
    "is rejected if the current value of the changed field %s",
    async (_, alter) => {
      const { id } = await strange.plant("link", { path: "spring", name: "Spring" });
      const { change } = await callDone(strange, "update_link", { id, name: "Summer" });
      strange.proxy.setAlter(alterLinks(alter));
      const error = await callRefused(strange, "undo", { change_id: change.id });
      expect(error.message).toBe("The current value of name could not be read.");
    },
  );

  test.each(unknownNames)("is rejected if a field of the deleted link %s", async (_, alter) => {
    const { id } = await strange.plant("link", { path: "spring", name: "Spring" });
    strange.proxy.setAlter(alterLinks(alter));
    const { change } = await callDone(strange, "delete_link", { id });
    const error = await callRefused(strange, "undo", { change_id: change.id });
    expect(error.message).toBe("The value of name before the change is unknown.");
    expect(strange.listWrites()).toEqual([`DELETE /api/v1/links/${id}`]);
  });

  test("of a deletion is rejected if it is unknown whether the link was deleted", async () => {
    const { id } = await strange.plant("link", { path: "spring" });
    let isDeleted = false;
    strange.proxy.setAlter(({ method }, reply) => {
      isDeleted ||= method === "DELETE";
      if (method === "DELETE") return undefined;
      return isDeleted ? replyWith({ error: "API key lacks the scope links.show." }, 401) : reply;
    });
    await callRefused(strange, "delete_link", { id });
    const error = await callRefused(strange, "undo");
    expect(error.message).toBe("It is unknown whether this change was made.");
  });

  test("deletes a created link even if the response to its creation was unreadable", async () => {
    strange.proxy.setAlter((asked, reply) => ({
      ...reply,
      body: asked.method === "POST" ? "" : '{"odd":true}',
    }));
    const { change } = await callDone(strange, "create_link", { path: "spring" });
    strange.proxy.setAlter((_, reply) => reply);
    await callDone(strange, "undo", { change_id: change.id });
    expect((await callDone(strange, "list_links")).links).toEqual([]);
  });
});

test("an unanswered write has an unknown outcome if the written field cannot be read", async () => {
  const { id } = await strange.plant("link", { path: "spring", name: "Spring" });
  strange.proxy.setAlter((asked, reply) => {
    if (asked.method === "PATCH") return undefined;
    return alterLinks(isHidden)(asked, reply);
  });
  const error = await callRefused(strange, "update_link", { id, name: "Summer" });
  expect(error).toMatchObject({ code: "outcome_unknown", effect: "unknown" });
});

async function expectLive(wanted: object): Promise<void> {
  strange.proxy.setAlter((_, reply) => reply);
  const { version } = await callDone(strange, "get_template_version", { id: "live" });
  expect(version).toMatchObject(wanted);
}

const text = { body: "<p>Hi</p>\n{% store_buttons %}", css: "p{top:0}" };

describe("publish_template", () => {
  const noRoute = replyWith({ error: "Not found" }, 404);
  const hides: ReplyEdit = ({ path, method }, reply) =>
    /versions|preview|links/.test(path) || method === "PATCH" ? noRoute : reply;

  test("publishes the given text even if every read returns 404", async () => {
    strange.proxy.setAlter(hides);
    await callDone(strange, "publish_template", text);
    await expectLive(text);
  });

  test.each(["<h1>Not found</h1>", ""])(
    "publishes the given text even if reading the versions returns 404 with the body %j",
    async (body) => {
      const headers = { "content-type": "text/html" };
      strange.proxy.setAlter(({ path }, reply) =>
        path.includes("versions") ? { status: 404, headers, body } : reply,
      );
      await callDone(strange, "publish_template", text);
      await expectLive(text);
    },
  );

  test.each([
    [404, "Not found"],
    [403, "Forbidden"],
    [401, "Unauthorized"],
  ])("requires the whole text if reading the draft fails with status %i", async (status, error) => {
    await callDone(strange, "save_template", text);
    strange.proxy.setAlter(({ path, method }, reply) =>
      method === "PATCH" && path.includes("page_template") ? replyWith({ error }, status) : reply,
    );
    const refused = await callRefused(strange, "publish_template");
    expect(refused).toMatchObject({ code: "invalid_arguments", effect: "none" });
  });
});

test("an undo is refused if the server had omitted a text of the template", async () => {
  await callDone(strange, "save_template", text);
  strange.proxy.setAlter((_, reply) => withBody(reply, ({ css: _css, ...body }: Fields) => body));
  await callDone(strange, "save_template", { body: text.body, css: "b {}" });
  strange.proxy.setAlter((_, reply) => reply);
  const refused = await callRefused(strange, "undo");
  expect(refused.message).toContain("css contained before the change");
});

test("an undo sets a boolean field to false if it was null before the change", async () => {
  const { id } = await strange.plant("link", { path: "spring" });
  const name = "enable_forced_redirect";
  strange.proxy.setAlter(alterLinks((link) => ({ ...link, [name]: link[name] || null })));
  await callDone(strange, "update_link", { id, [name]: true });
  await callDone(strange, "undo");
  strange.proxy.setAlter((_, reply) => reply);
  // Results omit fields that are false.
  expect((await callDone(strange, "get_link", { id })).link).not.toHaveProperty(name);
});

test.each([
  ["url", { path: "summer" }, "unknown, because the server did not return url"],
  ["enable_forced_redirect", { path: "summer" }, "did not return enable_forced_redirect"],
  ["ios_app_id", { ios_app: null }, "iOS app: becomes none"],
  ["referrer", { path: "summer" }, "redirect to"],
])(
  "an approval does not guess the field %s, which its server omits",
  async (field, sent, shown) => {
    const asked: string[] = [];
    const elicit = (message: string) => {
      asked.push(message);
      return approve();
    };
    const alter = alterLinks(({ [field]: _field, clicks: _clicks, ...link }) => link);
    await using guarded = await createStrangeWorld(alter, { mode: "guarded", elicit });
    const { id } = await guarded.plant("link", { path: "spring", url: "https://example.com/" });
    await callDone(guarded, "update_link", { id, ...sent });
    expect(asked.join()).toContain(shown);
    expect(asked.join()).not.toMatch(/the default page|none →/);
  },
);

test.each([
  ["contains a URL of the wrong type", (url: unknown) => ({ web: url })],
  ["contains no URL", () => undefined],
])("setting a link's app needs approval if the server's response %s", async (_, hide) => {
  await using guarded = await createStrangeWorld(
    alterLinks((link) => ({ ...link, url: hide(link["url"]) })),
    { mode: "guarded" },
  );
  const app = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
  const ios_app = { id: (await guarded.plant("ios_app", app)).id };
  const { id } = await guarded.plant("link", { path: "spring", url: "https://example.com/" });
  const refused = await callRefused(guarded, "update_link", { id, ios_app });
  expect(refused.code).toBe("approval_required");
});
