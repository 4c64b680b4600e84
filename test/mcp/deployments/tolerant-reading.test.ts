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
import { callDone, callRefused } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";

/** Answers that differ from the specification are still read as far as possible. */

let strange: StrangeWorld;
openForEach(createStrangeWorld, (opened) => (strange = opened));

async function plantThree(): Promise<readonly { readonly id: string }[]> {
  const names = ["a", "b", "c"];
  return Promise.all(names.map((path) => strange.plant("link", { path, name: path })));
}

const byPath = { sort: { field: "path", direction: "asc" } };

describe("a link of a remote server", () => {
  test("can be read if it has only an ID", async () => {
    const { id } = await strange.plant("link", { path: "spring" });
    const client = await strange.connect({ key: strange.world.key, era: "v1" });
    strange.proxy.setAlter(alterLinks(({ id: own }) => ({ id: own, color: "red" })));
    await client.listTools();
    expect(await callDone(client, "get_link", { id })).toEqual({ link: { id, color: "red" } });
    expect((await callDone(client, "list_links")).links).toEqual([{ id }]);
  });

  test("is explained with a note of the fields that its server omits", async () => {
    const { id } = await strange.plant("link", { path: "spring" });
    strange.proxy.setAlter(
      alterLinks(({ ios_app_id: _app, provider_token: _token, ...link }) => link),
    );
    const { problems } = await callDone(strange, "explain_link", { id });
    expect(problems[0].message).toBe("The server did not return ios_app_id: assumed to be empty.");
    expect(JSON.stringify(problems)).not.toContain("must be sent together");
  });

  test.each([
    [{ clicks: {} }],
    [{ url: ["a"] }],
    [{ enable_forced_redirect: "often" }],
    [{ clicks: 1.5 }],
  ])("is returned without its invalid field %j, which is reported as a problem", async (odd) => {
    await plantThree();
    const change = (link: Fields) => (link["path"] === "c" ? { ...link, ...odd } : link);
    strange.proxy.setAlter(alterLinks(change));
    const read = await callDone(strange, "list_links", byPath);
    const [field = ""] = Object.keys(odd);
    expect(read.links).toHaveLength(3);
    expect(read.links[2]).not.toHaveProperty(field);
    const message = `The server's ${field} in row 3 has the wrong type`;
    expect(read.problems).toEqual([{ field, message }]);
  });
});

describe("a list of a remote server", () => {
  test.each([[null], ["gone"], [{ path: "b" }], [{ id: {}, path: "b" }]])(
    "is returned without its invalid row %j, which is reported as a problem",
    async (row) => {
      await plantThree();
      strange.proxy.setAlter(alterLinks((link) => (link["path"] === "b" ? row : link)));
      const { links, problems } = await callDone(strange, "list_links", byPath);
      expect(links.map(({ path }: Fields) => path)).toEqual(["a", "c"]);
      expect(problems).toEqual([{ message: "Row 2 has no usable ID" }]);
    },
  );

  test.each([
    ["no meta object", () => undefined],
    ["a string as meta", () => "page 1"],
    ["only a count in meta", () => ({ count: 3 })],
    ["no next page in meta", (meta: Fields) => ({ ...meta, next: undefined })],
    ["only a last page in meta", () => ({ last: 2 })],
  ])("can be read to its last page even with %s", async (_, change) => {
    await plantThree();
    strange.proxy.setAlter((asked, reply) =>
      withBody(reply, (body: { meta: Fields }) => {
        const isFirst = asked.path.includes("page=1&");
        return { ...body, meta: isFirst ? change(body.meta) : undefined };
      }),
    );
    const first = await callDone(strange, "list_links", { ...byPath, page: 1, limit: 2 });
    expect(first.meta.next).toBe(2);
    expect(first.next).toContain("call list_links with page 2 for more");
    const second = await callDone(strange, "list_links", { ...byPath, page: 2, limit: 2 });
    expect(second.links).toHaveLength(1);
    expect(second.meta.next).toBeUndefined();
  });
});

