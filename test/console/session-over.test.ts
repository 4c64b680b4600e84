import { expect, test } from "vitest";
import { browse, type WebTab, readFormToken, signInAt } from "../support/console.ts";
import { createServed, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Forms that are sent after their session ended. */

let serving: Serving;

openForAll(createServed, (opened) => ({ serving } = opened));

const signIn = (): Promise<WebTab> => signInAt(serving);

test("a form from an earlier session is shown again and is applied when resubmitted", async () => {
  const tab = await signIn();
  const old = await readFormToken(tab);
  await tab.open("/sign-in");
  await tab.submit({ key: serving.key });
  const url = "https://example.com/";
  const typed = { path: "typed-before", name: "Typed before", url };
  const shown = await tab.post("/links/new", { form_token: old, ...typed });
  expect(shown.text).toContain("Typed before");
  const find = () => serving.call("GET", "/links?q[path_eq]=typed-before");
  expect((await find()).body.links).toEqual([]);
  await tab.submit(typed);
  expect((await find()).body.links).toHaveLength(1);
});

test("signing out after the session has ended does not require signing in first", async () => {
  const tab = await signIn();
  const form_token = await readFormToken(tab);
  await tab.post("/sign-out", { form_token });
  const { path, text } = await tab.post("/sign-out", { form_token });
  expect([path, text.includes('name="kept"')]).toEqual(["/sign-in", false]);
});

test("a PIN submitted after signing out does not appear on the sign-in page", async () => {
  const tab = await signIn();
  const form_token = await readFormToken(tab);
  await tab.post("/sign-out", { form_token });
  const { text } = await tab.post("/links/new", { form_token, pin: "135790", path: "kept-1" });
  expect(text).toContain("kept-1");
  expect(text).not.toMatch(/135790|form_token%3D|form_token=/);
});

test("a form with thousands of fields is rejected with 413", async () => {
  for (const tab of [browse(serving.places.url), await signIn()]) {
    const post = async (count: number) => {
      const form = new URLSearchParams("a=kept-2&".repeat(count));
      const { status, text } = await tab.postForm("/links/new", form);
      return [status, text.includes("kept-2"), text.includes("<h1>Too large</h1>")];
    };
    expect(await post(3000)).toEqual([413, false, true]);
    expect((await post(1000))[0]).not.toBe(413);
  }
});
