import { expect } from "vitest";
import { type WebTab, callTool, hostile, readFormToken, signInAt } from "../support/console.ts";
import { runJson, type Folder, type Serving } from "../support/command.ts";
import { waitUntil } from "../support/clock.ts";

/** Creates a project in which every page of the console is as full as possible. */

export type ConsoleIds = {
  readonly app: string;
  readonly link: string;
  readonly plan: string;
  readonly long: string;
  readonly deletion: string;
  readonly faulty: string;
  readonly job: string;
  readonly webhook: string;
  readonly project: string;
  readonly master: string;
};

const many = 110;
const rowsOfPlan = 1000;
const nameCharacters = 500;
const addressCharacters = 8192;
const pathBytes = 2000;
const bodyBytes = 65_536;
const cssBytes = 32_768;
const webhooks = 10;
const clientKeys = 30;
const projects = 30;

/** Creates random letters that compress badly, different on each call. */
export function createScribbler() {
  let state = 20_261_123;
  return (length: number) => {
    let text = "";
    while (text.length < length) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      text += state.toString(36);
    }
    return text.slice(0, length);
  };
}

const scribble = createScribbler();

function writeName(): string {
  return hostile + scribble(nameCharacters - hostile.length);
}

function writeAddress(length = addressCharacters): string {
  const start = "https://example.com/";
  return start + scribble(length - start.length);
}

type Server = { readonly serving: Serving; readonly folder: Folder };

export async function fillConsole({ serving, folder }: Server, tab: WebTab): Promise<ConsoleIds> {
  const { app, link } = await plantResources(serving);
  await plantKeys(tab);
  const webhook = await plantWebhooks(tab);
  const { token: master } = await runJson(["keys", "create", "--master", "--data", folder.path]);
  const project = await plantProjects(serving, master);
  await plantTemplate(serving);
  const rows = Array.from({ length: rowsOfPlan }, (_, at) => writeRow(`row-${at}-`, 100));
  const plan = await planRows(serving, { operation: "upsert", rows });
  const job = await apply(
    tab,
    await planRows(serving, { operation: "upsert", rows: rows.slice(0, 200) }),
  );
  const filters = [{ field: "path", condition: "start", value: "week-" }];
  const deletion = await planRows(serving, { operation: "delete", filters });
  const long = await planRows(serving, { operation: "upsert", rows: writeLongRows() });
  const faulty = await planRows(serving, { operation: "upsert", rows: rows.map(spoil) });
  const asked = await callTool(serving, "apply_plan", { plan_id: deletion });
  expect(asked.error.code).toBe("approval_required");
  const plans = { plan, long, deletion, faulty, job };
  return { app, link, ...plans, webhook, project, master };
}

async function plantResources(serving: Serving) {
  const fingerprints = [Array.from({ length: 32 }, () => "AB").join(":")];
  for (let turn = 0; turn < many; turn += 1) {
    const name = writeName();
    const package_name = `com.example.a${turn}.${scribble(200).replace(/\d/g, "x")}`;
    await serving.make("/android_apps", { android_app: { name, package_name, fingerprints } });
    const path = `week-${turn}-${scribble(pathBytes - 10)}`;
    await serving.make("/links", { path, name, url: writeAddress(500) });
    const { id } = (await callTool(serving, "create_link", { path: `gone-${turn}`, name })).link;
    expect((await serving.call("DELETE", `/links/${id}`)).status).toBe(204);
  }
  const ios_app = { bundle_id: "com.example.app", team_id: "ABCDE12345", name: writeName() };
  const { id: app } = await serving.make("/ios_apps", { ios_app });
  const { id: link } = await serving.make("/links", {
    path: scribble(pathBytes),
    name: writeName(),
    url: writeAddress(),
    // These two fields have no limit.
    social_title: scribble(1000),
    social_description: scribble(2000),
    social_image_url: writeAddress(),
    ios_fallback_url: writeAddress(),
    android_fallback_url: writeAddress(),
    ios_app: { id: app },
  });
  return { app, link };
}

