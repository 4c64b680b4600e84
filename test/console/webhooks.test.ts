import { beforeEach, expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { join } from "node:path";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { readFormToken, signInAt } from "../support/console.ts";
import {
  expectSigned,
  refuse,
  startReceiver,
  take,
  type TestReceiver,
} from "../support/receiver.ts";
import { waitUntil } from "../support/clock.ts";
import { openForAll } from "../support/open-for.ts";

/** Webhooks in the console: created, tested, resent and revoked by an owner. */

type Tab = Awaited<ReturnType<typeof signInAt>>;

let folder: Folder;
let serving: Serving;
let receiver: TestReceiver;
let tab: Tab;
let form_token: string;

const networks = ["--webhook-private", "127.0.0.1/32"];
const inFolder = (...words: readonly string[]) => [...words, "--data", folder.path, ...networks];
const list = async () => (await runJson(inFolder("webhooks", "list"))).webhooks;

openForAll(startReceiver, (opened) => (receiver = opened));
openForAll(
  () => createServed(networks),
  async (opened) => {
    ({ folder, serving } = opened);
    tab = await signInAt(serving);
    form_token = await readFormToken(tab);
  },
);
beforeEach(() => {
  receiver.received.length = 0;
  receiver.doing(take);
});

function make(once: string, url: string, ...events: readonly string[]) {
  const form = new URLSearchParams({ form_token, once, url });
  for (const event of events) form.append("event", event);
  return tab.postForm("/webhooks/new", form);
}

test("a new webhook's secret is shown only once and signs the test event", async () => {
  const made = await make("once-1", receiver.url, "link.created");
  const secret = /whsec_[A-Za-z0-9+/=]+/.exec(made.text)?.[0] ?? "";
  expect([made.status, made.headers["cache-control"]]).toEqual([200, "no-store"]);
  const [{ id, events }] = await list();
  expect(events).toEqual(["link.created"]);
  expect((await make("once-1", receiver.url, "link.created")).status).toBe(409);
  expect(await list()).toHaveLength(1);

  const tested = await tab.post(`/webhooks/${id}`, { form_token, act: "test" });
  expect([tested.path, tested.text]).toEqual([
    `/webhooks/${id}?done=webhook_tested`,
    expect.stringContaining("The receiver accepted the test."),
  ]);
  const [received] = receiver.received;
  expect(received?.body).toMatchObject({ type: "webhook.test" });
  if (received !== undefined) await expectSigned(received, secret);
  receiver.doing(refuse);
  const refused = await tab.post(`/webhooks/${id}`, { form_token, act: "test" });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("status 500")]);

  for (const path of ["/webhooks", `/webhooks/${id}`]) {
    expect((await tab.open(path)).text).not.toContain(secret);
  }
});

test("the errors of an invalid webhook are shown next to the fields", async () => {
  const made = (await list()).length;
  for (const [url, events, fault] of [
    ["https://example.com/#a", ["link.created"], "have a fragment"],
    [
      "https://10.0.0.1/x",
      ["link.created"],
      "points to 10.0.0.1, which is not on the public internet",
    ],
  ] as const) {
    const { status, text } = await make("once-2", url, ...events);
    expect([status, text]).toEqual([422, expect.stringContaining(fault)]);
  }
  expect(await list()).toHaveLength(made);
});

test("a failed webhook event is shown with its cause and can be sent again", async () => {
  const [{ id }] = await list();
  receiver.doing(refuse);
  await serving.call("POST", "/links", { body: { path: "lost" } });
  await receiver.untilReceived(1);
  await waitUntil(async () => (await list())[0].last_fault === "status 500");
  // The delivery is older than a day.
  const file = openDatabase(join(folder.path, "waypost.db"));
  file.exec("update deliveries set created_at = 1, ends_at = 1, next_at = 1");
  file.close();
  await waitUntil(async () => (await list())[0].dead === 1);
  const shown = await tab.open(`/webhooks/${id}`);
  expect(shown.text).toContain("Failed events: 1");
  expect(shown.text).toMatch(/status 500, after \d/);
  receiver.doing(take);
  receiver.received.length = 0;
  const again = await tab.post(`/webhooks/${id}`, { form_token, act: "resend" });
  expect(again.text).toContain("The failed events will be sent again soon.");
  await receiver.untilReceived(1);
  expect(receiver.received[0]?.body.data.link.path).toBe("lost");
});

test("a webhook is revoked after a confirmation, and the history hides its URL", async () => {
  const [{ id }] = await list();
  const asked = await tab.post(`/webhooks/${id}`, { form_token, act: "revoke" });
  expect(asked.text).toContain(`Revoke the webhook to &quot;127.0.0.1:${receiver.port}&quot;`);
  expect(await list()).toHaveLength(1);
  const done = await tab.submit({});
  expect([done.path, done.text]).toEqual([
    "/webhooks?done=webhook_revoked",
    expect.stringContaining("Webhook revoked."),
  ]);
  expect(await list()).toEqual([]);
  const history = (await tab.open("/history")).text;
  expect(history).not.toContain("for=tests");
  expect((await tab.open("/history?kind=webhook")).text).toMatch(/Revoked[^]*Created/);
  expect((await tab.open(`/webhooks/${id}`)).status).toBe(404);
});

test("webhooks are hidden from users of other projects and from managers", async () => {
  await runJson(inFolder("projects", "create", "--name", "Other", "--subdomain", "other"));
  const url = ["--url", "https://example.com", "--events", "install.matched"];
  const { id } = await runJson(inFolder("webhooks", "create", "--project", "other", ...url));
  expect((await tab.open("/webhooks")).text).toContain("No webhooks yet.");
  expect((await tab.open(`/webhooks/${id}`)).status).toBe(404);
  await tab.post(`/webhooks/${id}`, { form_token, act: "revoke" });
  expect(await list()).toHaveLength(1);
  const manager = ["--project", "default", "--role", "manager"];
  const { token } = await runJson(inFolder("keys", "create", ...manager));
  const other = await signInAt(serving, token);
  expect((await other.open("/webhooks")).status).toBe(404);
});
