import type { Fields } from "../support/remote.ts";

/** A remote server without the endpoints, filters and fields that only Waypost has. */

const api = "/api/v1";
const id = "/[^/]+";
const apps = "/(?:ios|android)_apps";

/** Restoring a version and previews have no path in the specification. */
const endpoints: readonly RegExp[] = [
  `(?:GET|POST) /links`,
  `POST /links/upsert`,
  `(?:GET|PATCH|PUT|DELETE) /links${id}`,
  `POST /short_links(?:/resolve)?`,
  `(?:GET|POST) ${apps}`,
  `(?:GET|PATCH|PUT|DELETE) ${apps}${id}`,
  `(?:GET|POST) /projects`,
  `(?:GET|PATCH|DELETE) /projects${id}`,
  `PATCH /page_template`,
  `POST /page_template/(?:un)?publish`,
  `GET /page_template/versions(?:${id})?`,
].map((line) => new RegExp(`^${line.replace(" ", ` ${api}`)}$`));

const headers = ["authorization", "content-type", "retry-after"];
const parameters = /^(?:page|limit|api_key|q\[.*)$/;
const statuses = new Set([200, 201, 204, 400, 401, 404, 422, 429, 503]);

type Fetch = (request: Request) => Promise<Response>;
type Change = (record: Fields) => Fields;

/**
 * Hides what only Waypost has from the service and from its clients, and changes records. Statuses
 * that are not specified are added to `faults`, because a client would hide an error from here.
 */
export function answerAsSpecified(
  fetch: Fetch,
  faults: string[],
  change: Change = (record) => record,
): Fetch {
  return async (request) => {
    const { method, url } = request;
    const { pathname, searchParams } = new URL(url);
    const isNamed = endpoints.some((line) => line.test(`${method} ${pathname}`));
    if (!isNamed) return Response.json({ error: "Not found" }, { status: 404 });
    const known = [...searchParams].filter(([name]) => parameters.test(name));
    const target = new URL(`${pathname}?${new URLSearchParams(known).toString()}`, url);
    const body = await request.text();
    const sent = { method, headers: pickHeaders(request), ...(body !== "" && { body }) };
    const response = await fetch(new Request(target, sent));
    const { status } = response;
    if (!statuses.has(status)) faults.push(`${method} ${pathname}: ${status}`);
    const text = await response.text();
    const kind = pathname.split("/")[3] ?? "";
    const reply = text === "" ? null : specify(kind, JSON.parse(text) as Fields, change);
    return new Response(reply && JSON.stringify(reply), { status, headers: pickHeaders(response) });
  };
}

function pickHeaders(message: Request | Response): Record<string, string> {
  return pick(Object.fromEntries(message.headers), headers);
}

const names = (text: string) => text.split(" ");
const link = names(
  "id name path url social_description social_image_url social_title shortened_path " +
    "android_fallback_url ios_fallback_url referrer provider_token campaign_token android_app_id " +
    "ios_app_id enable_forced_redirect ios_deferred_deep_linking_enabled clicks",
);
const version = names("id published_at live body css");
const metaFields = names("page limit count last from to previous next");
const resources: Readonly<Record<string, readonly string[]>> = {
  links: link,
  short_links: link,
  ios_apps: names("id name bundle_id team_id app_store_id clip_bundle_id custom_scheme"),
  android_apps: names("id name package_name fingerprints custom_scheme"),
  projects: names("id name subdomain custom_domain custom_domain_verified links_count"),
  page_template: names("id body css unpublished_changes live_version created_at updated_at"),
};

function specify(kind: string, body: Fields, change: Change): Fields {
  if ("error" in body || "errors" in body) return pick(body, ["error", "errors"]);
  const fields = resources[kind] ?? [];
  const { [kind]: rows, versions, live_version: live } = body;
  if (isList(rows)) {
    const meta = pick(body["meta"] as Fields, metaFields);
    return { [kind]: rows.map((row) => change(pick(row, fields))), meta };
  }
  if (isList(versions)) return { versions: versions.map((row) => change(pick(row, version))) };
  if (kind !== "page_template") return change(pick(body, fields));
  if (!("unpublished_changes" in body)) return change(pick(body, version));
  const shown = live && change(pick(live as Fields, version));
  return change({ ...pick(body, fields), live_version: shown ?? null });
}

function isList(value: unknown): value is readonly Fields[] {
  return Array.isArray(value);
}

function pick<Value>(
  record: Readonly<Record<string, Value>>,
  wanted: readonly string[],
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => wanted.includes(name)));
}
