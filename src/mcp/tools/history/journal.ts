import type * as z from "zod";
import { isLasting, type WriteCondition } from "../../../contract/condition.ts";
import { pickFields, type Endpoint, listUnreadRows } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import { messages } from "../../../contract/messages.ts";
import type { WrittenTemplate } from "../../../contract/page-template.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { isOwnLinkAddress } from "../../../contract/rules/link-address.ts";
import { isSame } from "../../../contract/rules/writable-fields.ts";
import { isBlank, isStorable } from "../../../contract/text.ts";
import type { Change, Effect, ChangeEnd, ChangeTarget } from "../../../state/history.ts";
import { isFull, readOutage } from "../../../state/state.ts";
import {
  describeFault,
  isRefused,
  readIfAllowed,
  refuseForNow,
  refuseUnnoted,
  ToolFailure,
} from "../../results/tool-failure.ts";
import type { NewApp } from "../apps.ts";
import { appFilters } from "../endpoints/act.ts";
import type { TargetRecord } from "../targets.ts";
import type { ToolCall } from "../tool.ts";
import { showFields } from "./show-change.ts";

/** Records the changes that tools make in the history, so that they can be undone. */

const { links, shortLinks } = contract;

/** The page template's ID in the history. Template versions have IDs of their own. */
export const templateId = "page_template";

/** A change to record. `effects` are its side effects on other records. */
type NewChange = ChangeTarget & {
  readonly effects: readonly Effect[];
  readonly note?: string | undefined;
  readonly undoes?: string;
};

export type JournalStep = {
  /** The effect that is recorded until the response arrives. */
  readonly intended: Effect;
  readonly send: () => Promise<unknown>;
  readonly describe: (body: unknown) => Promise<StepOutcome>;
};

/** The actual effects of a request, and other changes to the history entry. */
type StepOutcome = Partial<Omit<ChangeEnd, "state">> & Pick<ChangeEnd, "effects">;

type JournaledChange = { readonly change: Change; readonly bodies: readonly unknown[] };

type JournalCall = Pick<ToolCall, "callApi" | "keyContext" | "tool" | "writer" | "report">;

/**
 * Records a change in the history before and after each request. If the process crashes in between,
 * the entry stays marked as begun, so that the history misses no change.
 */
export async function journal(
  { effects, ...begun }: NewChange,
  steps: readonly JournalStep[],
  { keyContext, tool, writer, report }: JournalCall,
): Promise<JournaledChange> {
  const explain = (error: unknown) => {
    const outage = readOutage(error);
    if (outage !== undefined) throw refuseForNow(tool, outage);
    const message = isFull(error) ? messages.store_full : describeFault(report(error));
    throw refuseUnnoted(tool, message);
  };
  const history = await keyContext.openHistory().catch(explain);
  const first = [...effects, ...steps.slice(0, 1).map(({ intended }) => intended)];
  const change = await history.begin({ ...writer, ...begun, tool, effects: first }).catch(explain);
  const isUndo = begun.undoes !== undefined;
  const bodies: unknown[] = [];
  const done = [...effects];
  let outcome: Omit<StepOutcome, "effects"> = {};
  for (const [index, step] of steps.entries()) {
    if (index > 0) await history.note(change, { effects: [...done, step.intended] });
    const body = await step.send().catch(async (error: unknown) => {
      // This request changed nothing, but earlier requests may have.
      if (isRefused(error)) {
        const recorded =
          index === 0 ? history.drop(change) : history.note(change, { effects: done });
        await recorded.catch(report);
      }
      throw error;
    });
    bodies.push(body);
    try {
      const { effects: own, ...rest } = await step.describe(body);
      done.push(...own);
      outcome = rest;
    } catch (error) {
      if (index < steps.length - 1 || isUndo) throw error;
      // All requests succeeded, and the history keeps the intended effect of the last one.
      report(error);
      return { change, bodies };
    }
  }
  const ended = { ...change, ...outcome, effects: done, state: "done" } as const;
  const noting = history.note(change, ended);
  // If an undo cannot be recorded, it fails, because it could otherwise be repeated.
  await (isUndo ? noting : noting.catch(report));
  return { change: ended, bodies };
}

/** The target of a write, and what is known about it before the write. */
type WriteTarget = {
  readonly kind: ResourceKind;
  /** Undefined if the write creates the record. */
  readonly id?: string | undefined;
  /** Null if the record does not exist; undefined if the key lacks permission to read it. */
  readonly before: TargetRecord;
  readonly condition?: WriteCondition | undefined;
  /** The apps that the write also registers. */
  readonly registered?: readonly NewApp[];
};

export type JournaledWrite = {
  /** The body of the server's response. A deletion has none. */
  readonly body: JsonObject;
  /** The id and the changed fields of the history entry. */
  readonly change: JsonObject;
  /** The newly registered apps, if they could be read. */
  readonly registered: readonly JsonObject[];
};

