import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { budgets } from "../../src/contract/limits.ts";
import { listMethods, type Endpoint } from "../../src/contract/endpoint.ts";
import { conditions } from "../../src/contract/filters.ts";
import { apiPrefix, contract, listEndpoints, listToolEndpoints } from "../../src/contract/index.ts";
import { roles, scopes } from "../../src/contract/rights.ts";

/** The contract, compared with a manual copy of the API's specification. */

type Line = readonly [endpoint: string, success: string, tool: string, effect: Endpoint["effect"]];

const spec: readonly Line[] = [
  ["GET /links", "200", "list_links", "read"],
  ["POST /links", "201", "create_link", "write"],
  ["POST /links/upsert", "200 201", "upsert_link", "write"],
  ["GET /links/:id", "200", "get_link", "read"],
  ["PATCH PUT /links/:id", "200", "update_link", "write"],
  ["DELETE /links/:id", "204", "delete_link", "destroy"],
  ["POST /short_links", "201", "shorten_link", "write"],
  ["POST /short_links/resolve", "200", "resolve_short_link", "read"],
  ["GET /ios_apps", "200", "list_ios_apps", "read"],
  ["POST /ios_apps", "201", "register_ios_app", "write"],
  ["GET /ios_apps/:id", "200", "get_ios_app", "read"],
  ["PATCH PUT /ios_apps/:id", "200", "update_ios_app", "write"],
  ["DELETE /ios_apps/:id", "204", "delete_ios_app", "destroy"],
  ["GET /android_apps", "200", "list_android_apps", "read"],
  ["POST /android_apps", "201", "register_android_app", "write"],
  ["GET /android_apps/:id", "200", "get_android_app", "read"],
  ["PATCH PUT /android_apps/:id", "200", "update_android_app", "write"],
  ["DELETE /android_apps/:id", "204", "delete_android_app", "destroy"],
  ["GET /projects", "200", "list_projects", "read"],
  ["POST /projects", "201", "create_project", "write"],
  ["GET /projects/:id", "200", "get_project", "read"],
  ["PATCH PUT /projects/:id", "200", "update_project", "write"],
  ["DELETE /projects/:id", "204", "delete_project", "destroy"],
  ["PATCH PUT /page_template", "200 201", "save_template", "write"],
  ["POST /page_template/publish", "200", "publish_template", "destroy"],
  ["POST /page_template/unpublish", "200", "unpublish_template", "destroy"],
  ["GET /page_template/versions", "200", "list_template_versions", "read"],
  ["GET /page_template/versions/:id", "200", "get_template_version", "read"],
  ["POST /page_template/versions/:id/restore", "200", "restore_template_version", "destroy"],
  ["POST /page_template/preview", "200", "preview_template", "read"],
];

/** Waypost's own endpoints, which the specification does not have. */
const ours: readonly Line[] = [
  ["POST /links/:id/restore", "200", "restore_link", "write"],
  ["GET /link_stats", "200", "link_stats", "read"],
  ["POST /ios_apps/:id/restore", "200", "restore_ios_app", "write"],
  ["POST /android_apps/:id/restore", "200", "restore_android_app", "write"],
];

const spenders = {
  link_writes: ["POST /links", "POST /links/upsert", "PATCH PUT /links/:id", ...nameOurs("link")],
  url_shortening: ["POST /short_links"],
  ios_app_writes: [
    "POST /ios_apps",
    "PATCH PUT /ios_apps/:id",
    "DELETE /ios_apps/:id",
    ...nameOurs("ios_app"),
  ],
  android_app_writes: [
    "POST /android_apps",
    "PATCH PUT /android_apps/:id",
    "DELETE /android_apps/:id",
    ...nameOurs("android_app"),
  ],
  page_template_writes: [
    "PATCH PUT /page_template",
    "POST /page_template/publish",
    "POST /page_template/preview",
  ],
} as const;

