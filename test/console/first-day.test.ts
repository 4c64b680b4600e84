import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openLastingTab, saveShot, sizes } from "../support/browser.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { openForAll } from "../support/open-for.ts";
import { visitAt } from "../support/link-host.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** A user's first day, on a phone, from the address in the terminal to an undone deletion. */

let terminal: Terminal;
let page: Page;
let port: string;

openForAll(createEmptyFolder, async ({ path }, keep) => {
  terminal = keep(openTerminal(`serve --data ${path} --port 0`));
  page = await openLastingTab({ viewport: sizes.phone, hasTouch: true, isMobile: true });
  keep(page.context());
});

const press = (role: "button" | "link", name: string | RegExp) =>
  page.getByRole(role, { name }).first().tap();
const untilTitle = (name: string | RegExp) =>
  page.getByRole("heading", { level: 1, name }).waitFor();

async function choose(entry: string): Promise<void> {
  await press("button", "Menu");
  await page.getByRole("navigation").getByRole("link", { name: entry, exact: true }).tap();
  await untilTitle(entry);
}

const visit = (path: string) => visitAt(Number(port), path, { host: `default.localhost:${port}` });

test("the sign-in URL in the terminal signs the user in with a single tap", async () => {
  const address = await terminal.read(/Console \(signs you in once.*?(http\S+)/);
  ({ port } = new URL(address));
  await page.goto(address);
  await saveShot(page, "first-day 1");
  await press("button", /Sign in/);
  await page.getByText("Connect your assistant").first().waitFor();
  await saveShot(page, "first-day 2");
});

test("a new link redirects to its destination", async () => {
  await choose("Links");
  await press("link", "New link");
  await page.getByLabel("Name", { exact: true }).fill("Spring sale");
  await page.getByLabel("Path", { exact: true }).fill("spring");
  await page.getByLabel("Web address", { exact: true }).fill("https://example.com/spring");
  await press("button", "Create link");
  await page.getByText("Link created.").waitFor();
  await saveShot(page, "first-day 3");
  expect((await visit("/spring")).headers["location"]).toBe("https://example.com/spring");
});

test("visitors are redirected to a new destination once the user has confirmed it", async () => {
  await page.getByLabel("Web address", { exact: true }).fill("https://shop.example/spring");
  await press("button", "Save");
  await untilTitle(/^Point the link "Spring sale" to/);
  await saveShot(page, "first-day 4");
  await press("button", "Change link");
  await page.getByText("Saved.").waitFor();
  expect((await visit("/spring")).headers["location"]).toBe("https://shop.example/spring");
});

test("the statistics page shows each table below its heading on a phone", async () => {
  await choose("Statistics");
  const card = page.getByRole("region", { name: "Platforms" });
  const [heading, table] = [card.getByRole("heading"), card.getByRole("table")];
  const [above, below] = await Promise.all([heading.boundingBox(), table.boundingBox()]);
  expect(below?.y).toBeGreaterThanOrEqual((above?.y ?? 0) + (above?.height ?? 0));
  // The text in the table does not break inside words.
  const name = table.getByRole("rowheader", { name: "Computers and other devices" });
  expect((await name.boundingBox())?.width).toBeGreaterThan(100);
  await saveShot(page, "first-day 11");
  await choose("Links");
  await press("link", "Spring sale");
  await untilTitle("Spring sale");
});

test("a page template can be written and published on a phone", async () => {
  await choose("Page template");
  const text = "<h1>Hello from {{ link.path }}</h1>{% store_buttons %}";
  await page.getByLabel("Body", { exact: true }).fill(text);
  await saveShot(page, "first-day 6");
  await press("button", "Publish…");
  await untilTitle(/^Publish this page for all links/);
  await saveShot(page, "first-day 7");
  await press("button", "Publish page");
  await page.getByText("Published.").waitFor();
});

test("a CSV file of links can be imported on a phone", async () => {
  await choose("Links");
  await press("link", /Import/);
  await page.getByLabel("File", { exact: true }).setInputFiles({
    name: "links.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("path,name\nsummer,Summer\nautumn,Autumn\n"),
  });
  await press("button", "Show plan");
  await untilTitle("Create 2 links");
  await saveShot(page, "first-day 8");
  await press("button", "Create 2 links");
  await page.locator("#progress .tag", { hasText: "Done" }).waitFor();
  await saveShot(page, "first-day 9");
  expect((await visit("/summer")).text).toContain("Hello from summer");
});

test("a deleted link can be restored on a phone", async () => {
  await choose("Links");
  await press("link", "Spring sale");
  await press("button", "Delete…");
  await untilTitle(/^Delete the link "Spring sale"/);
  await press("button", /^Delete/);
  await page.getByText("Deleted.").waitFor();
  expect((await visit("/spring")).status).toBe(404);
  await press("link", "Deleted");
  await press("button", /^Restore Spring sale/);
  await page.getByText("Restored.").waitFor();
  await saveShot(page, "first-day 10");
  expect((await visit("/spring")).headers["location"]).toBe("https://shop.example/spring");
});
