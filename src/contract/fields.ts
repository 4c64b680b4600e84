import * as z from "zod";
import { limits } from "./limits.ts";

/** Schemas that several resources share. Rules about content are in `rules/`. */

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The form of ids on remote servers. Any other text must be a name. */
export const anyIdPattern = /^[\w:.-]+$/;

/** An id for a lookup. A text that is not a UUID becomes empty, which matches no row. */
export function readId(text: string): string {
  return uuidPattern.test(text) ? text.toLowerCase() : "";
}

/** Lowercases UUIDs only, because other kinds of ids may be case-sensitive. */
export function normalizeId(id: string): string {
  return uuidPattern.test(id) ? id.toLowerCase() : id;
}

/** The id of a resource from any server. Overlong ids are rejected. */
export const storedId = z.string().refine(isUsableId);

function isUsableId(id: string): boolean {
  return id.trim() !== "" && id.length <= limits.id_characters;
}

export const byId = z.object({ id: z.string().describe("UUID") });

/** A text field of a request: omitting it keeps the stored value, and null clears it. */
export function text(description: string) {
  return z.string().nullish().describe(description);
}

export function flag(description: string) {
  return z.boolean().nullish().describe(description);
}

/** A text field of a response: null if nothing was set. */
export const storedText = z.string().nullable();

export const meta = z.looseObject({
  page: z.int(),
  limit: z.int(),
  count: z.int(),
  last: z.int(),
  from: z.int(),
  to: z.int(),
  // Omitted on the first and last page. Null is accepted too, since remote servers may send it.
  previous: z.int().nullish(),
  next: z.int().nullish(),
});
export type Meta = z.output<typeof meta>;
/** `meta` as a remote server may send it. */
export type ReceivedMeta = { readonly [Member in keyof Meta]?: Meta[Member] | null | undefined };
