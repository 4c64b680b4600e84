import { describe, expect, test } from "vitest";
import {
  type Alter,
  type ProxiedReply,
  createStrangeWorld,
  type StrangeWorld,
} from "../../support/remote.ts";
import type { AssistantClient } from "../../support/assistant-world.ts";
import { callDone } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";
import { sha256 } from "../../contract/sample-link.ts";

/** Simulates a server without the endpoints and fields that only Waypost has. */

type Json = Readonly<Record<string, unknown>>;

const names = (text: string) => text.split(" ");
const link = names(
  "id name path url social_description social_image_url social_title shortened_path " +
    "android_fallback_url ios_fallback_url referrer provider_token campaign_token android_app_id " +
    "ios_app_id enable_forced_redirect ios_deferred_deep_linking_enabled clicks",
);
const iosApp = ["id", "name", "bundle_id", "team_id", "app_store_id", "clip_bundle_id"];
const androidApp = ["id", "name", "package_name", "fingerprints", "custom_scheme"];
const version = ["id", "published_at", "live"];
const template = ["id", "body", "css", "unpublished_changes", "created_at", "updated_at"];
const meta = ["page", "limit", "count", "last", "from", "to", "previous", "next"];
const statuses = new Set([200, 201, 204, 400, 401, 404, 422, 429, 503]);

const resources: Readonly<Record<string, readonly string[]>> = {
  links: link,
  short_links: link,
  ios_apps: [...iosApp, "custom_scheme"],
  android_apps: androidApp,
};

function pick(record: Json, names: readonly string[]): Json {
  return Object.fromEntries(
    names.flatMap((name) => (name in record ? [[name, record[name]]] : [])),
  );
}

function specify(kind: string, body: Json): Json {
  if ("error" in body || "errors" in body) return pick(body, ["error", "errors"]);
  if (kind === "page_template") return specifyTemplate(body);
  const fields = resources[kind] ?? [];
  const rows = body[kind];
  if (!Array.isArray(rows)) return pick(body, fields);
  return {
    [kind]: rows.map((row: Json) => pick(row, fields)),
    meta: pick(body["meta"] as Json, meta),
  };
}

function specifyTemplate(body: Json): Json {
  const { versions, live_version: live } = body;
  if (Array.isArray(versions)) return { versions: versions.map((row: Json) => pick(row, version)) };
  if (!("unpublished_changes" in body)) return pick(body, [...version, "body", "css"]);
  const shown = live && pick(live as Json, [...version, "body", "css"]);
  return { ...pick(body, template), live_version: shown ?? null };
}

const unknown: ProxiedReply = {
  status: 404,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ error: "Not found" }),
};

const unnamed = /\/(restore|preview)$|\/projects/;

const asSpecified: Alter = ({ method, path }, reply) => {
  const [place = ""] = path.split("?");
  const kind = place.split("/")[3] ?? "";
  const isDraft = kind === "page_template" && method === "GET" && place.endsWith(kind);
  if (unnamed.test(place) || isDraft) return unknown;
  expect(statuses, `${method} ${path}`).toContain(reply.status);
  const { "content-type": type = "", "retry-after": after } = reply.headers;
  const headers = { "content-type": type, ...(after && { "retry-after": after }) };
  if (!type.includes("json") || reply.body === "") return { ...reply, headers };
  const body = JSON.stringify(specify(kind, JSON.parse(reply.body) as Json));
  return { ...reply, headers, body };
};

let strange: StrangeWorld;

openForEach(
  () => createStrangeWorld(asSpecified),
  (opened) => {
    strange = opened;
    // The specified server ignores conditional headers.
    strange.proxy.setTurn(({ headers, ...request }) => {
      const { "if-match": _is, "if-none-match": _isNot, ...others } = headers;
      return { ...request, headers: others };
    });
  },
);

const countLinks = async (client: AssistantClient, value: string) => {
  const filters = [{ field: "name", condition: "cont", value }];
  const { links, problems } = await callDone(client, "list_links", { filters });
  expect(problems).toBeUndefined();
  return links.length;
};

describe.each(["modern", "v1"] as const)(
  "a %s client of a server that implements only the API specification",
  (era) => {
    let client: AssistantClient;
    openForEach(
      async () => ({ ...(await strange.connect({ era })), [Symbol.asyncDispose]: async () => {} }),
      (opened) => (client = opened),
    );

    test("can list, filter, create, change, shorten and delete links", async () => {
      const url = "https://example.com/spring";
      const made = await callDone(client, "create_link", { path: "spring", name: "Spring", url });
      expect(made.problems).toBeUndefined();
      const { id } = made.link;
      await callDone(client, "create_link", { path: "autumn", name: "Autumn" });
      expect((await callDone(client, "list_links")).meta.count).toBe(2);
      expect(await countLinks(client, "spri")).toBe(1);
      const changed = await callDone(client, "update_link", { id: "spring", name: "Summer" });
      expect(changed.link).toMatchObject({ id, name: "Summer", destination: url });
      const short = await callDone(client, "shorten_link", { url: "https://example.com/long" });
      expect(short.link.shortened_path).toEqual(expect.any(String));
      expect((await callDone(client, "delete_link", { id })).deleted.id).toBe(id);
      expect(await countLinks(client, "summer")).toBe(0);
    });

    test("can register, change and delete apps", async () => {
      const ios = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
      const android = { package_name: "com.example.shop", fingerprints: [sha256] };
      await callDone(client, "register_ios_app", ios);
      await callDone(client, "register_android_app", android);
      const named = await callDone(client, "update_ios_app", { id: ios.bundle_id, name: "Shop" });
      expect(named.ios_app).toMatchObject({ ...ios, name: "Shop" });
      const wanted = { path: "shop", ios_app: { bundle_id: ios.bundle_id } };
      expect((await callDone(client, "create_link", wanted)).link.ios_app_id).toBe(
        named.ios_app.id,
      );
      await callDone(client, "delete_ios_app", { id: ios.bundle_id });
      await callDone(client, "delete_android_app", { id: android.package_name });
      expect((await callDone(client, "list_android_apps")).android_apps).toEqual([]);
    });

    test("can publish a page template", async () => {
      const body = "<p>Spring</p>\n{% store_buttons %}\n";
      const { page_template } = await callDone(client, "publish_template", { body });
      expect(page_template.live_version).toMatchObject({ live: true });
      const { version } = await callDone(client, "get_template_version", { id: "live" });
      expect(version).toMatchObject({ body });
      expect((await callDone(client, "list_template_versions")).versions).toHaveLength(1);
    });

    test("can plan, create and undo twenty links", async () => {
      const rows = Array.from({ length: 20 }, (_, row) => {
        return { path: `p${row}`, name: `Row ${row}`, url: `https://example.com/${row}` };
      });
      const { plan } = await callDone(client, "plan_links", { operation: "upsert", rows });
      expect(plan.counts).toMatchObject({ create: 20, conflict: 0, invalid: 0 });
      const { job } = await callDone(client, "apply_plan", { plan_id: plan.id });
      expect(job.counts).toMatchObject({ done: 20, rejected: 0, unknown: 0 });
      const again = await callDone(client, "plan_links", { operation: "upsert", rows });
      expect(again.plan.counts).toMatchObject({ unchanged: 20 });
      const undo = await callDone(client, "plan_links", { undo: job.id });
      const undone = await callDone(client, "apply_plan", { plan_id: undo.plan.id });
      expect(undone.job.counts).toMatchObject({ done: 20 });
      expect((await callDone(client, "list_links")).meta.count).toBe(0);
    });
  },
);
