import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import {
  createServed,
  run,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { readFormToken, signInAt } from "../support/console.ts";
import { startSession } from "../support/listening.ts";
import { findFreePort } from "../support/ports.ts";
import { refuse, startReceiver, take, type TestReceiver } from "../support/receiver.ts";
import { measured, readSeries } from "./scrape.ts";
import { waitUntil } from "../support/clock.ts";
import { openForAll } from "../support/open-for.ts";

/** Webhooks in the metrics and the doctor, and warnings while no server delivers events. */

let folder: Folder;
let serving: Serving;
let receiver: TestReceiver;
let id: string;
let startAgain: () => Promise<Serving>;

const hour_ms = 60 * 60_000;
const networks = ["--webhook-private", "127.0.0.1/32"];
const create = (...words: readonly string[]) => [
  "webhooks",
  "create",
  "--url",
  receiver.url,
  "--data",
  folder.path,
  ...networks,
  ...words,
];

/** Changes the rows as if time had passed. */
function change(statement: string): void {
  const file = openDatabase(join(folder.path, "waypost.db"));
  // The server may be writing.
  file.exec("PRAGMA busy_timeout = 10000");
  file.exec(statement);
  file.close();
}

async function examine() {
  const { code, stdout } = await run(["doctor", "--data", folder.path]);
  const lines = stdout.split("\n").filter((line) => line.slice(6, 20).trim() === "webhooks");
  return { code, lines };
}

async function readCounts() {
  const series = await readSeries(serving);
  const read = (name: string, label: string) => series.get(`waypost_webhook_${name}{${label}}`);
  return {
    delivered: read("deliveries_total", 'outcome="delivered"'),
    failed: read("deliveries_total", 'outcome="failed"'),
    waiting: read("events", 'state="waiting"'),
    given_up: read("events", 'state="given_up"'),
  };
}

openForAll(
  () => createServed(networks, measured),
  async (opened, keep) => {
    ({ folder, serving } = opened);
    receiver = keep(await startReceiver());
    startAgain = async () => keep(await startServe(folder.path));
  },
);

test("doctor shows the state of webhook deliveries, or nothing if no webhook exists", async () => {
  expect((await examine()).lines).toEqual([]);
  const made = await run(create("--events", "link.created"));
  expect(made.stderr).not.toContain("Nothing serves");
  [, id = ""] = /webhook (\S+)/.exec(made.stderr) ?? [];
  await serving.call("POST", "/links", { body: { path: "one" } });
  await waitUntil(async () => (await readCounts()).delivered === 1);
  expect(await readCounts()).toEqual({ delivered: 1, failed: 0, waiting: 0, given_up: 0 });
  expect(await examine()).toEqual({
    code: 0,
    lines: ["ok    webhooks      1 webhook, no failed deliveries; 0 events are waiting"],
  });
});

test("doctor reports an error once a receiver has failed for several minutes", async () => {
  receiver.doing(refuse);
  await serving.call("POST", "/links", { body: { path: "two" } });
  await waitUntil(async () => (await readCounts()).failed === 1);
  expect(await readCounts()).toMatchObject({ delivered: 1, waiting: 1 });
  const host = new URL(receiver.url).host;
  const young = await examine();
  expect(young).toEqual({
    code: 0,
    lines: [
      expect.stringContaining(`ok    webhooks      ${host} (${id}) has accepted no events since`),
    ],
  });
  change(`update webhooks set failing_since = failing_since - ${hour_ms}`);
  const old = await examine();
  expect(old.code).toBe(1);
  expect(old.lines).toEqual([
    expect.stringMatching(
      /^FAULT .*\(status 500\); 1 event is waiting\. Check the receiver, .* waypost webhooks test /,
    ),
  ]);
  expect(old.lines.join()).not.toContain("for=tests");
});

test("doctor reports undeliverable webhook events and explains how to resend them", async () => {
  change("update deliveries set state = 'dead'");
  change("update webhooks set failing_since = null, failures = 0, next_at = 0");
  const { code, lines } = await examine();
  expect([code, lines]).toEqual([
    0,
    [
      expect.stringMatching(
        `1 event for .* could not be delivered.*waypost webhooks resend ${id} sends it again`,
      ),
    ],
  ]);
  expect(await readCounts()).toMatchObject({ waiting: 0, given_up: 1 });
  receiver.doing(take);
  await run(["webhooks", "resend", id, "--data", folder.path]);
  await waitUntil(async () => (await readCounts()).delivered === 2);
});

test("webhook commands and doctor warn when waypost serve is not running", async () => {
  receiver.doing(refuse);
  await serving.call("POST", "/links", { body: { path: "three" } });
  await waitUntil(async () => (await readCounts()).waiting === 1);
  await serving.stop();
  const notServing = "waypost serve is not running here.";
  expect((await run(create("--json"))).stderr).toContain(notServing);
  expect((await run(["webhooks", "list", "--data", folder.path])).stderr).toContain(notServing);
  change(`update deliveries set next_at = 0, created_at = created_at - ${hour_ms}`);
  change(`update webhooks set last_at = last_at - ${hour_ms} where last_at is not null`);
  const { code, lines } = await examine();
  expect(code).toBe(1);
  expect(lines).toEqual([
    expect.stringMatching(
      /^FAULT .*No server delivers to .*: 1 event is waiting, since .* Start waypost serve/,
    ),
  ]);
  change("update projects set suspended = 1");
  expect((await examine()).lines).not.toEqual(lines);
  change("update projects set suspended = 0");
});

test("the console of a stdio session shows that webhooks are not delivered", async () => {
  const port = await findFreePort();
  await using session = await startSession({
    data: folder.path,
    port,
    env: { WAYPOST_CONSOLE_PATH: "/" },
  });
  await session.call("list_links", {});
  const places = { ...serving.places, url: `http://127.0.0.1:${port}` };
  const tab = await signInAt({ places, key: serving.key });
  const { text } = await tab.open("/webhooks");
  expect(text.replace(/\s+/g, " ")).toContain("while <code>waypost serve</code> is not running");
  expect((await run(create())).stderr).toContain("waypost serve is not running here.");
});

// Last, as this server cannot deliver.
test("doctor and the console explain how to allow a receiver's private network", async () => {
  serving = await startAgain();
  const fault = "the host has no public address";
  change("update deliveries set next_at = 0");
  change("update webhooks set next_at = 0");
  await waitUntil(async () => {
    const { webhooks } = await runJson(["webhooks", "list", "--data", folder.path]);
    return webhooks.some((one: { readonly last_fault: unknown }) => one.last_fault === fault);
  });
  change(`update webhooks set failing_since = failing_since - ${hour_ms}`);
  const { code, lines } = await examine();
  expect([code, lines]).toEqual([1, [expect.stringContaining(`(${fault}); 1 event is waiting. `)]]);
  expect(lines.join()).toContain(
    `Check its address, then run waypost webhooks test ${id}. Set WAYPOST_WEBHOOK_PRIVATE to ` +
      "the receiver's network, for waypost serve and all other commands",
  );
  const tab = await signInAt(serving);
  const told = "Set WAYPOST_WEBHOOK_PRIVATE to";
  for (const page of ["/webhooks", `/webhooks/${id}`]) {
    const { text } = await tab.open(page);
    expect(text.replace(/\s+/g, " ").split(told)).toHaveLength(2);
  }
  const form_token = await readFormToken(tab);
  const tested = await tab.post(`/webhooks/${id}`, { form_token, act: "test" });
  const refusal = `The test failed: ${fault}. ${told}`;
  expect([tested.status, tested.text]).toEqual([422, expect.stringContaining(refusal)]);
});