/** Records a change that consists of one request. */
export async function journalWrite(
  endpoint: Endpoint,
  input: JsonObject,
  known: WriteTarget,
  call: JournalCall,
): Promise<JournaledWrite> {
  const { keyContext, callApi } = call;
  const { kind, before, condition } = known;
  const id = kind.name === templateId ? templateId : (known.id ?? null);
  const sent = pickFields(endpoint, input);
  const isDeletion = endpoint.method === "DELETE";
  const { detached, note } = isDeletion
    ? await listDetached(kind, before, id, call)
    : { detached: [] };
  const old = before && keepKnown(kind, before);
  const intended: Effect = {
    kind: kind.name,
    id,
    ...(old !== undefined && { before: old }),
    after: isDeletion ? null : sent,
  };
  let registered: readonly RegisteredApp[] = [];
  const describe = async (body: unknown): Promise<StepOutcome> => {
    if (isDeletion) return { effects: [describeEffect(kind, id, before, null)] };
    registered = await readRegistered(known, body, call);
    const response = { body: body as JsonObject, sent, intended, registered };
    return describeResponse(endpoint, known, response, keyContext);
  };
  const { change, bodies } = await journal(
    { ...nameTarget(kind, id, before ?? sent), effects: detached, note },
    [{ intended, send: () => callApi(endpoint, input, condition), describe }],
    call,
  );
  // A created record's fields are omitted, because the request and the response contain them.
  const fields = before === null ? undefined : showFields(change, keyContext);
  return {
    body: bodies[0] as JsonObject,
    change: { id: change.id, ...(fields && { fields }) },
    registered: registered.map(({ record }) => record),
  };
}

type RegisteredApp = {
  readonly kind: ResourceKind;
  readonly id: string;
  readonly record: JsonObject;
};

type WriteResponse = {
  readonly body: JsonObject;
  readonly sent: JsonObject;
  readonly intended: Effect;
  readonly registered: readonly RegisteredApp[];
};

function describeResponse(
  endpoint: Endpoint,
  { kind, before }: WriteTarget,
  { body, sent, intended, registered }: WriteResponse,
  { known: { linkHost } }: ToolCall["keyContext"],
): StepOutcome {
  const isTemplate = kind.name === templateId;
  const id = isTemplate ? templateId : body["id"];
  // If the response contains no ID, an undo has to search for the record.
  if (typeof id !== "string") return { effects: [intended] };
  const target = nameTarget(kind, id, isTemplate ? {} : body);
  const apps = registered.map((app) => describeEffect(app.kind, app.id, null, app.record));
  if (endpoint.path === shortLinks.create.path && !isMadeByShortening(sent, body, linkHost)) {
    return { ...target, effects: apps, note: "A link's short path cannot be removed." };
  }
  // Fields that the response omits are assumed to have the sent value.
  const { shape } = kind.show.response as z.ZodObject;
  const shown = Object.entries(sent).filter(([name]) => name in shape);
  const record = isTemplate ? { ...assumeLive(endpoint, sent), ...readTemplateRecord(body) } : body;
  const after = { ...Object.fromEntries(shown), ...record };
  return { ...target, effects: [...apps, describeEffect(kind, id, before, after)] };
}

/**
 * Describes the effect of a write: the changed fields of an updated record, or the whole record
 * that was created or deleted.
 */
export function describeEffect(
  resource: ResourceKind,
  id: string | null,
  before: TargetRecord,
  after: JsonObject | null,
): Effect {
  const target = { kind: resource.name, id };
  const keep = (record: JsonObject | null) => record && keepKnown(resource, record);
  if (before === undefined) return { ...target, after: keep(after) };
  if (before === null) return { ...target, before, after: keep(after) };
  if (after === null) {
    const unknown = listShown(resource).filter((name) => before[name] === undefined);
    return { ...target, before: keep(before), after, ...(unknown.length > 0 && { unknown }) };
  }
  // A field that the response omits may be unchanged, so it is not recorded.
  const changed = Object.keys({ ...keep(before), ...keep(after) }).filter(
    (name) => after[name] !== undefined && !isSame(before[name], after[name]),
  );
  const known = changed.filter((name) => before[name] !== undefined);
  const unknown = changed.filter((name) => before[name] === undefined);
  return {
    ...target,
    before: pick(before, known),
    after: pick(after, changed),
    ...(unknown.length > 0 && { unknown }),
  };
}

function pick(record: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
}

/** Drops read-only fields. Also drops timestamps, because they change with every write. */
function keepKnown(resource: ResourceKind, record: JsonObject): JsonObject {
  const kept = listShown(resource).filter((field) => record[field] !== undefined);
  return pick(record, kept);
}

function listShown({ name, show }: ResourceKind): readonly string[] {
  if (name === templateId) return ["body", "css", "live"];
  return Object.keys((show.response as z.ZodObject).shape).filter(isLasting);
}