async function plantKeys(tab: WebTab): Promise<void> {
  for (let turn = 0; turn < many; turn += 1) {
    const { text } = await tab.open("/keys/new");
    const form = new URLSearchParams({ form_token: await readFormToken(tab), role: "owner" });
    form.set("once", String(turn));
    form.set("access", "limited");
    for (const [, scope = ""] of text.matchAll(/name="scope" value="([^"]+)"/g)) {
      form.append("scope", scope);
    }
    expect((await tab.postForm("/keys/new", form)).status).toBe(200);
  }
}

async function plantWebhooks(tab: WebTab): Promise<string> {
  const form_token = await readFormToken(tab);
  for (let turn = 0; turn < webhooks; turn += 1) {
    const form = new URLSearchParams({ form_token, url: writeAddress(), once: String(turn) });
    const { text } = await tab.open("/webhooks/new");
    for (const [, event = ""] of text.matchAll(/name="event" value="([^"]+)"/g)) {
      form.append("event", event);
    }
    expect((await tab.postForm("/webhooks/new", form)).status).toBe(200);
  }
  for (let turn = 0; turn < clientKeys; turn += 1) {
    const made = await tab.post("/keys/client", { form_token, once: `client ${turn}` });
    expect(made.status).toBe(200);
  }
  const { text } = await tab.open("/webhooks");
  return /\/webhooks\/([\w-]{20,})/.exec(text)?.[1] ?? "none";
}

async function plantProjects(serving: Serving, key: string): Promise<string> {
  let id = "none";
  for (let turn = 0; turn < projects; turn += 1) {
    const subdomain = `p${turn}${scribble(60)}`.slice(0, 63);
    const custom_domain = `${[1, 2, 3].map(() => `d${scribble(60)}`).join(".")}.example`;
    const body = { project: { name: writeName(), subdomain, custom_domain } };
    const made = await serving.call("POST", "/projects", { body, key });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    ({ id } = made.body);
  }
  const tab = await signInAt(serving, key);
  const form = { form_token: await readFormToken(tab), plan: "pro", max_links: "1000" };
  const pages = { home_url: writeAddress(), not_found_url: writeAddress() };
  const saved = await tab.post(`/projects/${id}/settings`, { ...form, ...pages });
  expect(saved.path, saved.text).toContain("done=saved");
  return id;
}

async function plantTemplate(serving: Serving): Promise<void> {
  const publish = (body: string, css: string) =>
    serving.call("POST", "/page_template/publish", { body: { body, css } });
  const buttons = "{% store_buttons %}";
  for (let turn = 0; turn < 20; turn += 1) {
    expect((await publish(`<p>${turn}</p>${buttons}`, "")).status).toBe(200);
  }
  const body = `<p>${scribble(bodyBytes - buttons.length - 7)}</p>${buttons}`;
  const css = `/*${scribble(cssBytes - 4)}*/`;
  const saved = await callTool(serving, "save_template", { body, css });
  expect(saved.error, JSON.stringify(saved.error)).toBeUndefined();
}

function writeRow(path: string, characters: number) {
  return { path: path + scribble(20), name: hostile, url: writeAddress(characters) };
}

function writeLongRows() {
  return Array.from({ length: 30 }, () => ({
    path: scribble(pathBytes),
    name: writeName(),
    url: writeAddress(),
    social_image_url: writeAddress(),
    ios_fallback_url: writeAddress(),
    android_fallback_url: writeAddress(),
    social_description: scribble(4000),
  }));
}

function spoil(row: ReturnType<typeof writeRow>) {
  return { ...row, url: `nothing ${row.url}`, ios_fallback_url: row.url.slice(8) };
}

async function planRows(serving: Serving, args: object): Promise<string> {
  const made = await callTool(serving, "plan_links", args);
  expect(made.plan, JSON.stringify(made.error)).toBeDefined();
  return made.plan.id;
}

async function apply(tab: WebTab, plan: string): Promise<string> {
  await tab.open(`/plans/${plan}`);
  const { path } = await tab.submit({});
  await waitUntil(async () => />\s*Done\s*</.test((await tab.open(path)).text));
  return path.replace(/^\/jobs\//, "");
}
