import * as z from "zod";
import { pickLasting } from "../../../contract/condition.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKindNamed } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import { operatorPrint, type Change, type Effect } from "../../../state/history.ts";
import { showHidden } from "../../../text/show-hidden.ts";
import type { KeyContext } from "../../access/key-context.ts";

/** A change as an assistant reads it, without what the key may not read. */

export const changeSchema = z.looseObject({ id: z.string(), fields: z.looseObject({}) });
/** A change where it is not one of a list: list_changes tells its members. */
export const otherChangeSchema = z.looseObject({ id: z.unknown(), fields: z.unknown() });

export type Fields = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

type Readable = Pick<KeyContext, "access" | "key_print">;

const mostCharacters = 200;
const mostName = 60;
/** An app's deletion detaches many links. */
const mostOthers = 20;

export function showChange(change: Change, readable: Readable): JsonObject {
  const { id, at, tool, client, target_id, kind, name, note, undoes, undone_by } = change;
  const mayRead = mayReadKind(kind, readable);
  const others = listOthers(change, readable);
  return {
    id,
    at: new Date(at).toISOString(),
    tool,
    ...(client !== null && { client: shorten(client, mostName) }),
    ...(change.key_print !== readable.key_print && { by: nameWriter(change) }),
    target: {
      kind,
      id: target_id,
      ...(mayRead &&
        name !== null && { name: shorten(name, kind === "job" ? mostCharacters : mostName) }),
    },
    fields: showFields(change, readable),
    ...(others.length > 0 && { also: others }),
    ...(change.state === "begun" && { end: "unknown" }),
    ...(note !== null && { note }),
    ...(undoes !== null && { undoes }),
    ...(undone_by !== null && { undone_by }),
  };
}

/** Who wrote what another key than the reader's did. */
export function nameWriter({ key_print }: Change): string {
  return key_print === operatorPrint ? "the operator, in the CLI" : "another key";
}

/** What changed of the target itself. */
export function showFields({ kind, target_id, effects }: Change, readable: Readable): Fields {
  if (!mayReadKind(kind, readable)) return {};
  const own = effects.filter((effect) => effect.kind === kind && effect.id === target_id);
  // Of several steps the first one tells what was there before, and the last one what is now.
  const members = own.flatMap((effect) => Object.entries(listFields(effect)));
  const fields: Record<string, Fields[string]> = {};
  for (const [name, { from, to }] of members) {
    fields[name] = { from: fields[name] === undefined ? from : fields[name].from, to };
  }
  return fields;
}

/** What else changed with it, each by its kind and id. */
function listOthers(change: Change, readable: Readable): readonly JsonObject[] {
  const others = change.effects.filter(
    ({ kind, id }) =>
      (kind !== change.kind || id !== change.target_id) && mayReadKind(kind, readable),
  );
  return others
    .slice(0, mostOthers)
    .map((effect) => ({ kind: effect.kind, id: effect.id, fields: listFields(effect) }));
}

function listFields({ before, after }: Effect): Fields {
  const names = Object.keys({ ...before, ...after }).filter((name) => name !== "id");
  const members = names.map((name) => {
    const from = before?.[name] ?? null;
    const to = after?.[name] ?? null;
    return [name, { from: shortenIn(from), to: shortenIn(to) }] as const;
  });
  // Of what was made or deleted, only what was filled in tells something.
  const isWhole = (before ?? null) === null || after === null;
  return Object.fromEntries(
    members.filter(([, { from, to }]) => !isWhole || !isUnset(from) || !isUnset(to)),
  );
}

function isUnset(value: unknown): boolean {
  return isBlank(value) || value === false || (Array.isArray(value) && value.length === 0);
}

function mayReadKind(name: string, { access }: Readable): boolean {
  const kind = findKindNamed(name);
  return kind === undefined || access.read(kind.show).state !== "denied";
}

function shortenIn(value: unknown): unknown {
  if (typeof value === "string") return shorten(value, mostCharacters);
  if (Array.isArray(value)) return value.map(shortenIn);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(pickLasting(value as JsonObject));
  return Object.fromEntries(members.map(([name, member]) => [name, shortenIn(member)]));
}

function shorten(text: string, most: number): string {
  const shown = showHidden(text);
  return shown.length > most ? `${shown.slice(0, most).toWellFormed()}…` : shown;
}
