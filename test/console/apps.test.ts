import { expect, test } from "vitest";
import { openConsole, pressEnter, pressOnto, tabTo, lookAtPage } from "../support/browser.ts";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { readFormToken, signInAt, hostile } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";

/** Registering, changing and deleting apps in the console. */

let folder: Folder;
let serving: Serving;

const ios = { bundle_id: "com.example.hostile", team_id: "ABCDE12345" };
const fingerprint = Array.from({ length: 32 }, () => "AB").join(":");

openForAll(createServed, (opened) => ({ folder, serving } = opened));

async function makeKey(...words: readonly string[]): Promise<string> {
  return (await runJson(["keys", "create", ...words, "--data", folder.path])).token;
}

const read = async (path: string) => (await serving.call("GET", path)).body;

test("an app can be registered, changed and deleted with only the keyboard", async () => {
  const { page, complaints } = await openConsole(serving);
  await pressOnto(page, /^Apps$/);
  await page.waitForURL("**/apps");
  await pressOnto(page, /^New iOS app$/);
  await page.waitForURL("**/apps/ios/new");
  await tabTo(page, /^Name$/);
  await page.keyboard.type("Shop");
  await tabTo(page, /^Bundle ID$/);
  await page.keyboard.type("com.example.shop");
  await tabTo(page, /^Team ID$/);
  await page.keyboard.type("ABCDE12345");
  await pressEnter(page);
  // Registering an app makes the domain vouch for it, so the console asks first.
  await page.getByRole("heading", { name: /^Register the iOS app/ }).waitFor();
  expect((await read("/ios_apps")).ios_apps).toEqual([]);
  await lookAtPage(page, "register-app");
  await pressOnto(page, /^Register iOS app$/);
  await page.getByText("App registered.").waitFor();
  const [app] = (await read("/ios_apps")).ios_apps;
  expect(app).toMatchObject({ name: "Shop", bundle_id: "com.example.shop", custom_scheme: null });

  await tabTo(page, /^Name$/);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("Shop of old");
  await pressEnter(page);
  await page.getByText("Saved.").waitFor();
  expect((await read(`/ios_apps/${app.id}`)).name).toBe("Shop of old");
  await pressOnto(page, /^Delete…$/);
  await page.getByRole("heading", { name: /^Delete the iOS app/ }).waitFor();
  await pressOnto(page, /^Delete iOS app$/);
  await page.getByText("Deleted.").waitFor();
  expect((await read("/ios_apps")).ios_apps).toEqual([]);
  expect(complaints).toEqual([]);
});

test("an app's page shows five of its links and a link to the full list", async () => {
  const { id } = await serving.make("/ios_apps", { ios_app: ios });
  for (let week = 1; week <= 6; week += 1) {
    const body = { name: `Week ${week}`, ios_app: { id } };
    expect((await serving.call("POST", "/links", { body })).status).toBe(201);
  }
  const { page } = await openConsole(serving);
  await page.goto(`${serving.places.url}/apps/ios/${id}`);
  await page.getByRole("link", { name: "View all 6 links" }).click();
  await page.getByText("1–6 of 6").waitFor();
});

test("the Android app form escapes rejected input and reads one fingerprint per line", async () => {
  const tab = await signInAt(serving);
  await tab.open("/apps/android/new");
  const shown = await tab.submit({ package_name: "", name: hostile, custom_scheme: "intent" });
  expect(shown.status).toBe(422);
  expect(shown.text).toContain('id="custom_scheme-0">Custom scheme is invalid</p>');
  expect(shown.text).not.toContain("<script>alert");
  const typed = {
    package_name: "com.example.b",
    custom_scheme: "",
    fingerprints: `${fingerprint}\r\n\r\n ${fingerprint} `,
  };
  expect((await tab.submit(typed)).text).toContain("Register the Android app");
  expect((await tab.submit({})).text).toContain("App registered.");
  const { android_apps } = await read("/android_apps?q[package_name_eq]=com.example.b");
  expect(android_apps[0].fingerprints).toEqual([fingerprint, fingerprint]);
});

test("saving an unchanged app form changes nothing", async () => {
  const lines = [fingerprint, fingerprint.replaceAll("A", "C")];
  const fields = { package_name: "com.example.lines", fingerprints: lines };
  const { id } = await serving.make("/android_apps", { android_app: fields });
  const social_description = "one\r\ntwo\n\n\nthree";
  const { body } = await serving.call("POST", "/links", { body: { social_description } });
  const { page } = await openConsole(serving);
  for (const path of [`/apps/android/${id}`, `/links/${body.id}`]) {
    await page.goto(serving.places.url + path);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Nothing changed.").waitFor();
  }
  await page.getByLabel("Social description").fill("four\nfive");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const link = await read(`/links/${body.id}`);
  expect(link.social_description.replaceAll("\r\n", "\n")).toBe("four\nfive");
});

test("a key's role and scopes limit which apps its user can see and change", async () => {
  const { id } = await serving.make("/ios_apps", {
    ios_app: { ...ios, bundle_id: "com.example.kept" },
  });
  const viewer = await signInAt(serving, await makeKey("--role", "viewer"));
  const form_token = await readFormToken(viewer);
  const shown = await viewer.open(`/apps/ios/${id}`);
  expect(shown.text).toContain("com.example.kept");
  expect(shown.text).not.toMatch(/name="bundle_id"|Delete…/);
  expect((await viewer.open("/apps")).text).not.toContain("/new");
  for (const path of ["/apps/ios/new", `/apps/ios/${id}`, `/apps/ios/${id}/delete`]) {
    const refused = await viewer.post(path, { form_token, ...ios, name: "x", "was.name": "" });
    expect(refused.status).toBe(404);
  }
  expect((await read(`/ios_apps/${id}`)).name).toBeNull();
  const android = await signInAt(serving, await makeKey("--scopes", "android_apps.index"));
  const { text } = await android.open("/apps");
  expect(text).toContain("com.example.b");
  expect(text).not.toContain("com.example.kept");
  const links = await signInAt(serving, await makeKey("--scopes", "links.index"));
  expect((await links.open("/apps")).status).toBe(404);
});

test("the console returns 404 for an app of another project", async () => {
  const words = ["--name", "Other", "--subdomain", "other", "--data", folder.path];
  const project = await runJson(["projects", "create", ...words]);
  const key = await runJson(["keys", "create", "--project", project.id, "--data", folder.path]);
  const { id } = await serving.make("/ios_apps", {
    ios_app: { ...ios, bundle_id: "com.example.mine" },
  });
  const tab = await signInAt(serving, key.token);
  const form_token = await readFormToken(tab);
  for (const path of [`/apps/ios/${id}`, `/apps/ios/%E0%A4%A`, `/apps/android/${id}`]) {
    expect((await tab.open(path)).status).toBe(404);
  }
  const refused = await tab.post(`/apps/ios/${id}/delete`, { form_token });
  expect(refused.text).not.toContain("Delete the iOS app");
  expect((await serving.call("GET", `/ios_apps/${id}`)).status).toBe(200);
});
