import { createConfig, lintFromString } from "@redocly/openapi-core";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { listMethods, type Endpoint } from "../../src/contract/endpoint.ts";
import { served } from "../../src/contract/index.ts";
import { isJsonObject, type JsonObject } from "../../src/contract/json.ts";
import { listFiles } from "../support/folders.ts";
import { checkExchange, description } from "../support/api-description.ts";

/** The OpenAPI document, compared with the contract and checked by Redocly's rules. */

const text = JSON.stringify(description);
const endpoints = Object.values(served).flatMap((group) => Object.values<Endpoint>(group));
const operations = Object.entries(readObject(description["paths"])).flatMap(([path, methods]) =>
  Object.entries(readObject(methods)).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation: readObject(operation),
  })),
);

test("Redocly reports no problems in the OpenAPI document", async () => {
  const config = await createConfig({ extends: ["recommended"] });
  const found = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
  expect(found.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
});

test("the build writes the OpenAPI document to dist/openapi.json", () => {
  expect(JSON.parse(readFileSync("dist/openapi.json", "utf8"))).toEqual(JSON.parse(text));
});

test("the OpenAPI document contains every endpoint with exactly its methods", () => {
  const expected = endpoints.flatMap((endpoint) => {
    const path = endpoint.path.replace(":id", "{id}");
    const methods = listMethods(endpoint).filter((method) => method !== "HEAD");
    return methods.map((method) => `${method} ${path}`);
  });
  expect(operations.map(({ name }) => name).toSorted()).toEqual(expected.toSorted());
  const ids = operations.map(({ operation }) => operation["operationId"]);
  expect(new Set(ids).size).toBe(ids.length);
});

test("the OpenAPI document gives each operation the scope of its endpoint", () => {
  for (const { tool, scope, auth } of endpoints) {
    const { operation } = findOperation(tool);
    expect([tool, operation["x-scope"], operation["x-key"]]).toEqual([tool, scope, auth]);
    const named = new Set(
      (operation["security"] as readonly JsonObject[]).flatMap(Object.values).flat(),
    );
    expect([...named]).toEqual(scope === undefined ? [] : [scope]);
  }
});

test("the OpenAPI document describes 401 differently for operations that need no key", () => {
  for (const { name, operation } of operations) {
    const { $ref } = readObject(readObject(operation["responses"])["401"]);
    const response = operation["x-key"] === "none" ? "ClientKeyRefused" : "Unauthorized";
    expect([name, $ref]).toEqual([name, `#/components/responses/${response}`]);
  }
});

test("operations that are not in the specification are marked as Waypost extensions", () => {
  const own = operations.filter(({ operation }) => operation["x-waypost-own"] === true);
  expect(own.map(({ name }) => name).toSorted()).toEqual([
    "GET /browser_paths",
    "GET /link_stats",
    "GET /openapi.json",
    "POST /android_apps/{id}/restore",
    "POST /fingerprints/match",
    "POST /ios_apps/{id}/restore",
    "POST /links/attribute",
    "POST /links/{id}/restore",
    "PUT /page_template",
    "PUT /projects/{id}",
  ]);
  const undocumented = operations.filter(({ operation }) => operation["x-waypost-path"] === true);
  expect(undocumented.map(({ name }) => name)).toEqual([
    "POST /page_template/versions/{id}/restore",
    "POST /page_template/preview",
  ]);
});

test("every request, response and error in the OpenAPI document has an example", () => {
  const without = operations.flatMap(({ name, operation }) => {
    const responses = Object.entries(readObject(operation["responses"]));
    const bodies = [["request", operation["requestBody"]] as const, ...responses];
    return bodies.flatMap(([place, body]) =>
      listMedia(body).some((media) => !("example" in media || "examples" in media))
        ? [`${name} ${place}`]
        : [],
    );
  });
  expect(without).toEqual([]);
});

describe("checkExchange", () => {
  test("is called for every request that a test sends to the API", () => {
    const past = listFiles("test").filter((path) => {
      const isMeasured = path.startsWith("test/bench/") || path.endsWith("/api-description.ts");
      if (!path.endsWith(".ts") || isMeasured) return false;
      const code = readFileSync(path, "utf8");
      return passes.test(code) || (asks.test(code) && !code.includes("checkText("));
    });
    expect(past).toEqual([]);
  });
  const passes = /from ".*\/src\/service\/service\.ts"|\bfetch\([^)]*\/api\/v1/;
  // The address may follow calls, as in `fetch(at(1).places.api)`.
  const asks =
    /\b(?:fetch|request|\w+Request|ask|get|send|visit\w*)\((?:[^()]|\([^()]*\))*?places\.api\b/;

  const link = readExample("get_link");
  const url = `http://localhost/api/v1/links/${String(link["id"])}`;
  const headers = { "content-type": "application/json" };
  const checkGet = (body: JsonObject, status = 200) => {
    checkExchange({ method: "GET", url, body: "" }, { status, headers, body });
  };

  test("accepts a response that matches the OpenAPI document", () => {
    expect(() => checkGet(link)).not.toThrow();
    expect(() => checkGet({ error: "Link not found" }, 404)).not.toThrow();
  });

  test.each([
    ["a missing field", { ...link, clicks: undefined }, 200],
    ["a field of another type", { ...link, clicks: "many" }, 200],
    ["an undocumented field", { ...link, secret: "x" }, 200],
    ["an undocumented status", link, 206],
    ["an error without a message", {}, 404],
  ])("rejects a response with %s", (_, body, status) => {
    expect(() => checkGet(body, status)).toThrow("not as the OpenAPI document describes it");
  });

  const send = (body: object, more?: object) =>
    checkExchange(
      { method: "PATCH", url, body: JSON.stringify(body) },
      { status: 200, headers: { ...headers, ...more }, body: link },
    );

  test("rejects a successful request that does not match the OpenAPI document", () => {
    expect(() => send({ name: "Spring" })).not.toThrow();
    expect(() => send({ name: ["Spring"] })).toThrow("body is not as");
    const unknown = { name: "Spring", ios_app: { id: "shop", color: "red" } };
    expect(() => send(unknown)).toThrow("body is not as");
    expect(() => send(unknown, { warning: "ignored" })).not.toThrow();
  });
});

function findOperation(id: string) {
  const found = operations.find(({ operation }) => operation["operationId"] === id);
  if (found === undefined) throw new Error(`no operation ${id}`);
  return found;
}

function readExample(id: string): JsonObject {
  const { operation } = findOperation(id);
  const [media] = listMedia(readObject(operation["responses"])["200"]);
  return readObject(media?.["example"]);
}

/** The contents of a request or response, which may be references. */
function listMedia(body: unknown): readonly JsonObject[] {
  const { $ref, content } = readObject(body);
  const name = String($ref).split("/").at(-1) ?? "";
  const shared = readObject(readObject(description["components"])["responses"]);
  const own = $ref === undefined ? content : readObject(shared[name])["content"];
  return Object.values(readObject(own)).map(readObject);
}

function readObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
