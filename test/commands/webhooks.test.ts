import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { webhookEvents } from "../../src/contract/webhook-events.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import {
  createServed,
  run,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { callTool } from "../support/console.ts";
import { expectSigned, hang, startReceiver, take, type TestReceiver } from "../support/receiver.ts";
import { waitUntil } from "../support/clock.ts";
import { openForAll } from "../support/open-for.ts";

/** `waypost webhooks`, with a server that delivers to a real receiver. */

let folder: Folder;
let serving: Serving;
let receiver: TestReceiver;

const networks = ["--webhook-private", "127.0.0.1/32"];
const words = ["--log", "debug", ...networks];
let startAgain: () => Promise<Serving>;
const webhooks = (...words: readonly string[]) => {
  return ["webhooks", ...words, "--data", folder.path, ...networks];
};
const list = async () => (await runJson(webhooks("list"))).webhooks;

openForAll(
  () => createServed(words),
  async (opened, keep) => {
    ({ folder, serving } = opened);
    receiver = keep(await startReceiver());
    startAgain = async () => keep(await startServe(folder.path, words));
  },
);

test("a webhook receives signed events, and its secret is shown only once", async () => {
  const made = await runJson(
    webhooks("create", "--url", receiver.url, "--events", "link.created, link.deleted"),
  );
  expect(made).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    project_id: expect.any(String),
    url: receiver.url,
    events: ["link.created", "link.deleted"],
    secret: expect.stringMatching(/^whsec_/),
  });
  const link = await serving.make("/links", { path: "told" });
  await receiver.untilReceived(1);
  const [told] = receiver.received;
  expect(told?.body).toMatchObject({ type: "link.created", data: { link } });
  if (told !== undefined) await expectSigned(told, made.secret);

  await waitUntil(async () => (await list())[0].waiting === 0);
  const listed = await run(webhooks("list", "--json"));
  expect(JSON.parse(listed.stdout).webhooks).toMatchObject([{ id: made.id, waiting: 0, dead: 0 }]);
  const changes = await run(["webhooks", "list", "--data", folder.path]);
  for (const { stdout, stderr } of [listed, changes]) {
    expect(stdout + stderr).not.toContain(made.secret);
  }
  const logs = readdirSync(folder.path).filter((name) => !/\.db/.test(name));
  for (const name of logs) {
    expect(readFileSync(join(folder.path, name), "utf8")).not.toContain(made.secret);
  }
});

test("a killed process's webhook events are delivered by the next process", async () => {
  receiver.doing(hang);
  receiver.received.length = 0;
  await serving.make("/links", { path: "kept" });
  await receiver.untilReceived(1);
  const stderr = (await serving.stop("SIGKILL")).stderr;
  expect(stderr).not.toContain("whsec_");
  receiver.doing(take);
  // The claim of the killed process would last half a minute.
  const file = openDatabase(join(folder.path, "waypost.db"));
  file.exec("update webhooks set next_at = 0");
  file.close();
  serving = await startAgain();
  await receiver.untilReceived(2);
  const [first, second] = receiver.received;
  expect(first?.body.data.link.path).toBe("kept");
  expect(second?.text).toBe(first?.text);
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
});

test("a webhook event for a pending approval omits the approval page's URL", async () => {
  const { url } = receiver;
  const { id } = await runJson(webhooks("create", "--url", url, "--events", waitingEvents));
  receiver.received.length = 0;
  await serving.make("/links", { path: "asked" });
  const asked = await callTool(serving, "delete_link", { id: "asked" });
  const { url: page } = asked.error.approval;
  await waitUntil(() => receiver.listTypes().includes("approval.waiting"));
  await callTool(serving, "delete_link", { id: "asked" });
  const told = receiver.received.find(({ body }) => body.type === "approval.waiting");
  expect(told?.body.data).toEqual({
    project_id: expect.any(String),
    approval: {
      id: expect.stringMatching(/^apr_/),
      headline: expect.stringContaining("asked"),
      expires_at: expect.stringMatching(/Z$/),
    },
  });
  expect(told?.text).not.toContain(page.split("/").at(-1));

  const file = join(folder.path, "spring.csv");
  await writeFile(file, "path,url\nspring,https://example.com\n");
  expect((await run(["import", file, "--yes", "--data", folder.path])).code).toBe(0);
  await waitUntil(() => receiver.listTypes().includes("job.finished"));
  const finished = receiver.received.filter(({ body }) => body.type === "job.finished");
  expect(finished.map(({ body }) => body.data.job)).toEqual([
    {
      id: expect.stringMatching(/^job_/),
      plan_id: expect.stringMatching(/^plan_/),
      operation: "upsert",
      state: "done",
      counts: { done: 1, rejected: 0, unknown: 0, left: 0 },
    },
  ]);
  expect(receiver.listTypes().filter((type) => type === "approval.waiting")).toHaveLength(1);
  await run(webhooks("revoke", id));
});

const waitingEvents = "job.finished,approval.waiting";

test("waypost webhooks test reports whether the receiver accepted the event", async () => {
  const [{ id }] = await list();
  receiver.doing(take);
  expect(await run(webhooks("test", id))).toMatchObject({
    code: 0,
    stderr: "The receiver accepted the test message.\n",
  });
  receiver.doing((response) => response.writeHead(418).end());
  expect(await run(webhooks("test", id, "--json"))).toMatchObject({
    code: 1,
    stdout: '{"test":{"delivered":false,"fault":"status 418"}}\n',
  });
});

