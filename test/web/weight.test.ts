import { afterAll, beforeAll, expect, test } from "vitest";
import { browse, type Browsing } from "../support/browse.ts";
import { createServed } from "../support/command.ts";
import { readFormToken, signInAt } from "../support/console-http.ts";

/** What the console's pages weigh on the network, and what their weight must not tell. */

let served: Awaited<ReturnType<typeof createServed>>;
let tab: Browsing;

beforeAll(async () => {
  served = await createServed();
  tab = await signInAt(served.serving);
});
afterAll(async () => served[Symbol.asyncDispose]());

/** As a browser says that a person, or a page of the console, has asked for it. */
const packed = { "accept-encoding": "gzip, deflate", "sec-fetch-site": "same-origin" };

test("a page is sent packed to browsers that unpack it", async () => {
  const plain = await tab.open("/links/new");
  expect(plain.headers["content-encoding"]).toBeUndefined();
  const small = await tab.open("/links/new", packed);
  expect(small.headers["content-encoding"]).toBe("gzip");
  expect(small.bytes).toBeLessThan(plain.bytes / 2);
  expect(small.text.length).toBe(plain.text.length);
  expect(small.headers["content-security-policy"]).toContain("default-src 'none'");
  const none = await tab.open("/links/new", { ...packed, "sec-fetch-site": "none" });
  expect(none.headers["content-encoding"]).toBe("gzip");
  const stranger = browse(served.serving.places.url);
  const { headers } = await stranger.open("/sign-in", packed);
  expect(headers).toMatchObject({ "content-encoding": "gzip", "cache-control": "no-store" });
});

test.each(["cross-site", "same-site", undefined])(
  "for another site's page nothing is packed, so that no size tells it anything: %s",
  async (site) => {
    const from = { "accept-encoding": "gzip", ...(site && { "sec-fetch-site": site }) };
    expect((await tab.open("/links", from)).headers["content-encoding"]).toBeUndefined();
  },
);

test("what a form has against other sites is written anew on each page, and is good", async () => {
  const tokens = [await readFormToken(tab), await readFormToken(tab)];
  expect(new Set(tokens).size).toBe(2);
  for (const [turn, form_token] of tokens.entries()) {
    const made = await tab.post("/links/new", { form_token, path: `made-${turn}` });
    expect(made.path).toMatch(/^\/links\/[\w-]+\?done=created/);
  }
});
