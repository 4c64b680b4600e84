import * as z from "zod";
import { pickLasting } from "../../../contract/condition.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { writeLocalTime } from "../../../contract/local-time.ts";
import { findKindNamed } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import { operatorPrint, type Change, type Effect } from "../../../state/history.ts";
import { showHidden } from "../../../text/show-hidden.ts";
import { writeWords } from "../../../text/write-label.ts";
import type { KeyContext } from "../../access/key-context.ts";
import type { ApprovalRequest, Question } from "../../approval/question.ts";
import { writeValue } from "../../approval/question-text.ts";

/** Formats a change for an assistant, without the parts that the key is not allowed to read. */

export const changeSchema = z.looseObject({ id: z.string(), fields: z.looseObject({}) });
export const otherChangeSchema = z.looseObject({ id: z.unknown(), fields: z.unknown() });

type ChangedFields = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
type ReadRights = Pick<KeyContext, "access" | "key_print">;

const mostCharacters = 200;
const mostName = 60;
/** The maximum number of side effects to show. Deleting an app may detach many links. */
const mostOthers = 20;

export function showChange(change: Change, readable: ReadRights): JsonObject {
  const { id, at, tool, client, target_id, kind, name, note, undoes, undone_by } = change;
  const readableEffects = listReadable(change, readable);
  const others = readableEffects.filter((effect) => !isOfTarget(effect, change));
  const also = others
    .slice(0, mostOthers)
    .map((effect) => ({ kind: effect.kind, id: effect.id, fields: listFields(effect) }));
  const most = kind === "job" ? mostCharacters : mostName;
  const isNamed = name !== null && mayReadKind(kind, readable);
  return {
    id,
    at: new Date(at).toISOString(),
    tool,
    ...(client !== null && { client: shorten(client, mostName) }),
    ...(change.key_print !== readable.key_print && { by: nameWriter(change) }),
    target: { kind, id: target_id, ...(isNamed && { name: shorten(name, most) }) },
    fields: showFields(change, readable),
    ...(also.length > 0 && { also }),
    ...(change.state === "begun" && { end: "unknown" }),
    ...(note !== null && { note }),
    ...(undoes !== null && { undoes }),
    ...(undone_by !== null && { undone_by }),
  };
}

function nameWriter({ key_print }: Change): string {
  return key_print === operatorPrint ? "the operator, in the CLI" : "another key";
}

/**
 * Returns the target's changed fields, with their values before the first step and after the last.
 */
export function showFields(change: Change, readable: ReadRights): ChangedFields {
  const own = listReadable(change, readable).filter((effect) => isOfTarget(effect, change));
  const fields: Record<string, ChangedFields[string]> = {};
  for (const [name, { from, to }] of own.flatMap((effect) => Object.entries(listFields(effect)))) {
    fields[name] = { from: fields[name] === undefined ? from : fields[name].from, to };
  }
  return fields;
}

function listReadable({ effects }: Change, readable: ReadRights): readonly Effect[] {
  return effects.filter(({ kind }) => mayReadKind(kind, readable));
}

function isOfTarget({ kind, id }: Effect, change: Change): boolean {
  return kind === change.kind && id === change.target_id;
}

function listFields({ before, after }: Effect): ChangedFields {
  const names = Object.keys({ ...before, ...after }).filter((name) => name !== "id");
  const members = names.map((name) => {
    const from = before?.[name] ?? null;
    const to = after?.[name] ?? null;
    return [name, { from: shortenIn(from), to: shortenIn(to) }] as const;
  });
  // Omits empty fields of a created or deleted record.
  const isWhole = !before || after === null;
  return Object.fromEntries(
    members.filter(([, { from, to }]) => !isWhole || !isUnset(from) || !isUnset(to)),
  );
}

function isUnset(value: unknown): boolean {
  return isBlank(value) || value === false || (Array.isArray(value) && value.length === 0);
}

function mayReadKind(name: string, { access }: ReadRights): boolean {
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

const lately_ms = 60 * 60_000;
const mostRecentFields = 5;

/** Adds the target's last change to the question, because the user may not know about it. */
export async function addRecent(
  request: ApprovalRequest,
  keyContext: KeyContext,
): Promise<ApprovalRequest> {
  const { target, question } = request;
  if (target === "") return request;
  const history = await keyContext.openHistory();
  const change = await history.findRecent(keyContext.realm, target, lately_ms);
  const recent = change && describeRecent(change, keyContext);
  return recent === undefined ? request : { ...request, question: { ...question, recent } };
}

function describeRecent(change: Change, keyContext: KeyContext): Question["recent"] {
  const { at, kind, state, effects } = change;
  // Only an update has earlier values to show, and only a finished change is sure to have taken
  // effect.
  const isUpdate = effects.every(({ before, after }) => before && after);
  const fields = Object.entries(showFields(change, keyContext)).slice(0, mostRecentFields);
  if (!isUpdate || state !== "done" || fields.length === 0) return undefined;
  const values = fields.map(([name, { from }]) => describeValue(writeWords(name), from));
  const was = fields.every(([, { from }]) => isBlank(from)) ? "empty" : values.join(", ");
  const isOwn = change.key_print === keyContext.key_print;
  // The console saves a first draft itself before it asks for approval to publish. The user needs
  // no warning about that change.
  if (isOwn && kind === "page_template" && was === "empty") return undefined;
  const by = isOwn ? "this key" : nameWriter(change);
  return { at, time: writeLocalTime(at, keyContext.timeZone), by, was };
}

function describeValue(name: string, value: unknown): string {
  // The body and CSS of a page template are too long for a sentence.
  const isVersion = typeof value === "object" && !isBlank(value) && !Array.isArray(value);
  return isVersion ? `another ${name} version` : `${name} ${writeValue(value)}`;
}
