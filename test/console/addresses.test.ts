import { describe, expect, test } from "vitest";
import { readBrowserOrigin } from "../../src/console/browser-origin.ts";
import { browse, type WebTab, readFormToken, signInAt } from "../support/console.ts";
import { createServed, type OwnServer } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Filters, return addresses and the rules for plain HTTP in the console. */

let served: OwnServer;
let tab: WebTab;
let form_token: string;
let id: string;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
  form_token = await readFormToken(tab);
  const body = { path: "spring", name: "Spring", url: "https://one.example/" };
  id = (await served.serving.call("POST", "/links", { body })).body.id;
});

const query = (...filters: readonly string[]) =>
  `?${String(new URLSearchParams(filters.map((filter): [string, string] => ["filter", filter])))}`;

describe("a console filter that the API does not support", () => {
  test.each([
    "colour eq red",
    "__proto__ eq 1",
    "clicks like 3",
    "name cont ",
    "clicks gteq many",
    '"><script>alert(1)</script>',
  ])("is rejected rather than ignored: %s", async (filter) => {
    for (const path of ["/links", "/audit"]) {
      const { text } = await tab.open(path + query("name cont Spring", filter));
      expect(text).toMatch(/class="fault"/);
      expect(text).not.toContain("<script>alert");
      expect(text).not.toContain(`href="/links/${id}`);
      if (path === "/links") expect(text).toContain("A filter in this address is not valid.");
    }
  });

  test("cannot be used to select the links to change", async () => {
    const chosen = { all: "on", search: "Spring", filter: "colour eq red", way: "delete" };
    const shown = await tab.post("/links/several", { form_token, ...chosen });
    expect([shown.path, shown.status]).toEqual(["/links/several", 422]);
  });
});

describe("the breadcrumb on a link's page", () => {
  const list = "filter=name+cont+Spring&sort=name";
  const from = `?from=${encodeURIComponent(list)}`;
  const crumb = `href="/links?${list.replace("&", "&amp;")}"`;
  const shown = { "was.name": "Spring", "was.path": "spring", "was.url": "https://one.example/" };
  const typed = { name: "Spring", path: "spring", url: "https://one.example/", ...shown };

  test("still links to the filtered list after an edit is saved or cancelled", async () => {
    const { text } = await tab.open(`/links?${list}`);
    expect(text).toContain(`href="/links/${id}${from}"`);
    const page = await tab.open(`/links/${id}${from}`);
    expect(page.text).toContain(`action="/links/${id}${from}"`);
    const saved = await tab.post(`/links/${id}${from}`, { form_token, ...typed, name: "Springs" });
    expect(saved.path).toBe(`/links/${id}${from}&done=saved`);
    expect(saved.text).toContain(crumb);
    const led = { ...typed, url: "https://two.example/" };
    await tab.post(`/links/${id}${from}`, { form_token, ...led, "was.name": "Springs" });
    expect((await tab.submit({ leave: "" })).text).toContain(crumb);
    await tab.post(`/links/${id}${from}`, { form_token, ...led, "was.name": "Springs" });
    expect((await tab.submit({})).text).toContain(crumb);
  });

  test("still links to the filtered list after an undo", async () => {
    const { text } = await tab.open(`/links/${id}${from}`);
    const [, change_id = ""] = /name="change_id"\s+value="([^"]+)"/.exec(text) ?? [];
    const back = `/links/${id}${from}`;
    expect(text.replaceAll("&amp;", "&")).toContain(`name="back" value="${back}`);
    await tab.post("/history/undo", { form_token, change_id, back });
    const undone = await tab.submit({});
    expect(undone.text).toContain(crumb);
    expect(text).toContain(`action="/links/${id}/delete${from}"`);
    await tab.post(`/links/${id}/delete${from}`, { form_token });
    expect((await tab.submit({})).path).toBe(`/links?${list}&done=deleted`);
  });
});

function place(host: string, address: string | undefined, more: Record<string, string> = {}) {
  const request = new Request("http://localhost/", { headers: { host, ...more } });
  return readBrowserOrigin(
    { request, address },
    { publicUrl: "https://links.example.com", base: "" },
  );
}

describe("the console over plain HTTP", () => {
  test.each([
    ["x-forwarded-for", "127.0.0.1"],
    ["x-forwarded-proto", "http"],
    ["x-forwarded-host", "localhost"],
    ["x-real-ip", "127.0.0.1"],
    ["forwarded", "for=127.0.0.1"],
    ["via", "1.1 proxy"],
  ])("rejects a request with the proxy header %s", async (name, value) => {
    const shown = await browse(served.serving.places.url).open("/sign-in", { [name]: value });
    expect([shown.status, shown.text.includes("HTTPS required")]).toEqual([403, true]);
    expect(place("localhost:8787", "127.0.0.1", { [name]: value })).toBeUndefined();
  });

  test("rejects remote clients even if they send Host: localhost", () => {
    for (const host of ["localhost:8787", "127.0.0.1:8787", "[::1]:8787"]) {
      for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
        expect(place(host, address)).toMatchObject({ isSecure: false });
      }
      for (const address of ["203.0.113.9", "::ffff:10.0.0.1", "", undefined]) {
        expect(place(host, address)).toBeUndefined();
      }
    }
    // A proxy that terminates TLS may have any address.
    const secure = place("links.example.com", "10.0.0.1", { "x-forwarded-for": "203.0.113.9" });
    expect(secure).toMatchObject({ isSecure: true, origin: "https://links.example.com" });
  });
});
