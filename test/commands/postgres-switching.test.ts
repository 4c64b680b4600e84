import { describe, expect, test } from "vitest";
import { drawPng } from "../../src/qr/draw-qr.ts";
import { callDone, callRefused, type Args } from "../support/mcp-clients.ts";
import { browse } from "../support/console.ts";
import { visitAt } from "../support/link-host.ts";
import { visit } from "../support/listening.ts";
import { decideOnPage } from "../support/mcp-http.ts";
import { openTransactionPooler, type TransactionPooler } from "../support/postgres-proxy.ts";
import { connectTo, makeKey, startOnPostgres, type Servers } from "./two-servers.ts";
import { waitUntil } from "../support/clock.ts";
import { untilSeen } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Calls alternate between two processes behind a pooler. The tests use each other's rows. */

type Client = Awaited<ReturnType<Servers["connect"]>>;

let pooler: TransactionPooler;
let two: Servers;
let key: string;
let client: Client;
let master: Client;
/** Every tool that succeeded through one of the two clients. */
const done = new Set<string>();

const open = () => startOnPostgres(async (url) => (pooler = await openTransactionPooler(url)));

openForAll(open, async (opened, keep) => {
  two = opened;
  key = await makeKey(two, ["--project", "default"]);
  client = keep(await two.connect(key));
  master = keep(await two.connect(await makeKey(two, ["--master"])));
});

function turn(address: string): string {
  const [one, other] = [two.one, two.other].map(({ places }) => new URL(places.url).port);
  const url = new URL(address);
  expect([one, other]).toContain(url.port);
  url.port = (url.port === one ? other : one) ?? "";
  return url.href;
}

async function ask(tool: string, args: Args = {}, by: Client = client) {
  const first = await by.callTool(tool, args);
  done.add(tool);
  if (first.structured.error?.code !== "approval_required") return callDone(by, tool, args);
  await decideOnPage(turn(first.structured.error.approval.url), "approve");
  return callDone(by, tool, args);
}

async function once(tool: string, args: Args = {}, by: Client = client) {
  done.add(tool);
  return callDone(by, tool, args);
}

const url = "https://example.com/spring";