/** The live version that a publication has set, in case its response does not contain it. */
function assumeLive(endpoint: Endpoint, { body, css }: JsonObject): JsonObject {
  if (endpoint === contract.pageTemplate.unpublish) return { live: null };
  return endpoint === contract.pageTemplate.publish ? { live: { body, css } } : {};
}

/** Returns undefined unless both texts are known, because they are published together. */
function readLive({ body, css }: JsonObject): JsonObject | undefined {
  return body === undefined || css === undefined ? undefined : { body, css };
}

export function readTemplateRecord({ body, css, live_version }: WrittenTemplate): JsonObject {
  const live = live_version && readLive(live_version);
  const members = Object.entries({ body, css, live });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function nameTarget(
  { name: kind, names, key }: ResourceKind,
  id: string | null,
  record: JsonObject,
): ChangeTarget {
  const readText = (field: string | undefined) => {
    const value = record[field ?? ""];
    return typeof value === "string" && !isBlank(value) && isStorable(value) ? value : null;
  };
  const name = names.map(readText).find((text) => text !== null) ?? null;
  return { kind, target_id: id, target_key: readText(key ?? names.at(-1)), name };
}

/**
 * Reads the apps that a write has registered. Omits apps that may have existed before, because an
 * undo must not delete them.
 */
async function readRegistered(
  { kind: { name }, registered = [] }: WriteTarget,
  written: unknown,
  { callApi, keyContext }: Pick<ToolCall, "callApi" | "keyContext">,
): Promise<readonly RegisteredApp[]> {
  const found = registered.map(async ({ kind, fields }) => {
    const id = isJsonObject(written) ? written[`${kind.name}_id`] : undefined;
    const mayRead = keyContext.access.read(kind.index).state === "granted";
    if (kind.name === name || typeof id !== "string" || !mayRead) return [];
    const body: unknown = await readIfAllowed(() => callApi(kind.show, { id })).catch(
      () => undefined,
    );
    return [{ kind, id, record: isJsonObject(body) ? body : { ...fields, id } }];
  });
  return (await Promise.all(found)).flat();
}

/**
 * Whether the shortening request created the link instead of adding a short path to an existing
 * one.
 */
function isMadeByShortening(
  { url }: JsonObject,
  link: JsonObject,
  linkHost: string | undefined,
): boolean {
  // Shortening the URL of an existing link creates no link.
  if (isOwnLinkAddress(String(url), linkHost)) return false;
  return link["clicks"] === 0 && typeof url === "string" && link["url"] === url.trim();
}

/**
 * The links that lose an app when the app is deleted. When the deletion is undone, the embedded
 * service sets the app on these links again. On a remote server, the undo has to update each link.
 */

type DetachedLinks = { readonly detached: readonly Effect[]; readonly note?: string };

/** The maximum number of links to record for a deleted app, the most clicked ones first. */
const mostDetached = 100;

async function listDetached(
  kind: ResourceKind,
  app: TargetRecord,
  id: string | null,
  { callApi, keyContext }: Pick<ToolCall, "callApi" | "keyContext">,
): Promise<DetachedLinks> {
  if (kind.name === "project") return { detached: [], note: projectNote };
  const filter = appFilters[kind.name];
  if (filter === undefined || keyContext.known.binDays !== undefined) return { detached: [] };
  const value = app?.[kind.key ?? ""];
  if (typeof value !== "string") return { detached: [], note: linksUnread };
  const filters = [{ field: filter, condition: "eq", value } as const];
  const sort = { field: "clicks", direction: "desc" } as const;
  const page = await callApi(links.index, { filters, sort, limit: mostDetached }).catch(
    (error: unknown) => {
      // An app can be deleted even if its links cannot be read.
      if (error instanceof ToolFailure) return undefined;
      throw error;
    },
  );
  if (page === undefined) return { detached: [], note: linksUnread };
  // A server that ignores filters returns all links, so the rows are filtered here as well.
  const field = `${kind.name}_id`;
  const own = page.links.filter((link) => link[field] === id);
  const detached = own.map((link) => ({
    kind: "link",
    id: link.id,
    before: { [field]: id },
    after: { [field]: null },
  }));
  const isRead =
    listUnreadRows(page).length === 0 && page.links.every((link) => link[field] !== undefined);
  const { count, next } = page.meta;
  if (isRead && typeof next !== "number") return { detached };
  if (!isRead || typeof count !== "number") return { detached, note: linksPartlyUnread };
  return {
    detached,
    note: `${count} links opened this app. Undo adds the app back to ${mostDetached} of them.`,
  };
}

const linksPartlyUnread =
  "Not all links that opened this app could be read. Undo adds the app back only to some of them.";
const linksUnread =
  "The links that opened this app could not be read. Undo does not add the app back to them.";
const projectNote = "A deleted project cannot be restored.";
