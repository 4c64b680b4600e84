import { expect, test } from "vitest";
import { openConsole, pressOnto, lookAtPage } from "../support/browser.ts";
import { createServed, type Serving } from "../support/command.ts";
import { hostile } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";

/** The audit page of the console: findings, their links and their fixes. */

let serving: Serving;

openForAll(createServed, (opened) => ({ serving } = opened));

test("the audit page reports that no problems were found", async () => {
  const { page } = await openConsole(serving);
  await page.goto(`${serving.places.url}/audit`);
  await page.getByText("No problems found.").waitFor();
});

test("the links of an audit finding can be fixed with only the keyboard", async () => {
  const plain = Array.from({ length: 12 }, (_, at) => ({
    path: `plain-${at}`,
    name: `Plain ${at}`,
    url: `http://example.com/${at}`,
  }));
  const others = [
    { path: "nowhere", name: hostile },
    { path: "one", name: "Same", url: "https://example.com/same" },
    { path: "two", name: "Same", url: "https://example.com/same" },
  ];
  for (const body of [...plain, ...others]) {
    expect((await serving.call("POST", "/links", { body })).status).toBe(201);
  }
  const { page, complaints } = await openConsole(serving);
  await page.goto(`${serving.places.url}/audit`);
  await page.getByRole("heading", { name: "No destination" }).waitFor();
  await page.getByRole("heading", { name: "Same link at several paths" }).waitFor();
  await page.getByText("and 2 more").waitFor();
  // The page shows no advice that was written for an assistant.
  expect(await page.getByRole("main").innerText()).not.toMatch(/\bAsk (where|which|whether)/);
  await lookAtPage(page, "audit");
  expect(await page.getByRole("button", { name: "Fix…" }).count()).toBe(2);
  await pressOnto(page, /^Fix…$/);
  await page.getByRole("heading", { name: /12 links/ }).waitFor();
  await pressOnto(page, /^Change 12 links$/);
  await page.locator("#progress .tag", { hasText: "Done" }).waitFor();
  const { body } = await serving.call("GET", "/links?q[path_eq]=plain-3");
  expect(body.links[0].url).toBe("https://example.com/3");
  expect(complaints).toEqual([]);
});

test("all links listed in an audit finding can be changed at once", async () => {
  const { page } = await openConsole(serving);
  await page.goto(`${serving.places.url}/audit`);
  await page.getByRole("button", { name: "Change these 2 links…" }).click();
  await page.getByRole("heading", { name: "Change 2 links" }).waitFor();
});