test("waypost webhooks test shows which setting allows a private network", async () => {
  const [{ id }] = await list();
  receiver.doing(take);
  receiver.received.length = 0;
  const fault = "the host has no public address";
  const elsewhere = ["webhooks", "test", id, "--data", folder.path];
  expect(await run(elsewhere)).toEqual({
    code: 1,
    stdout: "",
    stderr: `The test message was not delivered: ${fault}. ${checkName}.\n`,
  });
  const told = await run([...elsewhere, "--json"]);
  expect([told.code, JSON.parse(told.stdout)]).toEqual([
    1,
    { test: { delivered: false, fault, next: checkName } },
  ]);
  expect(receiver.received).toEqual([]);
  const { stdout } = await run(["--help"]);
  expect(stdout).toMatch(/webhooks test uses the --webhook-private of this command/);
});

const namesNetworks =
  "Set WAYPOST_WEBHOOK_PRIVATE to the receiver's network, for waypost serve and all other commands";

const checkName = `${namesNetworks}; for a public receiver, check its DNS record`;

test("waypost webhooks list explains only once how to allow a receiver's network", async () => {
  const [{ id }] = await list();
  const plain = await run(webhooks("list"));
  expect(plain.stderr).toBe("");
  const note = (fault: string | null) => {
    const file = openDatabase(join(folder.path, "waypost.db"));
    const quoted = fault === null ? "null" : `'${fault}'`;
    file.exec(`update webhooks set last_fault = ${quoted} where id = '${id}'`);
    file.close();
  };
  note("the host has no public address");
  for (const words of [[], ["--json"]]) {
    const { code, stderr } = await run(webhooks("list", ...words));
    expect([code, stderr]).toEqual([0, `the host has no public address: ${checkName}.\n`]);
  }
  note(null);
});

test("a webhook for all events can be created, listed and revoked", async () => {
  const { id, events } = await runJson(webhooks("create", "--url", "https://example.com/hook"));
  expect(events).toEqual(webhookEvents);
  const [, line] = (await run(webhooks("list"))).stdout.split(id);
  expect(line).toMatch(/https:\/\/example\.com\/hook +\(all\) +\(never\)/);
  expect(await run(webhooks("resend", id))).toMatchObject({
    stderr: "This webhook has no failed events.\n",
  });
  expect((await run(webhooks("revoke", id))).code).toBe(0);
  expect((await list()).map((one: { readonly id: string }) => one.id)).not.toContain(id);
  expect(await run(webhooks("revoke", id))).toMatchObject({
    code: 2,
    stderr: `waypost: the webhook ${id} does not exist; waypost webhooks list shows all webhooks\n`,
  });
});

test.each(["revoke", "test", "resend"])("waypost webhooks %s needs a webhook ID", async (act) => {
  const { id } = await runJson(webhooks("create", "--url", "https://example.com/hook"));
  expect(await run(webhooks(act, ""))).toMatchObject({
    code: 2,
    stderr: "waypost: the webhook  does not exist; waypost webhooks list shows all webhooks\n",
  });
  expect((await run(webhooks("revoke", id))).code).toBe(0);
});

test.each([
  [["create"], "webhooks create needs --url"],
  [["create", "--url", "ftp://example.com"], "--url must be an http or https address"],
  [["create", "--url", "https://a:b@example.com"], "--url can't contain a user name or password"],
  [["create", "--url", "https://example.com/#a"], "--url can't have a fragment"],
  [
    ["create", "--url", "https://example.com", "--events", "link.made"],
    `--events takes ${webhookEvents.join(", ")}`,
  ],
  [["revoke", "x", "--url", "https://example.com"], "--url is only for webhooks create"],
  [["test", "x", "--events", "link.created"], "--events is only for webhooks create"],
  [
    ["show"],
    "use webhooks create, webhooks list, webhooks test ID, webhooks resend ID or " +
      "webhooks revoke ID (see waypost --help)",
  ],
])("waypost webhooks %j is refused, and the reason is shown", async (words, message) => {
  expect(await run(webhooks(...words))).toMatchObject({ code: 2, stderr: `waypost: ${message}\n` });
});

test.each([
  ["http://example.com", "must be an https address"],
  [
    "https://10.0.0.1/x",
    `points to 10.0.0.1, which is not on the public internet. ${namesNetworks}`,
  ],
])("a webhook to %s is refused if no private network is allowed", async (url, fault) => {
  const refused = await run(["webhooks", "create", "--url", url, "--data", folder.path]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`--url ${fault}`) });
  expect(refused.stderr).toContain("WAYPOST_WEBHOOK_PRIVATE");
});

test("waypost webhooks create warns that http URLs work only in allowed networks", async () => {
  const made = await run(webhooks("create", "--url", "http://receiver.example/", "--json"));
  expect(made).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("only while receiver.example is in a network listed in"),
  });
  expect((await run(webhooks("revoke", JSON.parse(made.stdout).id))).code).toBe(0);
});

// Last, as it creates a second project.
test("waypost webhooks revoke, test and resend refuse a webhook of another project", async () => {
  const project = ["--name", "Other", "--subdomain", "other"];
  expect(await run(["projects", "create", ...project, "--data", folder.path])).toMatchObject({
    code: 0,
  });
  const { id } = await runJson(
    webhooks("create", "--project", "other", "--url", "https://example.com/hook"),
  );
  for (const act of ["revoke", "test", "resend"]) {
    expect(await run(webhooks(act, id, "--project", "default"))).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`the webhook ${id} is not in the project default; `),
    });
  }
  expect((await list()).map((one: { readonly id: string }) => one.id)).toContain(id);
  expect(await run(webhooks("revoke", id, "--project", "other", "--json"))).toEqual({
    code: 0,
    stdout: `{"revoked":"${id}"}\n`,
    stderr: "",
  });
});
