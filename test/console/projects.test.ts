import { expect, test } from "vitest";
import { openConsole, pressEnter, pressOnto, tabTo, lookAtPage } from "../support/browser.ts";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { readFormToken, signInAt } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";

/** Projects in the console, with a master key: created, configured, suspended and deleted. */

let folder: Folder;
let serving: Serving;
let master: string;

const inFolder = (...words: readonly string[]) => [...words, "--data", folder.path];

openForAll(createServed, async (opened) => {
  ({ folder, serving } = opened);
  master = (await runJson(inFolder("keys", "create", "--master"))).token;
});

async function findProject(subdomain: string) {
  const { projects } = await runJson(inFolder("projects", "list"));
  return projects.find((project: { subdomain: string }) => project.subdomain === subdomain);
}

const make = (name: string, subdomain: string) =>
  runJson(inFolder("projects", "create", "--name", name, "--subdomain", subdomain));

test("a project can be created, suspended and deleted with only the keyboard", async () => {
  const { page, complaints } = await openConsole({ ...serving, key: master });
  await pressOnto(page, /^Projects$/);
  await page.waitForURL("**/projects");
  await pressOnto(page, /^New project$/);
  await page.waitForURL("**/projects/new");
  await tabTo(page, /^Name$/);
  await page.keyboard.type("Shop");
  await tabTo(page, /^Subdomain$/);
  await page.keyboard.type("shop");
  await pressEnter(page);
  await page.getByText("Project created.").waitFor();
  await tabTo(page, /^Home page$/);
  await page.keyboard.type("https://shop.example/");
  await tabTo(page, /^404 page$/);
  await page.keyboard.type("https://shop.example/404");
  await pressEnter(page);
  await page.getByText("Saved.").waitFor();
  expect(await findProject("shop")).toMatchObject({
    home_url: "https://shop.example/",
    not_found_url: "https://shop.example/404",
    suspended: false,
  });
  await tabTo(page, /^Suspended$/);
  await page.keyboard.press("Space");
  await pressOnto(page, /^Save$/);
  await page.getByRole("heading", { name: 'Suspend the project "Shop"' }).waitFor();
  expect((await findProject("shop")).suspended).toBe(false);
  await lookAtPage(page, "suspend");
  await pressOnto(page, /^Suspend project$/);
  await page.getByText("Saved.").waitFor();
  expect((await findProject("shop")).suspended).toBe(true);
  await pressOnto(page, /^Delete…$/);
  await pressOnto(page, /^Delete project$/);
  await page.getByText("Project deleted.").waitFor();
  expect(await findProject("shop")).toBeUndefined();
  expect(complaints).toEqual([]);
});

test("the console offers the same project settings and errors as the CLI", async () => {
  const { id } = await make("Set", "set");
  const tab = await signInAt(serving, master);
  const form_token = await readFormToken(tab);
  const was = {
    "was.plan": "pro",
    "was.max_links": "1000",
    "was.templates_enabled": "on",
    plan: "pro",
    max_links: "1000",
    templates_enabled: "on",
  };
  const save = (typed: Readonly<Record<string, string>>) =>
    tab.post(`/projects/${id}/settings`, { form_token, ...was, ...typed });
  const wrong = await save({
    home_url: "http://set.localhost/",
    not_found_url: "nowhere",
  });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toMatch(/id="home_url-0">Home url is on the project&#39;s own link host/);
  expect(wrong.text).toMatch(/id="not_found_url-0">404 page must be an http or https/);
  const others = await save({
    max_links: "many",
    destinations: "a b",
    custom_domain_verified: "on",
    plan: "gold",
  });
  for (const sentence of [
    "Max links must be a whole number",
    "Destinations cannot contain",
    "Custom domain verified needs a custom domain first",
    "Plan is invalid",
  ]) {
    expect(others.text).toContain(sentence);
  }
  expect(await findProject("set")).toMatchObject({ plan: "pro", max_links: 1000, home_url: null });

  const { templates_enabled: _left, ...unticked } = was;
  await tab.post(`/projects/${id}/settings`, {
    form_token,
    ...unticked,
    plan: "free",
    max_links: "5",
    link_in_referrer: "on",
    destinations: "Shop.example, *.shop.example",
    home_url: "https://shop.example/",
  });
  expect(await findProject("set")).toMatchObject({
    plan: "free",
    max_links: 5,
    templates_enabled: false,
    link_in_referrer: true,
    destinations: "shop.example,*.shop.example",
    home_url: "https://shop.example/",
  });
  const words = inFolder("projects", "update", id, "--custom-domain", "go.example.com");
  expect((await runJson(words)).custom_domain_verified).toBe(false);
  const now = { "was.plan": "free", plan: "free", "was.max_links": "5", max_links: "5" };
  await tab.post(`/projects/${id}/settings`, { form_token, ...now, custom_domain_verified: "on" });
  expect((await findProject("set")).custom_domain_verified).toBe(true);
});

test("the history shows a changed project setting without an undo button", async () => {
  const { id } = await make("Told", "told");
  const tab = await signInAt(serving, master);
  const form_token = await readFormToken(tab);
  await tab.post(`/projects/${id}/settings`, { form_token, "was.plan": "pro", plan: "free" });
  const { token } = await runJson(inFolder("keys", "create", "--project", id));
  const { text } = await (await signInAt(serving, token)).open("/");
  expect(text.replace(/\s+/g, " ")).toContain("plan: <bdi>pro</bdi> → <bdi>free</bdi>");
  expect(text).not.toContain("Undo: Changed");
});

test("the projects pages return 404 unless the user signed in with a master key", async () => {
  const { id } = await make("Alone", "alone");
  const tab = await signInAt(serving);
  const form_token = await readFormToken(tab);
  expect((await tab.open("/")).text).not.toContain('href="/projects"');
  const form = { form_token, suspended: "on", name: "Taken", "was.name": "Alone" };
  for (const path of ["", "/new", `/${id}`, `/${id}/settings`, `/${id}/delete`]) {
    expect((await tab.open(`/projects${path}`)).status).toBe(404);
    expect((await tab.post(`/projects${path}`, form)).status).toBe(404);
  }
  expect(await findProject("alone")).toMatchObject({ name: "Alone", suspended: false });
});