describe("a client that alternates between two processes", () => {
  test("creates, finds, updates, shortens and deletes links", async () => {
    const { link } = await once("create_link", { path: "spring", name: "Spring", url });
    expect((await once("upsert_link", { path: "spring", name: "Sale" })).link.id).toBe(link.id);
    await once("update_link", { id: "spring", social_title: "A sale" });
    const { links } = await once("list_links");
    expect(links).toMatchObject([{ id: link.id, name: "Sale" }]);
    expect((await once("get_link", { id: "spring", qr: true })).link.social_title).toBe("A sale");
    const picture = await client.client.callTool({
      name: "get_link",
      arguments: { id: "spring", qr: true },
    });
    // Visits by that picture are counted as scans, like those of the host's own pictures.
    const { link: seen } = picture.structuredContent as { link: { address: string } };
    const drawn = await drawPng(`${seen.address}?wp=qr`);
    const data = Buffer.from(drawn ?? []).toString("base64");
    expect(picture).toMatchObject({
      content: [{}, { type: "image", mimeType: "image/png", data }],
    });
    const short = (await once("shorten_link", { url: "https://example.com/long" })).link;
    const found = await once("resolve_short_link", { url: short.address });
    expect(found.link.id).toBe(short.id);
    expect(await visit(turn(short.address))).toMatchObject({ location: short.url });
    expect((await once("explain_link", { id: "spring" })).visits.desktop).toBeDefined();
    expect((await once("audit_links")).audit.checked).toBe(2);
    expect((await once("check_domain")).domain.findings).toBeDefined();
    expect((await once("link_stats")).stats).toBeDefined();
    await once("create_link", { path: "gone", url });
    await ask("delete_link", { id: "gone" });
    await callRefused(client, "get_link", { id: "gone" });
  });

  test("changes a destination, and both processes redirect to the new one", async () => {
    const { link } = await once("get_link", { id: "spring" });
    const addresses = [link.address, turn(link.address)];
    for (const address of addresses) expect(await visit(address)).toMatchObject({ location: url });
    const elsewhere = "https://example.com/summer";
    await once("update_link", { id: "spring", url: elsewhere });
    await untilSeen();
    for (const address of addresses) {
      expect(await visit(address)).toMatchObject({ location: elsewhere });
    }
  });

  test("registers, updates and deletes both kinds of apps", async () => {
    const ios = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
    const android = { package_name: "com.example.shop", fingerprints: [`AA${":BB".repeat(31)}`] };
    for (const [kind, fields, id] of [
      ["ios_app", ios, ios.bundle_id],
      ["android_app", android, android.package_name],
    ] as const) {
      await ask(`register_${kind}`, fields);
      await ask(`update_${kind}`, { id, name: "Shop" });
      expect((await once(`get_${kind}`, { id }))[kind].name).toBe("Shop");
      expect((await once(`list_${kind}s`))[`${kind}s`]).toHaveLength(1);
      await ask(`delete_${kind}`, { id });
    }
  });

  test("saves, previews, publishes, restores and unpublishes the page template", async () => {
    const body = "<h1>{{ link.name }} of ours</h1>{% store_buttons %}";
    await once("create_link", { path: "page", social_title: "Page" });
    await once("save_template", { body });
    const { preview_url } = await once("preview_template");
    expect(await (await fetch(turn(preview_url))).text()).toContain(" of ours");
    await ask("publish_template");
    const { link } = await once("get_link", { id: "page" });
    for (const address of [link.address, turn(link.address)]) {
      const { port, host } = new URL(address);
      const look = async () => (await visitAt(Number(port), "/page", { host })).text;
      await waitUntil(async () => (await look()).includes("Page of ours"));
    }
    await once("save_template", { body: "<h1>Another</h1>{% store_buttons %}" });
    const { versions } = await once("list_template_versions");
    const { id } = versions[0];
    expect((await once("get_template_version", { id })).version.body).toBe(body);
    await ask("restore_template_version", { id });
    const again = await once("preview_template");
    expect(await (await fetch(turn(again.preview_url))).text()).toContain(" of ours");
    await ask("unpublish_template");
  });

  test("applies and undoes a plan that was approved in the other process", async () => {
    const rows = ["a", "b", "spring"].map((path) => ({ path, name: `Row ${path}` }));
    const { plan } = await once("plan_links", { operation: "upsert", rows });
    expect(plan.counts).toMatchObject({ create: 2, update: 1 });
    const { job } = await ask("apply_plan", { plan_id: plan.id });
    expect(job).toMatchObject({ state: "done", counts: { done: 3 } });
    const told = await once("get_job", { job_id: job.id, page: 1 });
    expect(told.job.receipts).toHaveLength(3);
    expect((await once("list_jobs")).jobs).toMatchObject([{ id: job.id }]);
    const made = await once("export_links", { format: "csv" });
    const file = await client.client.readResource({ uri: made.export.uri });
    expect(JSON.stringify(file.contents)).toContain("Row spring");
    // It is the last change of the key.
    const undoing = await ask("undo");
    await ask("apply_plan", { plan_id: undoing.plan.id });
    await callRefused(client, "get_link", { id: "a" });
    expect((await once("get_link", { id: "spring" })).link.name).toBe("Sale");
    const late = await once("plan_links", { operation: "upsert", rows: [{ path: "late" }] });
    const { job: last } = await once("apply_plan", { plan_id: late.plan.id });
    expect((await once("cancel_job", { job_id: last.id })).job.counts).toEqual(last.counts);
    const { changes } = await once("list_changes", { target: "spring" });
    expect(changes.length).toBeGreaterThan(2);
    expect((await once("explain_access")).access.kind).toBe("project");
  });

  test("manages projects with a master key", async () => {
    const fields = { name: "Second", subdomain: "second" };
    const { project } = await once("create_project", fields, master);
    await ask("update_project", { id: project.id, name: "Third" }, master);
    expect((await once("get_project", { id: project.id }, master)).project.name).toBe("Third");
    expect((await once("list_projects", {}, master)).projects).toHaveLength(2);
    await ask("delete_project", { id: project.id }, master);
    expect((await once("list_projects", {}, master)).projects).toHaveLength(1);
  });

  test("can repeat a call that was approved on the other process's page", async () => {
    await once("create_link", { path: "asked", url });
    const { error } = await client.client
      .callTool({ name: "delete_link", arguments: { id: "asked" } })
      .then(({ structuredContent }) => structuredContent as { readonly error: PendingApproval });
    const asked = new URL(turn(error.approval.url));
    const there = [two.one, two.other].find(({ places }) => places.url.includes(asked.port));
    const tab = browse((there ?? two.one).places.url);
    await tab.open(asked.pathname);
    const answered = await tab.submit({ decision: "approve" });
    expect(answered.text).toContain("<h1>Approved</h1>");
    await callDone(client, "delete_link", { id: "asked" });
  });

  test("calls every tool successfully at least once in these tests", async () => {
    const names = [...(await client.listNames()), ...(await master.listNames())];
    expect(new Set(names)).toEqual(done);
  });

  test("resumes its job after the process that ran the job is killed", async () => {
    const rows = Array.from({ length: 40 }, (_, row) => ({ path: `row-${row}`, url }));
    const { plan } = await once("plan_links", { operation: "upsert", rows });
    await using here = await connectTo({ ...two.one, key });
    const applying = here.callTool("apply_plan", { plan_id: plan.id }).catch(() => undefined);
    const query = "limit=1&q[path_start]=row-";
    const count = async () =>
      (await two.other.call("GET", "/links", { key, query })).body.meta.count;
    await waitUntil(async () => (await count()) > 2);
    await two.one.stop("SIGKILL");
    await applying;
    expect(await count()).toBeLessThan(rows.length);
    await using there = await connectTo({ ...two.other, key });
    const apply = async () => (await callDone(there, "apply_plan", { plan_id: plan.id })).job;
    // The call first waits for the lease of the killed process.
    await waitUntil(async () => (await apply()).state === "done");
    expect(await count()).toBe(rows.length);
  });

  test("leaves no state in database sessions that the pooler shares", () => {
    expect(pooler.left).toEqual([]);
    expect(pooler.countMostClients()).toBeGreaterThan(3);
    expect(pooler.countSwitches()).toBeGreaterThan(1000);
  });
});

type PendingApproval = { readonly approval: { readonly url: string } };
