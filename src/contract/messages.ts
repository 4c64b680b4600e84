import type { Role } from "./rights.ts";

/** Every error message of the API. `readCause` finds the cause of a 401 in its message. */
export const messages = {
  no_second_project: (origin: string) =>
    `All links of this server open at ${origin}, so it can have only one project. For more ` +
    "projects, its operator sets WAYPOST_LINK_ORIGIN to an origin with {subdomain}.",
  key_missing: "API key is missing. Send it in the header Authorization: Token <API_KEY>.",
  key_invalid: "API key is invalid.",
  key_malformed: "API key is invalid: the header must read Authorization: Token <API_KEY>.",
  key_ambiguous: "API key is invalid: the request contains different keys. Send only one.",
  client_key_here:
    "API key is invalid: a client key works only for /links/attribute and /fingerprints/match. " +
    "Use one of the project's API keys.",
  client_key_missing:
    "Client API key is missing. Send it in the header Authorization: Bearer <CLIENT_KEY>.",
  client_key_malformed:
    "Client API key is invalid: the header must read Authorization: Bearer <CLIENT_KEY>.",
  client_key_needed: "Client API key is invalid. Create one with waypost keys create --client.",
  account_suspended: "Account is suspended.",
  master_required: "Managing projects needs a master key.",
  project_key_required:
    "This is a master key, which can only manage projects. Use one of the project's keys.",
  scope_missing: (scope: string) => `API key lacks the scope ${scope}.`,
  role_required: (role: Role) => `The key's owner needs the ${roleNames[role]} role for this.`,
  plan_required: "This needs the Pro plan.",
  pro_fields: (fields: string) => `The Pro plan is needed for ${fields}.`,
  link_limit: (limit: number) =>
    `The Free plan allows ${limit} ${limit === 1 ? "link" : "links"}, ` +
    "and the project has reached this limit.",
  rate_limited: "Rate limit exceeded. Too many requests.",
  changed_since: "The record changed after it was read. Read it again.",
  already_exists:
    "The link already exists, so nothing was created. Read it, or omit If-None-Match.",
  took_too_long: "Request took too long. Try again.",
  not_begun: "Request took too long, and nothing was written. Try again later.",
  store_away: "The database is not responding. Try again in a moment.",
  store_locked:
    "Another database transaction has locked the data, so nothing was written. Try again later.",
  internal: (reference: string) => `Something went wrong on the server (reference ${reference}).`,
  outcome_unknown: "It is unknown whether this was written. Check before you try again.",
  store_went_away:
    "The database stopped responding, and it is unknown how much of this was done. Check " +
    "before you try again.",
  store_full: "The database's disk is full, so nothing was written.",
  route_unknown: "Not found: this endpoint does not exist.",
  method_unknown: (known: string) => `Method not allowed: this path supports only ${known}.`,
  body_too_large: "The request body is larger than 1 MiB.",
  keyless_too_large: "Without a secret key, a request body can be at most 64 KiB.",
  address_too_long: "The request address is too long.",
  content_type: "Content-Type must be application/json.",
  form_refused: (example: string) =>
    `Content-Type must be application/json, not a form: send a JSON object such as ${example}.`,
  body_invalid: "The request body is not valid JSON.",
  body_not_object: "The request body must be a JSON object.",
  parameter_missing: (name: string) => `Required parameter is missing: ${name}.`,
  parameter_repeated: (name: string) => `${name} must be given only once.`,
  fields_ignored: (names: string) => `Ignored fields: ${names}.`,
  query_unknown: (names: string, known: string) =>
    `Unknown parameter: ${names}. This endpoint takes ${known === "" ? "none" : known}.`,
  filters_ignored: (names: string) => `Ignored filters: ${names}.`,
  not_positive: (name: string) => `${name} must be a positive whole number.`,
  too_many_filters: "Too many filters: at most 50 in one request.",
  filter_unknown: (filter: string, field: string, known: string) =>
    `Unknown filter: ${filter}. ${field} takes the conditions ${known}.`,
  own_filter_invalid: (filter: string, fault: string) => `The filter f[${filter}] ${fault}.`,
  link_not_found: "Link not found",
  ios_app_not_found: "iOS app not found",
  android_app_not_found: "Android app not found",
  project_not_found: "Project not found",
  templates_off: "The project can't use page templates: they are turned off for it.",
  template_not_found: "The project has no page template",
  template_version_not_found: "Page template or version not found",
  stats_id: "id must be the id of a link. Omit it for all links.",
  stats_date: (name: string, given: string, today: string) =>
    `${name} must be a date such as ${today} (today) or a time such as ${today}T09:00, ` +
    `not ${given}.`,
  stats_order: (today: string) =>
    `from must be before to. Both days are included, and today is ${today}.`,
  stats_length: "from and to must be at most ten years apart.",
  stats_by: (given: string, known: string, nearest: string | undefined) => {
    const suggestion = nearest === undefined ? "." : `; did you mean ${nearest}?`;
    return `by must be one of ${known}, not ${given}${suggestion}`;
  },
  stats_steps: (by: string, most: number) =>
    `by ${by} would return more than ${most} rows. Choose a shorter period.`,
  stats_compare: "compare must be true or false.",
  stats_rows: (most: number) => `rows must be a whole number from 1 to ${most}.`,
  ours_alone: "Only Waypost servers have this endpoint, and this server does not have it.",
  unexplained: (status: number) =>
    `The server rejected the request with status ${status} and gave no reason.`,
  not_offered:
    "This server may not support this request: the API's specification defines no path for it.",
} as const;

const roleNames: Readonly<Record<Role, string>> = {
  viewer: "Viewer",
  manager: "Manager or Owner",
  owner: "Owner",
};
