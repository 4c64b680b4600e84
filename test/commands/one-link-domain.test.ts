import { get } from "node:http";
import { describe, expect, test } from "vitest";
import { createFolder, run, runJson, startServe, type Folder } from "../support/command.ts";
import { findFreePort } from "../support/ports.ts";
import { openForEach } from "../support/open-for.ts";

/** One domain for all links, and the check of a proxy before it requests a certificate. */

let folder: Folder;
openForEach(createFolder, (opened) => (folder = opened));

const origin = "https://go.example.com";
const publicUrl = ["--public-url", "https://waypost.example.com"];

type Answer = { readonly status: number | undefined; readonly location: string | undefined };

function ask(port: number, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, headers }, (response) => {
      response.resume();
      resolve({ status: response.statusCode, location: response.headers.location });
    }).on("error", reject);
  });
}

describe("a server whose link origin has no {subdomain}", () => {
  test("opens the only project's links and refuses to create a second project", async () => {
    const port = await findFreePort();
    const words = ["--link-origin", origin, "--port", String(port)];
    await using serving = await startServe(folder.path, words);
    const made = await serving.call("POST", "/links", {
      body: { path: "spring", url: "https://example.com/sale" },
    });
    expect(made.status).toBe(201);
    const visited = await ask(port, "/spring", { host: "go.example.com" });
    expect(visited).toEqual({ status: 302, location: "https://example.com/sale" });

    const other = ["projects", "create", "--name", "Shop", "--subdomain", "shop"];
    const refused = await run([...other, "--data", folder.path, ...words]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `All links of this server open at ${origin}, so it can have only one project.`,
      ),
    });
    const { token } = await runJson(["keys", "create", "--master", "--data", folder.path]);
    const body = { project: { name: "Shop", subdomain: "shop" } };
    const byKey = await serving.call("POST", "/projects", { key: token, body });
    expect([byKey.status, byKey.body.error]).toEqual([
      400,
      expect.stringContaining(`All links of this server open at ${origin}`),
    ]);
    expect((await runJson(["projects", "list", "--data", folder.path])).projects).toHaveLength(1);
  });

  test("still opens the oldest project's links after another process adds a project", async () => {
    const port = await findFreePort();
    const words = ["--link-origin", origin, "--port", String(port)];
    await using serving = await startServe(folder.path, words);
    const body = { path: "spring", url: "https://example.com/sale" };
    await serving.call("POST", "/links", { body });
    const other = ["projects", "create", "--name", "Shop", "--subdomain", "a"];
    expect((await run([...other, "--data", folder.path])).code).toBe(0);
    const visited = await ask(port, "/spring", { host: "go.example.com" });
    expect(visited.location).toBe("https://example.com/sale");

    const { stderr } = await serving.stop();
    expect(stderr).not.toContain("only the oldest project's links open");
    await using again = await startServe(folder.path, words);
    expect((await ask(port, "/spring", { host: "go.example.com" })).status).toBe(302);
    expect((await again.stop()).stderr).toContain("only the oldest project's links open");
  });
});

describe("GET /tls/ask", () => {
  test("returns 200 only for host names that the server uses", async () => {
    const port = await findFreePort();
    const origins = ["--link-origin", "https://{subdomain}.links.example.com", ...publicUrl];
    const words = [...origins, "--port", String(port)];
    await using serving = await startServe(folder.path, words);
    expect(serving.places.url).toBe("https://waypost.example.com");
    const update = ["projects", "update", "default", "--data", folder.path, ...words];
    await run([...update, "--custom-domain", "go.example.com"]);
    const read = async (domain: string) => (await ask(port, `/tls/ask?domain=${domain}`)).status;
    expect(await read("waypost.example.com")).toBe(200);
    expect(await read("default.links.example.com")).toBe(200);
    expect(await read("shop.links.example.com")).toBe(404);
    expect(await read("go.example.com")).toBe(404);
    expect(await read("evil.example")).toBe(404);
    expect(await read("")).toBe(404);
    expect(await read("x%00")).toBe(404);
    expect(await read("DEFAULT.links.example.com.")).toBe(200);
    await run([...update, "--assume-verified"]);
    // Another process notices the change after a moment.
    await expect.poll(() => read("go.example.com")).toBe(200);
  });

  test("returns 200 only for the single link domain and the console's host name", async () => {
    const port = await findFreePort();
    const words = ["--link-origin", origin, ...publicUrl, "--port", String(port)];
    await using serving = await startServe(folder.path, words);
    expect(serving.places.links).toBe(origin);
    const read = async (domain: string) => (await ask(port, `/tls/ask?domain=${domain}`)).status;
    expect(await read("go.example.com")).toBe(200);
    expect(await read("waypost.example.com")).toBe(200);
    expect(await read("default.go.example.com")).toBe(404);
    expect(await read("example.com")).toBe(404);
    expect(await read("evil.example")).toBe(404);
    const path = "/tls/ask?domain=waypost.example.com";
    expect((await ask(port, path, { "x-forwarded-for": "203.0.113.9" })).status).toBe(404);
    expect((await ask(port, path, { via: "1.1 proxy" })).status).toBe(404);
  });
});