const opened: Readonly<Record<string, readonly string[]>> = {
  "links.show": ["GET /links/:id"],
  "links.index": ["GET /links", "GET /link_stats"],
  "links.create": ["POST /links", "POST /links/upsert", ...nameOurs("link")],
  "links.update": ["PATCH PUT /links/:id"],
  "links.destroy": ["DELETE /links/:id"],
  "short_links.create": ["POST /short_links"],
  "ios_apps.index": ["GET /ios_apps"],
  "ios_apps.show": ["GET /ios_apps/:id"],
  "ios_apps.create": ["POST /ios_apps", ...nameOurs("ios_app")],
  "ios_apps.update": ["PATCH PUT /ios_apps/:id"],
  "ios_apps.destroy": ["DELETE /ios_apps/:id"],
  "android_apps.index": ["GET /android_apps"],
  "android_apps.show": ["GET /android_apps/:id"],
  "android_apps.create": ["POST /android_apps", ...nameOurs("android_app")],
  "android_apps.update": ["PATCH PUT /android_apps/:id"],
  "android_apps.destroy": ["DELETE /android_apps/:id"],
  "page_templates.show": [
    "GET /page_template/versions",
    "GET /page_template/versions/:id",
    "POST /page_template/preview",
  ],
  "page_templates.update": ["PATCH PUT /page_template", "POST /page_template/versions/:id/restore"],
  "page_templates.publish": ["POST /page_template/publish", "POST /page_template/unpublish"],
};

/** Endpoints without a body, and those whose paths the specification does not show. */
const bodiless = new Set([
  "POST /page_template/unpublish",
  "POST /page_template/versions/:id/restore",
  ...ours.map(([name]) => name),
]);
const guessed = [
  ...ours.map(([name]) => name),
  "POST /page_template/versions/:id/restore",
  "POST /page_template/preview",
];

/** Effect, idempotent, overwrites: the defaults of each method, and the tools that differ. */
const implied: Readonly<Record<string, readonly [string, boolean, boolean]>> = {
  GET: ["read", true, false],
  POST: ["write", false, false],
  PATCH: ["write", true, true],
  DELETE: ["destroy", true, false],
  upsert_link: ["write", true, true],
  resolve_short_link: ["read", true, false],
  // Each call creates a new version.
  publish_template: ["destroy", false, true],
  unpublish_template: ["destroy", true, true],
  restore_template_version: ["destroy", true, true],
  preview_template: ["read", true, false],
  restore_link: ["write", true, false],
  restore_ios_app: ["write", true, false],
  restore_android_app: ["write", true, false],
};

const entries = listEndpoints();

