import { expect, test } from "vitest";
import { listMethods, type Endpoint } from "../../src/contract/endpoint.ts";
import { served } from "../../src/contract/index.ts";
import { createUsedFolder, run, startServe } from "../support/command.ts";
import { signInAt } from "../support/console.ts";

/** The help pages about the REST API, and what `waypost openapi` prints. */

test("the API help pages show every endpoint with its request body and responses", async () => {
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path);
  const tab = await signInAt(serving);
  const help = await tab.open("/help");
  expect(help.text).toContain('href="/help/api"');
  const start = await tab.open("/help/api");
  const addresses = new Set(
    [...start.text.matchAll(/href="(\/help\/api\/[a-z-]+)[#"]/g)].map(([, to]) => to ?? ""),
  );
  const pages = [];
  for (const address of addresses) pages.push(await tab.open(address));
  expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 200));
  const text = pages.map((page) => page.text).join("");
  for (const endpoint of Object.values(served).flatMap((group) => Object.values<Endpoint>(group))) {
    const methods = listMethods(endpoint).filter((method) => method !== "HEAD");
    const name = `${methods.join(", ")} ${endpoint.path.replace(":id", "{id}")}`;
    expect(text).toContain(`>${name}</h2>`);
    for (const field of Object.keys(endpoint.body?.shape ?? {})) {
      const { wrapper } = endpoint;
      expect(text).toContain(`<code>${wrapper === undefined ? "" : `${wrapper}.`}${field}</code>`);
    }
  }
  expect(text).toContain("<code>422</code>");
  expect(text).not.toContain("undefined");
  expect((await tab.open("/help/api/nothing")).status).toBe(404);
});

test("waypost openapi prints the OpenAPI document that the server returns", async () => {
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path);
  const printed = await run(["openapi"]);
  expect(printed.code).toBe(0);
  const returned = await serving.call("GET", "/openapi.json", { key: null });
  expect(returned.body).toEqual(JSON.parse(printed.stdout));
  expect(returned.headers.get("content-type")).toBe("application/json");
});