describe("a write that returns a 2xx status", () => {
  const unreadable: readonly (readonly [string, ReplyEdit])[] = [
    ["an empty body", (_, reply) => ({ ...reply, body: "" })],
    [
      "an HTML page",
      (_, reply) => ({ ...reply, body: "<html>", headers: { "content-type": "text/html" } }),
    ],
    ["incomplete JSON", (_, reply) => ({ ...reply, body: reply.body.slice(0, 20) })],
    ["a different envelope", (_, reply) => withBody(reply, (link: object) => ({ data: { link } }))],
    ["a list", (_, reply) => withBody(reply, (link: object) => [link])],
  ];

  test.each(unreadable)(
    "is reported as successful if its response is %s but the link can be read again",
    async (_, alter) => {
      strange.proxy.setAlter((asked, reply) =>
        asked.method === "GET" ? reply : alter(asked, reply),
      );
      const made = await callDone(strange, "create_link", { path: "spring", name: "Spring" });
      expect(made.link).toMatchObject({ path: "spring", name: "Spring" });
      const { id } = made.link;
      const changed = await callDone(strange, "update_link", { id, name: "Summer" });
      expect(changed.link).toMatchObject({ id, name: "Summer" });
      expect((await callDone(strange, "delete_link", { id })).deleted).toMatchObject({ id });
      expect(strange.listWrites()).toEqual([
        "POST /api/v1/links",
        `PATCH /api/v1/links/${id}`,
        `DELETE /api/v1/links/${id}`,
      ]);
    },
  );

  test.each(unreadable)(
    "is reported as successful, with a problem, even if every response is %s",
    async (_, alter) => {
      const { id } = await strange.plant("link", { path: "winter" });
      // Answer correctly until the write, because the link is read before.
      let isAltered = false;
      strange.proxy.setAlter((asked, reply) => {
        if (asked.method === "PATCH" && asked.path.endsWith(id)) isAltered = true;
        return isAltered ? alter(asked, reply) : reply;
      });
      const changed = await callDone(strange, "update_link", { id, name: "Snow" });
      expect(changed.link).toEqual({ id });
      expect(changed.problems[0].message).toMatch(/^The server made the change, but /);
      const made = await callDone(strange, "create_link", { path: "spring" });
      expect(made.link).toBeUndefined();
      expect(made.problems[0].message).toMatch(/^The server made the change, but /);
      expect(strange.listWrites()).toHaveLength(2);
      strange.proxy.setAlter((_asked, reply) => reply);
      expect((await callDone(strange, "get_link", { id: "spring" })).link.path).toBe("spring");
    },
  );
});

/** Simulates a server that uses the numbers from 1 as IDs. */
async function openCounted(): Promise<readonly string[]> {
  const planted = await plantThree();
  const ids = planted.map(({ id }) => id);
  strange.proxy.setAlter(
    alterLinks((link) => ({ ...link, id: ids.indexOf(String(link["id"])) + 1 })),
  );
  strange.proxy.setTurn((asked) => ({
    ...asked,
    path: asked.path.replace(/\/links\/(\d+)/, (_, id) => `/links/${ids[Number(id) - 1]}`),
  }));
  return ids;
}

describe("numeric IDs of a remote server", () => {
  test("work for reading, changing and deleting links", async () => {
    await openCounted();
    expect((await callDone(strange, "list_links", byPath)).links[1].id).toBe("2");
    expect((await callDone(strange, "get_link", { id: "2" })).link.path).toBe("b");
    const { change } = await callDone(strange, "update_link", { id: "2", name: "B" });
    expect((await callDone(strange, "get_link", { id: "b" })).link).toMatchObject({
      id: "2",
      name: "B",
    });
    await callDone(strange, "undo", { change_id: change.id });
    expect((await callDone(strange, "get_link", { id: "2" })).link.name).toBe("b");
    const { plan } = await callDone(strange, "plan_links", {
      operation: "update",
      rows: [{ id: "3", name: "C" }],
    });
    expect(plan.counts).toMatchObject({ update: 1, invalid: 0, conflict: 0 });
    const { job } = await callDone(strange, "apply_plan", { plan_id: plan.id });
    expect(job.counts).toMatchObject({ done: 1 });
    expect((await callDone(strange, "delete_link", { id: "1" })).deleted).toMatchObject({
      id: "1",
    });
  });

  test("cause an error if the server returns a different link than requested", async () => {
    await openCounted();
    const id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
    strange.proxy.setTurn((asked) => ({ ...asked, path: asked.path.replace(id, "3") }));
    strange.proxy.setAlter(() => replyWith({ id: 3, path: "c" }));
    const error = await callRefused(strange, "delete_link", { id });
    expect(error).toMatchObject({ code: "bad_response", effect: "none" });
    expect(strange.listWrites()).toEqual([]);
  });
});
