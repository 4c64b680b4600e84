import type { Role } from "./scopes-and-roles.ts";

/**
 * Every sentence that the API says, once. A client tells the causes of a 401 apart by these
 * texts, so the service and the client read them from the same place.
 */
export const messages = {
  key_missing: "API key is missing. Send it in the header Authorization: Token <API_KEY>.",
  key_invalid: "API key is invalid.",
  key_malformed: "API key is invalid: the header must read Authorization: Token <API_KEY>.",
  key_ambiguous: "API key is invalid: the request carries different keys. Send one.",
  client_key_here:
    "API key is invalid here: a client key is for an app's SDK, which asks only " +
    "/links/attribute and /fingerprints/match.",
  client_key_missing:
    "Client API key is missing. Send it in the header Authorization: Bearer <CLIENT_KEY>.",
  client_key_malformed:
    "Client API key is invalid: the header must read Authorization: Bearer <CLIENT_KEY>.",
  client_key_needed:
    "Client API key is invalid. An app's SDK shows a client key: waypost keys create --client.",
  account_suspended: "Account is suspended.",
  master_required: "API key is invalid here: projects need a master API key.",
  project_key_required: "API key is invalid here: a master API key reaches only projects.",
  scope_missing: (scope: string) => `API key lacks the scope ${scope}.`,
  role_required: (role: Role) => `The key's owner needs the ${roleNames[role]} role for this.`,
  plan_required: "This needs the Pro plan.",
  pro_fields: (fields: string) => `The Pro plan is needed for ${fields}.`,
  link_limit: (limit: number) => `The Free plan allows ${limit} links; this project has them all.`,
  rate_limited: "Rate limit exceeded. Too many requests.",
  changed_since: "It changed after it was read. Read it again.",
  took_too_long: "Request took too long. Try again.",
  not_begun: "Request took too long, and nothing was written. Try again later.",
  store_away: "The database does not answer now. Try again in a moment.",
  store_held:
    "Writes are held now: the database is being copied, or another transaction has locked it. " +
    "Try again later.",
  store_locked:
    "Another transaction of the database has locked what is needed; nothing was written. Try " +
    "again later.",
  internal: (reference: string) => `Something went wrong on our side (reference ${reference}).`,
  outcome_unknown: "It is not known whether this was written; look before you repeat it.",
  store_went_away:
    "The database stopped answering, and it is not known how much of this was done; look before " +
    "you repeat it.",
  store_full: "The disk of the store is full; nothing was written.",
  route_unknown: "Not found: there is no such endpoint.",
  method_unknown: (known: string) => `Method not allowed: this path takes ${known}.`,
  body_too_large: "The request body is larger than 1 MiB.",
  keyless_too_large: "Without a secret key, a request body may have 64 KiB at most.",
  address_too_long: "The request address is too long.",
  content_type: "Content-Type must be application/json.",
  form_refused: (example: string) =>
    `Content-Type must be application/json, not a form: send a JSON object such as ${example}.`,
  body_invalid: "The request body is not valid JSON.",
  body_not_object: "The request body must be a JSON object.",
  parameter_missing: (name: string) => `Required parameter is missing: ${name}.`,
  parameter_repeated: (name: string) => `${name} must be given once.`,
  fields_ignored: (names: string) => `Ignored fields: ${names}.`,
  query_unknown: (names: string, known: string) =>
    `There is no parameter ${names} here: there ${known === "" ? "is none" : `are ${known}`}.`,
  filters_ignored: (names: string) => `Ignored filters: ${names}.`,
  not_positive: (name: string) => `${name} must be a positive whole number.`,
  too_many_filters: "Too many filters: at most 50 in one request.",
  filter_unknown: (filter: string, field: string, known: string) =>
    `There is no filter ${filter}: ${field} takes the conditions ${known}.`,
  own_filter_invalid: (filter: string, fault: string) =>
    `f[${filter}], which is Waypost's own, ${fault}.`,
  link_not_found: "Link not found",
  ios_app_not_found: "iOS app not found",
  android_app_not_found: "Android app not found",
  project_not_found: "Project not found",
  templates_off: "The project can't use page templates: they are not switched on for it.",
  template_not_found: "The project has no page template",
  template_version_not_found: "Page template or version not found",
  stats_id: "id must be the id of a link, or left out for all.",
  stats_date: (name: string, given: string, today: string) =>
    `${name} must be a date such as ${today}, which is today, or a time such as ` +
    `${today}T09:00; ${given} is neither.`,
  stats_order: (today: string) =>
    `from must be before to; both days are counted, and today is ${today}.`,
  stats_length: "from and to must be at most ten years apart.",
  stats_by: (given: string, known: string, nearest: string | undefined) => {
    const meant = nearest === undefined ? "" : `; did you mean ${nearest}`;
    return `by must be one of ${known}, not ${given}${meant}.`;
  },
  stats_steps: (by: string, most: number) =>
    `by ${by} takes a shorter time between from and to: that would be more than ${most} rows.`,
  stats_hours: (first: string) =>
    `by hour takes a time from ${first} on, with what compare adds: before that whole days of ` +
    "UTC are known. Use by day.",
  stats_compare: "compare must be true or false.",
  stats_rows: (most: number) => `rows must be a whole number from 1 to ${most}.`,
  ours_alone:
    "Waypost's own service has this, and the API's specification does not; it was not found here.",
  unexplained: (status: number) => `The deployment refused with status ${status} and no reason.`,
  not_offered: "The deployment may not offer this: the API's specification shows no path for it.",
} as const;

const roleNames: Readonly<Record<Role, string>> = {
  viewer: "Viewer",
  manager: "Manager or Owner",
  owner: "Owner",
};