describe("the API contract", () => {
  test("contains exactly the endpoints and statuses of the specification", () => {
    const lines = entries.map((entry): Line => {
      const { status, also = "" } = entry.success;
      return [nameOf(entry), `${status} ${also}`.trim(), entry.tool, entry.effect];
    });
    expect(lines).toHaveLength(spec.length + ours.length);
    expect(lines).toEqual(expect.arrayContaining([...spec, ...ours]));
    const tools = listToolEndpoints().map(({ tool }) => tool);
    expect(tools.toSorted()).toEqual(spec.map(([, , tool]) => tool).toSorted());
    expect(apiPrefix).toBe("/api/v1");
  });

  test("specifies a project key for all paths except /projects and /short_links/resolve", () => {
    const kinds = entries.map((entry) => [
      entry.path.startsWith("/projects"),
      entry.path,
      entry.auth,
    ]);
    for (const [isProjects, path, auth] of kinds) {
      const open = path === "/short_links/resolve";
      expect([path, auth]).toEqual([path, isProjects ? "master" : open ? "none" : "project"]);
    }
  });

  test("matches the specification in each endpoint's role, plan and feature", () => {
    for (const entry of entries) {
      const name = nameOf(entry);
      const isApp = /^\/(ios|android)_apps/.test(entry.path);
      const isPage = entry.path.startsWith("/page_template");
      const least = isPage || entry.effect !== "read" ? "manager" : "viewer";
      const isLinkWrite = /^\/(short_)?links/.test(entry.path) && entry.effect !== "read";
      const isRanked = isApp || isPage || (isLinkWrite && entry.auth === "project");
      expect([name, entry.role]).toEqual([name, isRanked ? least : undefined]);
      const plan = isPage || name === "POST /short_links" ? "pro" : undefined;
      expect([name, entry.plan]).toEqual([name, plan]);
      expect([name, entry.feature]).toEqual([name, isPage ? "page_templates" : undefined]);
    }
    expect(roles).toEqual(["viewer", "manager", "owner"]);
  });

  test("matches the specification in each endpoint's scope", () => {
    const found = Object.fromEntries(
      Object.keys(opened).map((scope) => [
        scope,
        entries.filter((entry) => entry.scope === scope).map(nameOf),
      ]),
    );
    expect(found).toEqual(opened);
    expect(scopes.toSorted()).toEqual(Object.keys(opened).toSorted());
    const linked = entries.flatMap((entry) =>
      entry.link_scope ? [[nameOf(entry), entry.link_scope]] : [],
    );
    expect(linked).toEqual([["POST /page_template/preview", "links.show"]]);
    const unscoped = entries.filter((entry) => entry.scope === undefined).map(({ auth }) => auth);
    expect(new Set(unscoped)).toEqual(new Set(["none", "master"]));
  });

  test("matches the specification in each endpoint's rate limit", () => {
    for (const [name, names] of Object.entries(spenders)) {
      expect(entries.filter((entry) => entry.budget === name).map(nameOf)).toEqual(names);
    }
    const spending = entries.filter((entry) => entry.budget !== undefined);
    expect(spending).toHaveLength(Object.values(spenders).flat().length);
    const window_ms = 60_000;
    expect(budgets).toEqual({
      link_writes: { limit: 600, window_ms },
      url_shortening: { limit: 600, window_ms },
      ios_app_writes: { limit: 600, window_ms },
      android_app_writes: { limit: 600, window_ms },
      page_template_writes: { limit: 60, window_ms },
    });
  });

  test("matches the specification in wrapper objects and required fields", () => {
    const wrapped = entries.flatMap((entry) =>
      entry.wrapper ? [[nameOf(entry), entry.wrapper]] : [],
    );
    expect(wrapped).toEqual([
      ["POST /ios_apps", "ios_app"],
      ["PATCH PUT /ios_apps/:id", "ios_app"],
      ["POST /android_apps", "android_app"],
      ["PATCH PUT /android_apps/:id", "android_app"],
      ["POST /projects", "project"],
      ["PATCH PUT /projects/:id", "project"],
    ]);
    const required = entries.flatMap((entry) =>
      entry.required ? [[nameOf(entry), ...entry.required]] : [],
    );
    expect(required).toEqual([
      ["POST /links/upsert", "path"],
      ["POST /short_links", "url"],
      ["POST /short_links/resolve", "url"],
    ]);
    const optional = entries.filter((entry) => entry.body_optional === true).map(nameOf);
    expect(optional).toEqual(["POST /page_template/publish", "POST /page_template/preview"]);
  });

  test("defines HTML responses only for template previews and marks undocumented endpoints", () => {
    const pages = entries.filter((entry) => entry.type === "text/html").map(nameOf);
    expect(pages).toEqual(["POST /page_template/preview"]);
    expect(entries.filter((entry) => entry.documented === false).map(nameOf)).toEqual(guessed);
  });
});

