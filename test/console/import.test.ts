import { request } from "node:http";
import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { signInAt } from "../support/console.ts";
import { openConsole, pressOnto, type ConsoleTab, lookAtPage } from "../support/browser.ts";
import { createServed, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Importing a file of links in the console: dropped or chosen, planned and applied. */

let serving: Serving;
let tab: ConsoleTab;
let page: Page;

openForAll(createServed, (opened) => ({ serving } = opened));
beforeEach(async () => {
  tab = await openConsole(serving);
  page = tab.page;
  await page.goto(`${serving.places.url}/links/import`);
});

async function readLinks(start: string) {
  const { body } = await serving.call("GET", `/links?q[path_start]=${start}`);
  return body.links;
}

const choose = (name: string, text: string | Buffer) =>
  page
    .getByLabel("File", { exact: true })
    .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

const send = () => page.getByRole("button", { name: "Show plan" }).click();

const untilDone = () => page.locator("#progress .tag", { hasText: "Done" }).waitFor();

const dropFile = (name: string, text: string) =>
  page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
    const given = { dataTransfer, bubbles: true, cancelable: true };
    for (const kind of ["dragover", "drop"]) {
      document.body.dispatchEvent(new DragEvent(kind, given));
    }
  }`);

test("a dropped file is shown as a plan, and applying the plan creates its links", async () => {
  await lookAtPage(page, "import");
  await dropFile("spring.csv", "path,name,url\ndrop-1,One,https://example.com/1\ndrop-2,Two,\n");
  await page.waitForURL("**/plans/*");
  await page.getByRole("heading", { name: "Create 2 links" }).waitFor();
  expect(await readLinks("drop")).toEqual([]);
  await pressOnto(page, /^Create 2 links$/);
  await untilDone();
  expect(await readLinks("drop")).toHaveLength(2);
  expect(tab.complaints).toEqual([]);
});

test("an import in the console lists invalid rows and can skip them", async () => {
  const rows = [
    "path,url,nmae",
    "good,https://example.com,",
    "bad,nowhere,",
    "=cmd|'/c calc'!A1,x,",
  ];
  await choose("faulty.csv", rows.join("\n").replace(",nmae", "").replaceAll(/,$/gm, ""));
  await send();
  await page.getByRole("heading", { name: "This plan cannot be applied" }).waitFor();
  const faults = page.locator("section", { hasText: "Rows to fix" }).locator("tbody tr");
  expect(await faults.first().innerText()).toMatch(
    /3\s+Web address\s+Url must be an http or https/,
  );
  await lookAtPage(page, "import-faulty");
  expect(await readLinks("good")).toEqual([]);

  await page.goto(`${serving.places.url}/links/import`);
  await choose("faulty.csv", "path,url\ngood,https://example.com\nbad,nowhere\n");
  await page.getByLabel("Leave out invalid rows").check();
  await send();
  await page.getByRole("heading", { name: "Invalid rows, which are left out" }).waitFor();
  await lookAtPage(page, "import-left-out");
  await pressOnto(page, /^Create 1 link$/);
  await untilDone();
  expect(await readLinks("good")).toHaveLength(1);
});

test("an import from another service lists the columns that are ignored", async () => {
  const text =
    "Name,Short Link,Link,Total Clicks\n" +
    "Spring,https://x.page.link/fb-1,https://example.com/spring,17\n" +
    "Empty,https://x.page.link/fb-2,,\n";
  await choose("firebase.csv", text);
  await send();
  await page.getByText("Export from Firebase Dynamic Links").waitFor();
  await page.getByText("Total Clicks").waitFor();
  await page.getByText("1 row is without a destination (line 3).").waitFor();
  await lookAtPage(page, "import-firebase");
  // Every page of the plan shows it, not only the first.
  await page.reload();
  await page.getByText("Total Clicks").waitFor();
});

test.each([
  ["an API response", "answer.json", JSON.stringify({ links: [{ path: "json-2" }] })],
  ["a UTF-16 CSV file", "sheet.csv", Buffer.from("\ufeffpath,name\njson-3,größe\n", "utf16le")],
])("%s can be imported in the console", async (_, name, text) => {
  await choose(name, text);
  await send();
  await page.getByRole("heading", { name: "Create 1 link" }).waitFor();
});

test.each([
  ["torn.json", '{"links": [', "The file is not valid JSON"],
  ["other.json", '{"a": 1}', "The file contains no list of links."],
  ["picture.csv", Buffer.from([0x89, 0x50, 0xff, 0xfe, 0x00]), "The file is not UTF-8 text"],
])("an import in the console rejects the file %s and shows why", async (name, text, told) => {
  await choose(name, text);
  await send();
  await page.getByText(told).waitFor();
  const isInvalid = page.getByLabel("File", { exact: true }).getAttribute("aria-invalid");
  expect(await isInvalid).toBe("true");
});

test("an upload of 100 MB is rejected with advice before the file is read", async () => {
  const hand = await signInAt(serving);
  const cookie = [...hand.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const answer = await upload({ cookie, "content-length": String(100 * 1024 * 1024) });
  expect(answer).toMatchObject({ status: 413, text: expect.stringContaining("waypost import") });
  // A chunked upload is read only up to the limit.
  const unsaid = await upload({ cookie, "transfer-encoding": "chunked" }, 6);
  expect(unsaid.status).toBe(413);
});

function upload(headers: Record<string, string>, megabytes = 1) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const sent = request(
      `${serving.places.url}/links/import`,
      {
        method: "POST",
        agent: false,
        headers: {
          accept: "text/html",
          origin: serving.places.url,
          "content-type": "multipart/form-data; boundary=x",
          ...headers,
        },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          resolve({ status: response.statusCode, text });
          sent.destroy();
        });
      },
    );
    sent.on("error", reject);
    for (let at = 0; at < megabytes; at += 1) sent.write(Buffer.alloc(1024 * 1024));
  });
}

test("a file dropped after the session ended must be chosen again after signing in", async () => {
  await page.context().clearCookies();
  await dropFile("late.csv", `path\n${"late\n".repeat(20_000)}`);
  await page.getByText("Sign in again, then choose the file again.").waitFor();
  await page.locator("#key:focus").waitFor();
  await page.keyboard.type(serving.key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Import links" }).waitFor();
});

test("a file can be imported without JavaScript", async () => {
  const { page: bare } = await openConsole(serving, { javaScriptEnabled: false });
  await bare.goto(`${serving.places.url}/links/import`);
  await bare.getByLabel("File", { exact: true }).setInputFiles({
    name: "bare.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("path\nbare-1\n"),
  });
  await bare.getByRole("button", { name: "Show plan" }).click();
  await bare.getByRole("heading", { name: "Create 1 link" }).waitFor();
});
