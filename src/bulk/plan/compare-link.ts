import type { JsonObject } from "../../contract/json.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { normalizeId } from "../../contract/fields.ts";
import { isStoreToken, type LinkValues } from "../../contract/rules/link-rules.ts";
import { isBlank } from "../../contract/text.ts";
import { listAppChoices, type AppChoice, type KnownApps } from "./known-apps.ts";

/** What a row would change of a link, field by field. */

export type Wanted = {
  readonly fields: LinkFields;
  /** Of the plain fields, what would then be stored. */
  readonly values: Partial<LinkValues>;
};

/** What is not known of the link has an undefined `from`: it may be anything. */
export type Changes = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

export function compareLink(link: ReadLink, { fields, values }: Wanted, apps: KnownApps): Changes {
  const wanted = [...Object.entries(values), ...listAppChoices(fields, apps).flatMap(chooseApp)];
  const changed = wanted.flatMap(([field, to]) => {
    const from = link[field];
    const isSame = from === to || (isUnset(from) && isUnset(to));
    return isSame ? [] : [[field, { from, to }] as const];
  });
  return Object.fromEntries(changed);
}

function isUnset(value: unknown): boolean {
  return value === null || value === "" || value === false;
}

/** Of the fields of a row, those that change something; the store's tokens travel together. */
export function pickChanged(fields: LinkFields, changes: Changes): LinkFields {
  const hasToken = Object.keys(changes).some(isStoreToken);
  const picked = Object.entries(fields).filter(
    ([field]) => field in changes || `${field}_id` in changes || (hasToken && isStoreToken(field)),
  );
  return Object.fromEntries(picked);
}

/**
 * Which fields of a link are not what they were; visits come by themselves. A field that is not
 * shown any more may have any value.
 */
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

/** An app that is not registered yet is made with the link, and has no id until then. */
function chooseApp(app: AppChoice): readonly (readonly [string, unknown])[] {
  const { field, choice, name, known } = app;
  if (choice === undefined) return [];
  if (choice === null) return [[field, null]];
  const id = isBlank(choice.id) ? known?.idsByName.get(name ?? "") : normalizeId(choice.id ?? "");
  return [[field, id ?? `the app ${name}`]];
}
