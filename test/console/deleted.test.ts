import { expect, test } from "vitest";
import { type WebTab, callTool, readFormToken, signInAt } from "../support/console.ts";
import { createServed, runJson, startServe, type OwnServer } from "../support/command.ts";
import { waitUntil } from "../support/clock.ts";
import { openForAll } from "../support/open-for.ts";

/** The console's page of deleted links and apps, and restoring them. */

let served: OwnServer;
let tab: WebTab;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
});

const call: (typeof served)["serving"]["call"] = (...given) => served.serving.call(...given);

async function make(path: string, body: object): Promise<string> {
  const made = await call("POST", path, { body });
  expect(made.status).toBe(201);
  return made.body.id;
}

async function remove(path: string): Promise<void> {
  expect((await call("DELETE", path)).status).toBe(204);
}

const readNames = (text: string) =>
  [...text.matchAll(/aria-label="Restore ([^"]*)"/g)].map(([, name = ""]) => name);

const sort = (names: readonly string[]) => names.toSorted((a, b) => (a < b ? -1 : 1));

async function restore(fields: Readonly<Record<string, string>>, at = "/deleted") {
  return tab.post(at, { form_token: await readFormToken(tab), ...fields });
}

test("the bin lists and restores links and apps deleted through REST or by a job", async () => {
  const app = { bundle_id: "com.shop", team_id: "ABCDE12345", name: "Shop" };
  const id = await make("/ios_apps", { ios_app: app });
  const link = await make("/links", { path: "with-app", ios_app: { id } });
  await remove(`/links/${await make("/links", { path: "by-rest", name: "By REST" })}`);
  await remove(`/ios_apps/${id}`);
  for (let turn = 0; turn < 3; turn += 1) await make("/links", { path: `by-job-${turn}` });
  const filters = [{ field: "path", condition: "start", value: "by-job" }];
  const { plan } = await callTool(served.serving, "plan_links", { operation: "delete", filters });
  await tab.open(`/plans/${plan.id}`);
  const { path: job } = await tab.submit({});
  await waitUntil(async () => />\s*Done\s*</.test((await tab.open(job)).text));
  const { text, status } = await tab.open("/deleted");
  expect(status).toBe(200);
  const jobs = ["/by-job-0", "/by-job-1", "/by-job-2"];
  expect(sort(readNames(text))).toEqual(["/by-job-0", "/by-job-1", "/by-job-2", "By REST", "Shop"]);
  expect(readNames((await tab.open("/deleted?kind=ios_app")).text)).toEqual(["Shop"]);
  expect(sort(readNames((await tab.open("/deleted?search=BY-JOB")).text))).toEqual(jobs);
  expect((await tab.open("/deleted?page=7")).path).toBe("/deleted?page=1");
  expect((await tab.open("/deleted?search=nowhere")).text).toContain(
    "No deleted links or apps match.",
  );

  expect((await restore({ only: `ios_app:${id}` })).path).toBe("/deleted?done=restored");
  expect((await call("GET", `/links/${link}`)).body.ios_app_id).toBe(id);
  const items = [...text.matchAll(/name="item" value="(link:[^"]+)"/g)].map(([, item]) => item);
  const form_token = await readFormToken(tab);
  const form = new URLSearchParams({ form_token });
  for (const item of items.slice(0, 3)) form.append("item", item ?? "");
  const sent = await tab.postForm("/deleted?kind=link", form);
  expect(sent.path).toBe("/deleted?kind=link&done=restored");
  expect(readNames(sent.text)).toHaveLength(1);
  const { text: history } = await tab.open("/history?kind=ios_app");
  expect(history.replace(/\s+/g, " ")).toContain("Undo: Restored Shop");
});

test("when several links are restored, an error for one does not stop the others", async () => {
  const [taken, free] = [
    await make("/links", { path: "taken", name: "Taken" }),
    await make("/links", { path: "free" }),
  ];
  for (const id of [taken, free]) await remove(`/links/${id}`);
  await make("/links", { path: "taken" });
  const form = new URLSearchParams([
    ["form_token", await readFormToken(tab)],
    ["item", `link:${taken}`],
    ["item", `link:${free}`],
    ["item", "link:019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6071"],
    ["item", "project:1"],
  ]);
  const { status, text } = await tab.postForm("/deleted", form);
  expect(status).toBe(422);
  const told = text.replace(/\s+/g, " ");
  expect(told).toContain("1 restored.");
  expect(told).toContain("<bdi>Taken</bdi> was not restored: Path has already been taken");
  expect(told.match(/It is no longer in the bin\./g)).toHaveLength(2);
  expect((await call("GET", `/links/${free}`)).status).toBe(200);
});

test("a user whose key lacks links.create sees deleted links but no restore button", async () => {
  await remove(`/links/${await make("/links", { path: "seen" })}`);
  const data = ["--data", served.folder.path];
  const scopes = ["--scopes", "links.index,links.show,links.update"];
  const { token } = await runJson(["keys", "create", ...scopes, ...data]);
  const reader = await signInAt(served.serving, token);
  const { text } = await reader.open("/deleted?search=seen");
  expect(text).toContain("/seen");
  expect(readNames(text)).toEqual([]);
  expect((await reader.open("/deleted?kind=ios_app")).text).toContain(
    "No deleted links or apps match.",
  );
  const form_token = await readFormToken(reader);
  await reader.post("/deleted", { form_token, only: "link:x" });
  // Deleted links of another project are not shown.
  const named = ["--name", "Other", "--subdomain", "other", ...data];
  const { id } = await runJson(["projects", "create", ...named]);
  const { token: other } = await runJson(["keys", "create", "--project", id, ...data]);
  const stranger = await signInAt(served.serving, other);
  expect((await stranger.open("/deleted")).text).toContain("The bin is empty.");
});

test("a gateway has no bin, but its history page can undo a deletion", async () => {
  const { places, key } = served.serving;
  const env = { WAYPOST_API_KEY: key };
  const folder = `${served.folder.path}-gateway`;
  await using gateway = await startServe(folder, ["--base-url", places.url], { env });
  await callTool(gateway, "create_link", { path: "remote", name: "Remote" });
  const asked = await callTool(gateway, "delete_link", { id: "remote" });
  expect(asked.error.code).toBe("approval_required");
  const remote = await signInAt(gateway);
  const { body } = await call("GET", "/links?q[path_eq]=remote");
  await remote.open(`/links/${body.links[0].id}`);
  const form_token = await readFormToken(remote);
  await remote.post(`/links/${body.links[0].id}/delete`, { form_token });
  await remote.submit({});
  expect((await remote.open("/deleted")).status).toBe(404);
  const { text } = await remote.open("/history");
  expect(text).toContain("Undo: Deleted Remote");
  const change_id = /name="change_id" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const fields = { form_token: await readFormToken(remote), change_id, back: "/history" };
  expect((await remote.post("/history/undo", fields)).path).toBe("/history?done=undone");
  expect((await call("GET", "/links?q[path_eq]=remote")).body.links).toHaveLength(1);
});
