import { expect, test } from "vitest";
import type { VisitSource } from "../../src/stats/visit.ts";
import { deleteProject } from "../../src/store/projects.ts";
import { listWebhooks } from "../../src/store/webhooks.ts";
import { noteClick } from "../support/rows.ts";
import { expectSigned, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "./webhook-world.ts";
import type { World } from "../support/world.ts";

/** Tests that events of links and installs are queued with the change and sent over HTTP. */

let receiver: TestReceiver;
let world: World;

openWithReceiver((opened) => ({ world, receiver } = opened));

const create = async (body: object) => (await world.call("POST", "/links", { body })).body;
const countRows = () => world.store.db.selectFrom("deliveries").select("event_id").execute();

test("each change to a link is sent to webhooks as a signed event", async () => {
  const { secret } = await addWebhook(world, receiver.url);
  const made = await create({ path: "spring", name: "Spring" });
  const path = `/links/${made.id}`;
  const { body: changed } = await world.call("PATCH", path, { body: { name: "Summer" } });
  await world.call("DELETE", path);
  const { body: back } = await world.call("POST", `${path}/restore`);
  await deliverIn(world).deliverDue();

  const project_id = world.project.id;
  const wanted = [
    { type: "link.created", timestamp: at(), data: { project_id, link: made } },
    {
      type: "link.updated",
      timestamp: at(),
      data: { project_id, link: changed, previous: { name: "Spring" } },
    },
    { type: "link.deleted", timestamp: at(), data: { project_id, link: changed } },
    { type: "link.created", timestamp: at(), data: { project_id, link: back } },
  ];
  expect(receiver.received).toHaveLength(wanted.length);
  const bodies = receiver.received.map(({ body }) => body);
  expect(bodies).toEqual(expect.arrayContaining(wanted));
  for (const one of receiver.received) {
    expect(one.headers["content-type"]).toBe("application/json");
    await expectSigned(one, secret);
  }
  const ids = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  expect(ids.size).toBe(4);
  expect(await countRows()).toEqual([]);
});

function at(): string {
  return new Date(world.now()).toISOString();
}

test("creating a link through any endpoint causes exactly one link.created event", async () => {
  await addWebhook(world, receiver.url);
  const body = { path: "upserted", name: "One" };
  await world.call("POST", "/links/upsert", { body });
  await world.call("POST", "/links/upsert", { body });
  await world.call("POST", "/short_links", { body: { url: "https://example.com/long" } });
  expect((await world.call("POST", "/links", { body: { path: "upserted" } })).status).toBe(422);
  await deliverIn(world).deliverDue();
  expect(receiver.listTypes()).toEqual(["link.created", "link.created"]);
});

test("an event is sent with the same ID to every webhook that is subscribed to it", async () => {
  await addWebhook(world, receiver.url, ["link.deleted"]);
  await addWebhook(world, receiver.url, ["link.updated", "link.deleted"]);
  const key = await world.addKey({ project: await world.addProject() });
  await world.call("POST", "/links", { key, body: { path: "foreign" } });
  const { id } = await create({ path: "own" });
  await world.call("DELETE", `/links/${id}`);
  expect(await countRows()).toHaveLength(2);
  await deliverIn(world).deliverDue();
  expect(receiver.listTypes()).toEqual(["link.deleted", "link.deleted"]);
  const [one, other] = receiver.received.map(({ headers }) => headers);
  expect(one?.["webhook-id"]).toBe(other?.["webhook-id"]);
  expect(one?.["webhook-signature"]).not.toBe(other?.["webhook-signature"]);
});

test("deleting an app and restoring it each send link.updated for the app's link", async () => {
  const body = { ios_app: { bundle_id: "com.example.app", team_id: "ABCDE12345" } };
  const { id } = (await world.call("POST", "/ios_apps", { body })).body;
  await create({ path: "in-app", ios_app: { id } });
  await addWebhook(world, receiver.url);
  await world.call("DELETE", `/ios_apps/${id}`);
  await world.call("POST", `/ios_apps/${id}/restore`);
  await deliverIn(world).deliverDue();
  const told = receiver.received.map(({ body: { data } }) => data);
  expect(told).toHaveLength(2);
  for (const [now, before] of [
    [null, id],
    [id, null],
  ]) {
    const link = expect.objectContaining({ path: "in-app", ios_app_id: now });
    expect(told).toContainEqual(
      expect.objectContaining({ link, previous: { ios_app_id: before } }),
    );
  }
});

test("link.clicked contains the number of a link's new clicks", async () => {
  await addWebhook(world, receiver.url, ["link.clicked"]);
  const [one, other] = [(await create({ path: "one" })).id, (await create({ path: "two" })).id];
  const { clicks, project } = world;
  const visit = (linkId: string, source: VisitSource = "address") =>
    noteClick(clicks, project.id, linkId, { source });
  visit(one);
  visit(other);
  visit(one);
  // Pressing a button on the page is not a click.
  visit(other, "button");
  await clicks.flush(project.id);
  await deliverIn(world).deliverDue();
  const links = expect.toBeOneOf([
    [
      { id: one, clicks: 2 },
      { id: other, clicks: 1 },
    ],
    [
      { id: other, clicks: 1 },
      { id: one, clicks: 2 },
    ],
  ]);
  expect(receiver.received.map(({ body }) => body)).toEqual([
    { type: "link.clicked", timestamp: at(), data: { project_id: project.id, links } },
  ]);
});

test("a project without webhooks queues no events", async () => {
  await create({ path: "spring" });
  expect(await countRows()).toEqual([]);
});

test("a deleted project's webhooks receive no more events and are removed", async () => {
  const { store, project } = world;
  await addWebhook(world, receiver.url);
  await create({ path: "spring" });
  await store.write((db) => deleteProject(db, project.id));
  await deliverIn(world).deliverDue();
  expect(receiver.listTypes()).toEqual([]);
  await store.finishTasks();
  expect([await listWebhooks(store.db), await countRows()]).toEqual([[], []]);
});

test("a project can have at most ten webhooks", async () => {
  for (let count = 0; count < 10; count += 1) await addWebhook(world, receiver.url);
  await expect(addWebhook(world, receiver.url)).rejects.toThrow("at most 10 webhooks");
  expect(await listWebhooks(world.store.db)).toHaveLength(10);
});