describe("endpoints in the API contract", () => {
  test.each(entries.map((entry) => [nameOf(entry), entry] as const))(
    "are completely defined: %s",
    (_, entry) => {
      expect(entry.idempotent).toBeTypeOf("boolean");
      expect(entry.overwrites).toBeTypeOf("boolean");
      expect(entry.title).toMatch(/^[A-Z].*[^.]$/);
      expect(entry.summary).toMatch(/^[A-Z].*\.$/);
      expect(entry.tool).toMatch(/^[a-z]+(_[a-z]+)+$/);
      expect(entry.params !== undefined).toBe(entry.path.includes(":id"));
      // At most 20 versions exist, and the list omits their pages.
      const isPaged = entry.tool.startsWith("list_") && entry.tool !== "list_template_versions";
      expect(entry.list !== undefined).toBe(isPaged);
      expect(entry.response === null).toBe(entry.success.status === 204);
      const fields = Object.keys(entry.body?.shape ?? {});
      expect(fields).toEqual(expect.arrayContaining([...(entry.approval_fields ?? [])]));
      for (const field of Object.values(entry.body?.shape ?? {})) {
        expect((field as z.ZodType).description).toMatch(/\.$/);
      }
    },
  );

  test.each(entries.map((entry) => [nameOf(entry), entry] as const))(
    "have the effect that their HTTP method implies: %s",
    (_, entry) => {
      const { effect, idempotent, overwrites } = entry;
      const nature = implied[entry.tool] ?? implied[entry.method];
      expect([effect, idempotent, overwrites]).toEqual(nature);
      const isBodiless = ["GET", "DELETE"].includes(entry.method) || bodiless.has(nameOf(entry));
      expect(entry.body === undefined).toBe(isBodiless);
    },
  );

  test("use distinct names in path, query and body, so that tool input can be flat", () => {
    for (const entry of entries) {
      const query = entry.list === undefined ? [] : ["page", "limit", "filters", "sort", "q"];
      const keys = [
        ...Object.keys(entry.params?.shape ?? {}),
        ...query,
        ...Object.keys(entry.body?.shape ?? {}),
      ];
      expect(new Set(keys).size, nameOf(entry)).toBe(keys.length);
      expect(keys).not.toContain("project_id");
    }
  });

  test("list the fields whose changes require approval", () => {
    const asked = entries.flatMap((entry) =>
      entry.approval_fields === undefined ? [] : [[entry.tool, entry.approval_fields]],
    );
    expect(asked).toEqual([
      [
        "update_ios_app",
        ["bundle_id", "team_id", "app_store_id", "clip_bundle_id", "custom_scheme"],
      ],
      ["update_android_app", ["package_name", "fingerprints", "custom_scheme"]],
      ["update_project", ["subdomain", "custom_domain"]],
    ]);
  });

  test("accept the filters given in the specification", () => {
    const app = ["name", "custom_scheme", "created_at"];
    expect(filtersOf(contract.links.index)).toEqual(
      "name path shortened_path clicks created_at created_via"
        .split(" ")
        .concat("ios_app_bundle_id", "android_app_package_name")
        .toSorted(),
    );
    expect(filtersOf(contract.iosApps.index)).toEqual(
      [...app, "bundle_id", "team_id", "clip_bundle_id"].toSorted(),
    );
    expect(filtersOf(contract.androidApps.index)).toEqual([...app, "package_name"].toSorted());
    expect(filtersOf(contract.projects.index)).toEqual([]);
    expect(conditions.toSorted()).toEqual(
      "eq not_eq cont start in gt gteq lt lteq null present".split(" ").toSorted(),
    );
  });
});

/** HEAD works like GET, and PUT like PATCH on every endpoint. */
function nameOf(entry: Endpoint): string {
  const methods = listMethods(entry).filter((method) => method !== "HEAD");
  return [...methods, entry.path].join(" ");
}

function filtersOf(entry: Endpoint): readonly string[] {
  return Object.keys(entry.list?.filters ?? {}).toSorted();
}

function nameOurs(kind: string): readonly string[] {
  return ours.map(([name]) => name).filter((name) => name === `POST /${kind}s/:id/restore`);
}
