import { createServer } from "node:http";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTab } from "../support/browser.ts";
import { createServed, createUsedFolder, startServe, type Serving } from "../support/command.ts";
import { browse, signInAt } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";
import { openServer } from "../support/ports.ts";

/** The base path of the console, and where its session cookie is sent. */

const onLoopback = { env: { WAYPOST_CONSOLE_PATH: "" } };
let serving: Serving;

openForAll(
  () => createServed([], onLoopback),
  (opened) => ({ serving } = opened),
);

async function readBase(at: Serving): Promise<string> {
  const tab = browse(at.places.url);
  await tab.open("/sign-in");
  const { path } = await tab.submit({ key: at.key });
  return path.replace(/\/$/, "");
}

test("the console has a random base path that limits the scope of the session cookie", async () => {
  const page = await fetch(`${serving.places.url}/sign-in`, { headers: { accept: "text/html" } });
  const [visit = ""] = page.headers.getSetCookie();
  const [, form_token = ""] = /name="form_token" value="([^"]+)"/.exec(await page.text()) ?? [];
  const signedIn = await fetch(`${serving.places.url}/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { accept: "text/html", origin: serving.places.url, cookie: visit.split(";")[0] ?? "" },
    body: new URLSearchParams({ form_token, key: serving.key }),
  });
  const base = /^(\/console-[\w-]{16})\/$/.exec(signedIn.headers.get("location") ?? "")?.[1];
  const session = signedIn.headers.getSetCookie().find((line) => line.includes("session"));
  expect(session).toMatch(new RegExp(`; Path=${base}; HttpOnly; SameSite=Strict$`));
});

test("each data folder has its own random base path, which survives a restart", async () => {
  await using folder = await createUsedFolder();
  const bases: string[] = [];
  for (let turn = 0; turn < 2; turn += 1) {
    await using started = await startServe(folder.path, [], onLoopback);
    bases.push(await readBase(started));
    await started.stop();
  }
  expect(bases).toEqual([bases[0], bases[0]]);
  expect(bases).not.toContain(await readBase(serving));
  expect(await readFile(join(folder.path, "console-path"), "utf8")).toBe(`${bases[0]}\n`);
});

test("if the base path file is invalid, the console returns 500 and logs the fix", async () => {
  await using folder = await createUsedFolder();
  await using started = await startServe(folder.path, [], onLoopback);
  const file = join(folder.path, "console-path");
  await writeFile(file, "nothing\n");
  const tab = browse(started.places.url);
  const { status, text } = await tab.open("/sign-in");
  expect([status, text]).toEqual([500, expect.stringContaining("The reference in the log is ")]);
  await rm(file);
  expect((await tab.open("/sign-in")).status).toBe(200);
  const { stderr } = await started.stop();
  expect(stderr).toMatch(/console-path [^"]*; move the file away/);
});

test("a response to a signed-out visitor does not contain the base path", async () => {
  const base = await readBase(serving);
  const tab = browse(serving.places.url);
  const paths = [
    "/",
    "/sign-in",
    "/links",
    "/nowhere",
    "/sign-in/none",
    "/console",
    "/api",
    "/mcp",
  ];
  const others = ["/llms.txt", "/healthz", "/readyz", "/metrics", "/api/v1/links", "/approve/none"];
  const shown = [];
  for (const path of [...paths, ...others]) {
    shown.push(await tab.open(path), await tab.post(path, { key: "wrong", path: "spring" }));
  }
  await tab.open("/sign-in");
  shown.push(await tab.submit({ key: "wrong" }));
  for (const { headers, text } of shown) {
    expect(JSON.stringify(headers) + text).not.toContain(base.slice(1));
  }
});

describe("a path below the base path", () => {
  test.each(["", "/", "/links", "/nowhere", "/links/new?a=b", "/sign-out", "/links/1/page"])(
    "cannot be distinguished from an unknown path by a signed-out visitor: %s",
    async (path) => {
      const base = await readBase(serving);
      const look = async (start: string) => {
        const tab = browse(serving.places.url);
        const opened = await tab.open(start + path);
        const sent = await tab.post(start + path, { form_token: "x", name: "Spring" });
        return [opened, sent].map((shown) => {
          const { date: _, "set-cookie": __, ...headers } = shown.headers;
          const text = shown.text.replace(
            /nonce(?:="|-)[\w+/=]+|name="form_token" value="[^"]+"/g,
            "",
          );
          return JSON.stringify([shown.status, shown.path, headers, text])
            .replace(/nonce-[\w+/=]+|"content-length":"\d+"/g, "")
            .replaceAll(encodeURIComponent(start), "START")
            .replaceAll(start, "START");
        });
      };
      expect(await look(base)).toEqual(await look("/console-AAAAAAAAAAAAAAAA"));
    },
  );
});

test("a session is not accepted outside the base path", async () => {
  const base = await readBase(serving);
  const tab = await signInAt(serving);
  expect((await tab.open(`${base}/links`)).text).toContain('<h1 dir="auto">Links</h1>');
  const cookie = [...tab.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  for (const path of ["/links", `${base}x/links`]) {
    expect((await browse(serving.places.url).open(path, { cookie })).path).toMatch(/^\/sign-in/);
  }
});

test.each(["/links?search=spring", "BASE/links?search=spring"])(
  "signing in redirects to the requested page: %s",
  async (wanted) => {
    const base = await readBase(serving);
    const tab = browse(serving.places.url);
    await tab.open(wanted.replace("BASE", base));
    const { path } = await tab.submit({ key: serving.key });
    expect(path).toBe(`${base}/links?search=spring`);
  },
);

test("the browser does not send the session cookie to another port of this machine", async () => {
  const page = await openTab();
  await page.goto(serving.places.url);
  await page.getByLabel("API key").fill(serving.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Start" }).waitFor();
  await page.getByRole("link", { name: "Links", exact: true }).click();
  await page.getByRole("heading", { name: "Links" }).waitFor();
  const { pathname } = new URL(page.url());
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers.cookie ?? "");
    response.end("ok");
  });
  await using other = await openServer(server);
  for (const path of ["/", "/links", "/sign-in", "/console-AAAAAAAAAAAAAAAA/links"]) {
    await page.goto(`${other.url}${path}`);
  }
  expect(received.length).toBeGreaterThan(0);
  expect(received.join("; ")).not.toContain("session");
  await page.goto(serving.places.url + pathname);
  await page.getByRole("heading", { name: "Links" }).waitFor();
});

test("a signed-in browser is redirected from the sign-in page to the console", async () => {
  const page = await openTab();
  const { url } = serving.places;
  await page.goto(url);
  await page.getByLabel("API key").fill(serving.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Start" }).waitFor();
  // The page's script remembers the path.
  await page.locator("html.scripted").waitFor();
  const start = page.url();
  await page.goto(url, { waitUntil: "commit" });
  await page.waitForURL(start);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  const response = page.waitForResponse(start);
  await page.goto(url);
  expect((await response).status()).toBe(303);
  expect(page.url()).toBe(`${url}/sign-in`);
});

describe("the console at a public URL", () => {
  const host = "links.example.com";
  const at = { host, origin: `https://${host}` };

  test.each([
    ["", "/", "__Host-waypost_session"],
    ["/team/waypost/", "/team/waypost", "__Secure-waypost_session"],
  ])(
    "with WAYPOST_CONSOLE_PATH=%s sets a session cookie with the path %s",
    async (given, path, name) => {
      await using folder = await createUsedFolder();
      const words = ["--public-url", `https://${host}`];
      const env = { WAYPOST_CONSOLE_PATH: given };
      await using open = await startServe(folder.path, words, { env });
      const note = await readFile(join(folder.path, "listener.json"), "utf8");
      const tab = browse(`http://127.0.0.1:${/"port":\s*(\d+)/.exec(note)?.[1]}`);
      await tab.open("/sign-in", at);
      await tab.submit({ key: open.key }, at);
      expect([...tab.cookies.keys()]).toContain(name);
      const start = path === "/" ? "/" : `${path}/`;
      expect((await tab.open(start, at)).text).toContain("Connect your assistant");
      expect(tab.paths.get(name)).toBe(path);
    },
  );
});
