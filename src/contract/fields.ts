import * as z from "zod";
import { limits } from "./limits.ts";

/** Schemas that several resources share. Rules of content live in the `*-rules.ts` files. */

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What another deployment may have for an id; any other text is only a name. */
export const anyIdPattern = /^[\w:.-]+$/;

/** An id as it is looked up; a text that is no UUID becomes empty, which no row has. */
export function readId(text: string): string {
  return uuidPattern.test(text) ? text.toLowerCase() : "";
}

/** An id in its one form: UUIDs are the same in upper case, ids of other kinds may not be. */
export function normalizeId(id: string): string {
  return uuidPattern.test(id) ? id.toLowerCase() : id;
}

/** The id of a resource as a deployment answers it. One that is endless is nobody's. */
export const storedId = z.string().refine(isUsableId);

function isUsableId(id: string): boolean {
  return id.trim() !== "" && id.length <= limits.id_characters;
}

export const byId = z.object({ id: z.string().describe("UUID") });

/** A request's text field: absent keeps what is there, null clears it. */
export function text(description: string) {
  return z.string().nullish().describe(description);
}

export function flag(description: string) {
  return z.boolean().nullish().describe(description);
}

/** A response's text field: null when nothing was ever set. */
export const storedText = z.string().nullable();

export const meta = z.looseObject({
  page: z.int(),
  limit: z.int(),
  count: z.int(),
  last: z.int(),
  from: z.int(),
  to: z.int(),
  // The spec leaves them out at the ends; a deployment that writes null there is understood.
  previous: z.int().nullish(),
  next: z.int().nullish(),
});
export type Meta = z.output<typeof meta>;
/** As a deployment elsewhere may show it, completed by what the page itself shows. */
export type ReadMeta = { readonly [Member in keyof Meta]?: Meta[Member] | null | undefined };
