import { expect } from "vitest";
import { listEndpoints, contract } from "../../../src/contract/index.ts";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import type { World } from "../../support/world.ts";

/** Prepares a valid call for every endpoint, with new values each time. */

const { shortLinks, pageTemplate } = contract;
const template = { body: "<h1>Hello</h1>\n{% store_buttons %}\n", css: "h1 { color: red }" };
const turns = { at: 0 };

export type Scene = {
  readonly key: string;
  /** The input without its wrapper. */
  readonly input: JsonObject;
};

/** Calls with the same turn have the same values, in any world. */
export async function prepareScene(
  world: World,
  endpoint: Endpoint,
  turn = turns.at + 1,
): Promise<Scene> {
  turns.at = turn;
  const id = endpoint.params === undefined ? {} : { id: await makeTarget(world, endpoint) };
  const list = endpoint.list === undefined ? {} : await makeRows(world, endpoint);
  // Use values that no record has yet.
  turns.at += 1;
  const fields = await fillBody(world, endpoint);
  return { key: readKey(world, endpoint), input: { ...id, ...list, ...fields } };
}

/** Creates the record that the call needs. A record to be restored is also deleted. */
async function makeTarget(world: World, endpoint: Endpoint): Promise<string> {
  if (endpoint.path.startsWith(pageTemplate.versions.path)) return publish(world);
  const [, collection = ""] = endpoint.path.split("/");
  const id = await create(world, collection);
  if (endpoint.path.endsWith("/restore")) await remove(world, endpoint, `/${collection}/${id}`);
  return id;
}

async function publish(world: World): Promise<string> {
  const { body } = await world.call("POST", pageTemplate.publish.path, { body: template });
  return body.live_version.id;
}

/** Creates two rows, so that one can be read when the other cannot. */
async function makeRows(world: World, { path }: Endpoint): Promise<JsonObject> {
  await create(world, path.slice(1));
  turns.at += 1;
  await create(world, path.slice(1));
  return { limit: 2, page: 1 };
}

async function create(world: World, collection: string): Promise<string> {
  const endpoint = listEndpoints().find(
    ({ method, path }) => method === "POST" && path === `/${collection}`,
  );
  if (endpoint === undefined) throw new Error(`nothing creates one of the ${collection}`);
  const fields = await fillBody(world, endpoint);
  const body = endpoint.wrapper === undefined ? fields : { [endpoint.wrapper]: fields };
  const made = await world.call("POST", endpoint.path, { key: readKey(world, endpoint), body });
  expect(made.status).toBe(201);
  return made.body.id;
}

async function remove(world: World, endpoint: Endpoint, path: string): Promise<void> {
  const gone = await world.call("DELETE", path, { key: readKey(world, endpoint) });
  expect(gone.status).toBe(204);
}

function readKey({ key, master }: World, { auth }: Endpoint): string {
  return auth === "master" ? master : key;
}

async function fillBody(world: World, endpoint: Endpoint): Promise<JsonObject> {
  if (endpoint === shortLinks.resolve) return { url: await shorten(world) };
  if (endpoint.path.startsWith("/page_template")) {
    await publish(world);
    return endpoint.body === undefined ? {} : template;
  }
  const samples = { ...fields, ...listUnique(turns.at) };
  const names = Object.keys(endpoint.body?.shape ?? {});
  return Object.fromEntries(Object.entries(samples).filter(([name]) => names.includes(name)));
}

async function shorten(world: World): Promise<string> {
  const body = { url: `https://example.com/${turns.at}` };
  const made = await world.call("POST", shortLinks.create.path, { body });
  return `http://default.localhost:8787/${made.body.shortened_path}`;
}

const fields: JsonObject = {
  name: "Spring",
  social_title: "Spring",
  social_description: "It is spring.",
  social_image_url: "https://example.com/a.png",
  ios_fallback_url: "https://example.com/ios",
  android_fallback_url: "https://example.com/android",
  enable_forced_redirect: true,
  ios_deferred_deep_linking_enabled: true,
  referrer: "spring",
  provider_token: "p",
  campaign_token: "c",
  team_id: "TEAM000001",
  app_store_id: "12",
  custom_scheme: "spring",
  fingerprints: ["AA:BB"],
};

function listUnique(at: number): JsonObject {
  return {
    url: `https://example.com/${at}`,
    path: `path-${at}`,
    bundle_id: `com.example.a${at}`,
    clip_bundle_id: `com.example.a${at}.Clip`,
    package_name: `com.example.a${at}`,
    subdomain: `sub-${at}`,
    custom_domain: `a${at}.example.com`,
  };
}
