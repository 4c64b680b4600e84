import * as z from "zod";
import { limits } from "./limits.ts";

/** Schemas that several resources share. `rules/` checks the content of fields. */

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The format of IDs that remote servers assign. Other input is treated as a name. */
export const anyIdPattern = /^[\w:.-]+$/;

/** Lowercases a UUID. Returns an empty string for any other text, so that no row matches. */
export function readId(text: string): string {
  return uuidPattern.test(text) ? text.toLowerCase() : "";
}

/** Lowercases UUIDs. Other ids may be case-sensitive. */
export function normalizeId(id: string): string {
  return uuidPattern.test(id) ? id.toLowerCase() : id;
}

/** The id of a resource from any server. Blank and overlong ids are rejected. */
export const storedId = z.string().refine(isUsableId);

function isUsableId(id: string): boolean {
  return id.trim() !== "" && id.length <= limits.id_characters;
}

export const byId = z.object({ id: z.string().describe("UUID") });

/** A string field of a request: omitting it keeps the stored value, and null clears it. */
export function text(description: string) {
  return z.string().nullish().describe(description);
}

export function flag(description: string) {
  return z.boolean().nullish().describe(description);
}

/** A string field of a response; null if no value is set. */
export const storedText = z.string().nullable();

export const meta = z.looseObject({
  page: z.int(),
  limit: z.int(),
  count: z.int(),
  last: z.int(),
  from: z.int(),
  to: z.int(),
  // `previous` and `next` are omitted if no such page exists. Remote servers may send null instead.
  previous: z.int().nullish(),
  next: z.int().nullish(),
});
export type Meta = z.output<typeof meta>;
/** `meta` as a remote server may send it. */
export type ReceivedMeta = { readonly [Member in keyof Meta]?: Meta[Member] | null | undefined };

/** Builds the `meta` object of a list: page, page size, total, and neighboring pages. */
export function describePage(
  { page, limit }: { readonly page: number; readonly limit: number },
  count: number,
): Meta {
  const last = Math.max(1, Math.ceil(count / limit));
  const isPast = page > last;
  const isEmpty = isPast || count === 0;
  return {
    page,
    limit,
    count,
    last,
    from: isEmpty ? 0 : (page - 1) * limit + 1,
    to: isEmpty ? 0 : Math.min(page * limit, count),
    ...(page > 1 && { previous: isPast ? last : page - 1 }),
    ...(page < last && { next: page + 1 }),
  };
}

/** Other link services' names for our fields, for suggestions such as "did you mean url?". */
export const fieldMeanings: Readonly<Record<string, readonly string[]>> = {
  title: ["name"],
  label: ["name"],
  slug: ["path"],
  alias: ["path"],
  link: ["url"],
  href: ["url"],
  target: ["url"],
  destination: ["url"],
  host: ["subdomain", "custom_domain"],
  html: ["body"],
  content: ["body"],
  style: ["css"],
  styles: ["css"],
};

/** Removes the "optional" and "nullable" wrappers from a field's schema. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped ? unwrap(schema.unwrap()) : schema;
}
