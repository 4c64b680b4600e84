import { limits } from "../limits.ts";
import type { LinkFields } from "../links.ts";
import { proLinkFields } from "../rights.ts";
import { makeFieldProblem, type CheckedValues, type FieldProblem } from "../problem.ts";
import { humanize, isBlank, isStorable } from "../text.ts";
import { findPathFault, normalizePath } from "./link-path.ts";
import { findAddressFault } from "./store-address.ts";

/**
 * The validation rules for link fields. The service applies them to each write, and the planning of
 * a bulk change applies them in advance.
 */

export const addressFields = [
  "url",
  "social_image_url",
  "ios_fallback_url",
  "android_fallback_url",
] as const;
export const textFields = [
  "name",
  "social_title",
  "social_description",
  "referrer",
  "provider_token",
  "campaign_token",
] as const;
/** The App Store counts a campaign only if both tokens are present, so they change together. */
export const storeTokens: readonly string[] = ["provider_token", "campaign_token"];

export function isStoreToken(field: string): boolean {
  return storeTokens.includes(field);
}

const flagFields = ["enable_forced_redirect", "ios_deferred_deep_linking_enabled"] as const;

/** The scalar values of a link, normalized for storage. */
export type LinkValues = { readonly path: string } & {
  readonly [Field in (typeof textFields | typeof addressFields)[number]]: string | null;
} & { readonly [Field in (typeof flagFields)[number]]: boolean };

type WriteKind = "create" | "update";

/**
 * Validates and normalizes the given fields and collects every error. The result contains only the
 * given fields. On creation, a blank path is left out.
 */
export function checkLink(
  fields: LinkFields,
  write: WriteKind,
): CheckedValues<Partial<LinkValues>> {
  const values: { -readonly [Field in keyof LinkValues]?: LinkValues[Field] } = {};
  const problems: FieldProblem[] = [];
  for (const field of [...textFields, ...addressFields]) {
    const value = fields[field] === "" ? null : fields[field];
    if (value === undefined) continue;
    const fault = value === null ? undefined : findFault(field, value);
    if (fault !== undefined) problems.push(makeFieldProblem(field, fault));
    values[field] = value;
  }
  for (const field of flagFields) {
    if (fields[field] !== undefined) values[field] = fields[field] ?? false;
  }
  const path = checkPath(fields.path, write);
  if (path.fault !== undefined) problems.push(makeFieldProblem("path", path.fault));
  if (path.value !== undefined) values.path = path.value;
  problems.push(...checkStoreTokens(fields), ...checkAppChoices(fields));
  return { values, problems };
}

/** The Pro-only fields that a request sets. Clearing a field does not count. */
export function findProFields(fields: LinkFields, write: WriteKind): readonly string[] {
  const proFields: string[] = proLinkFields.filter(
    (field) => ![undefined, null, false, ""].includes(fields[field]),
  );
  if (write === "create" && fields.options?.shorten === true) proFields.push("options.shorten");
  return proFields;
}

function checkPath(
  path: string | null | undefined,
  write: WriteKind,
): { readonly value?: string; readonly fault?: string } {
  if (path === undefined) return {};
  // A blank path or "/" counts as no path. A new link gets a generated path instead.
  const normal = path === null ? "" : normalizePath(path);
  if (normal === undefined) return { fault: "has invalid percent-encoding" };
  if (isBlank(normal)) return write === "create" ? {} : { fault: "can't be blank" };
  const fault = findPathFault(normal);
  return fault === undefined ? { value: normal } : { fault };
}

/** If a request sends one store token, it must also send the other. */
function checkStoreTokens(fields: LinkFields): FieldProblem[] {
  const { provider_token, campaign_token } = fields;
  const isProviderSent = provider_token !== undefined;
  const isCampaignSent = campaign_token !== undefined;
  if (!isProviderSent && !isCampaignSent) return [];
  const isEven = isBlank(provider_token) === isBlank(campaign_token);
  if (isProviderSent && isCampaignSent && isEven) return [];
  const isProviderAlone = !isCampaignSent || (isProviderSent && isBlank(campaign_token));
  const alone = isProviderAlone ? "provider_token" : "campaign_token";
  const other = alone === "provider_token" ? "campaign_token" : "provider_token";
  return [makeFieldProblem(alone, `must be sent together with ${humanize(other).toLowerCase()}`)];
}

/** A link must identify an app by exactly one of its two identifiers. */
function checkAppChoices({ ios_app, android_app }: LinkFields): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (ios_app && isBlank(ios_app.id) === isBlank(ios_app.bundle_id)) {
    problems.push(makeFieldProblem("ios_app", "needs exactly one of id or bundle_id"));
  }
  if (android_app && isBlank(android_app.id) === isBlank(android_app.package_name)) {
    problems.push(makeFieldProblem("android_app", "needs exactly one of id or package_name"));
  }
  return problems;
}

function findFault(field: string, value: string): string | undefined {
  if (addressFields.some((name) => name === field)) return findAddressFault(field, value);
  if (!isStorable(value)) return "contains characters that can't be stored";
  if (field === "name" && value.length > limits.name_characters) {
    return `is too long (maximum is ${limits.name_characters} characters)`;
  }
  return undefined;
}
