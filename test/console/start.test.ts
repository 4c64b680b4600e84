import { basename, dirname } from "node:path";
import { expect, test } from "vitest";
import { openTab, openConsole, pressOnto, lookAtPage } from "../support/browser.ts";
import { callTool, hostile } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";
import { createFolder, createServed, type Folder, type Serving } from "../support/command.ts";

/** Signing in and the first page, in a real browser. */

let folder: Folder;
let serving: Serving;

openForAll(
  async () => {
    const own = await createFolder();
    return createServed([], { env: { HOME: dirname(own.path) } }, own);
  },
  (opened) => ({ folder, serving } = opened),
);

test("the sign-in page passes axe in every color scheme", async () => {
  const page = await openTab();
  await page.goto(serving.places.url);
  await lookAtPage(page, "sign-in");
});

test("the start page explains how to connect, and Undo works with only the keyboard", async () => {
  await serving.call("POST", "/links", { body: { path: "spring", name: "Spring" } });
  await callTool(serving, "create_link", { path: "made", name: hostile });
  await callTool(serving, "update_link", { id: "spring", name: "Summer" });
  const { page, complaints } = await openConsole(serving);
  const block = JSON.parse(await page.locator("#client-0").innerText());
  expect(block.mcpServers.waypost).toEqual({
    command: "node",
    args: [expect.stringMatching(/waypost\.js$/), "--data", folder.path],
  });
  expect(await page.locator("main").innerText()).toContain(`~/${basename(folder.path)}`);
  await pressOnto(page, /^Undo: Changed Summer/);
  await page.getByText("Undone.").waitFor();
  const { body } = await serving.call("GET", "/links?q[path_eq]=spring");
  expect(body.links[0].name).toBe("Spring");
  expect(complaints).toEqual([]);
});

test("a new approval request appears on the start page without moving the focus", async () => {
  await serving.call("POST", "/links", { body: { path: "asked-1" } });
  await serving.call("POST", "/links", { body: { path: "asked-2" } });
  const { page, complaints } = await openConsole(serving);
  await page.getByRole("heading", { name: "Recent activity" }).waitFor();
  await page.evaluate("window.first = document.querySelector('#changes li')");
  // Returning to the tab refreshes the page at once, not after some seconds.
  const lookAgain = () => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  const answers = page.getByRole("link", { name: "Review" });
  await callTool(serving, "delete_link", { id: "asked-1" });
  await lookAgain();
  await answers.waitFor();
  expect(await page.getByRole("status").innerText()).toBe("1 approval is waiting for you.");
  await answers.focus();
  const address = await answers.getAttribute("href");
  await callTool(serving, "delete_link", { id: "asked-2" });
  await lookAgain();
  await answers.nth(1).waitFor();
  expect(await page.evaluate("document.activeElement.getAttribute('href')")).toBe(address);
  expect(await page.evaluate("window.first.isConnected")).toBe(true);
  expect(complaints).toEqual([]);
  await page.context().clearCookies();
  await lookAgain();
  await page.waitForURL("**/sign-in");
});
