import type { JsonObject } from "../../contract/json.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { isStoreToken } from "../../contract/rules/link-rules.ts";
import type { SettledFields } from "./settle-apps.ts";

/** What a row would change of a link, field by field. */

/**
 * The fields of the link that would change; a field whose current value is unknown counts as
 * changed.
 */
export function listChanged(
  link: ReadLink,
  {
    fields: { ios_app: _ios, android_app: _android, options: _options, ...plain },
    appIds,
  }: SettledFields,
): readonly string[] {
  const changed = Object.entries({ ...plain, ...appIds }).filter(([field, to]) => {
    const from = link[field];
    return to !== undefined && from !== to && !(isUnset(from) && isUnset(to));
  });
  return changed.map(([field]) => field);
}

function isUnset(value: unknown): boolean {
  return value === null || value === "" || value === false;
}

/** The fields of a row that change something; the store's tokens are sent together. */
export function pickChanged(fields: LinkFields, changed: readonly string[]): LinkFields {
  const hasToken = changed.some(isStoreToken);
  const picked = Object.entries(fields).filter(
    ([field]) =>
      changed.includes(field) ||
      changed.includes(`${field}_id`) ||
      (hasToken && isStoreToken(field)),
  );
  return Object.fromEntries(picked);
}

/** The fields of a link that changed, without its clicks; a hidden field may have any value. */
export function listEdits(before: JsonObject, now: ReadLink): readonly string[] {
  return linkFields.filter((field) =>
    now[field] === undefined ? before[field] !== undefined : (before[field] ?? null) !== now[field],
  );
}

/** The fields of a link that a server does not show. */
export function listUnknown(link: ReadLink): readonly string[] {
  return linkFields.filter((field) => link[field] === undefined);
}

const linkFields = Object.keys(links.show.response.shape).filter((field) => field !== "clicks");
