import type * as z from "zod";
import type { WriteCondition } from "../../../contract/condition.ts";
import { pickFields, type Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import { messages } from "../../../contract/messages.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { isOwnLinkAddress } from "../../../contract/rules/link-address.ts";
import { isBlank, isStorable } from "../../../contract/text.ts";
import { listUnreadRows } from "../../../contract/unread.ts";
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
import type { Reading } from "../targets.ts";
import type { Call } from "../tool.ts";
import { describeEffect, keepKnown, readTemplateRecord, templateId } from "./describe-effect.ts";
import { showFields } from "./show-change.ts";

const { links, shortLinks } = contract;

/** A change about to begin; the effects are those that its requests bring with them. */
type NewChange = ChangeTarget & {
  readonly effects: readonly Effect[];
  readonly note?: string | undefined;
  readonly undoes?: string;
};

/** One request of a change. */
export type JournalStep = {
  /** What the history says while the response is unknown. */
  readonly intended: Effect;
  readonly send: () => Promise<unknown>;
  readonly describe: (body: unknown) => Promise<Outcome>;
};

/** The effects of a request, and what else the history now says of the change. */
type Outcome = Partial<Omit<ChangeEnd, "state">> & Pick<ChangeEnd, "effects">;

type Journaled = { readonly change: Change; readonly bodies: readonly unknown[] };

type JournalCall = Pick<Call, "ask" | "keyContext" | "tool" | "writer" | "report">;

/**
 * Notes a change in the history before each of its requests is sent and after the response. When
 * the process is killed in between, the change stays begun, so that the history lacks nothing.
 */
export async function journal(
  { effects, ...begun }: NewChange,
  steps: readonly JournalStep[],
  { keyContext, tool, writer, report }: JournalCall,
): Promise<Journaled> {
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
  let outcome: Omit<Outcome, "effects"> = {};
  for (const [index, step] of steps.entries()) {
    if (index > 0) await history.note(change, { effects: [...done, step.intended] });
    const body = await step.send().catch(async (error: unknown) => {
      // This request did nothing, but those before it did.
      if (isRefused(error)) {
        const noted = index === 0 ? history.drop(change) : history.note(change, { effects: done });
        await noted.catch(report);
      }
      throw error;
    });
    bodies.push(body);
    try {
      const { effects: own, ...rest } = await step.describe(body);
      done.push(...own);
      outcome = rest;
    } catch (error) {
      // The request was carried out, and its effect stays noted as intended.
      if (index < steps.length - 1 || isUndo) throw error;
      report(error);
      return { change, bodies };
    }
  }
  const ended = { ...change, ...outcome, effects: done, state: "done" } as const;
  const noting = history.note(change, ended);
  // An undo that is not noted as done could be repeated.
  await (isUndo ? noting : noting.catch(report));
  return { change: ended, bodies };
}

/** What is known of a write's target before it happens. */
type Known = {
  readonly kind: ResourceKind;
  /** Left out where it is about to be made. */
  readonly id?: string | undefined;
  /** Null if none exists, undefined if the key may not read it. */
  readonly before: Reading;
  readonly condition?: WriteCondition | undefined;
  /** Apps that it also registers. */
  readonly registered?: readonly NewApp[];
};

export type Written = {
  /** What the server returned; a deletion returns nothing. */
  readonly body: JsonObject;
  /** Its id and what it changed, for the result. */
  readonly change: JsonObject;
  /** The apps that it also registered, if they could be read. */
  readonly registered: readonly JsonObject[];
};

/** A change of one request. */
export async function journalWrite(
  endpoint: Endpoint,
  input: JsonObject,
  known: Known,
  call: JournalCall,
): Promise<Written> {
  const { keyContext, ask } = call;
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
  let registered: readonly Registered[] = [];
  const describe = async (body: unknown): Promise<Outcome> => {
    if (isDeletion) return { effects: [describeEffect(kind, id, before, null)] };
    registered = await readRegistered(known, body, call);
    // Every response that is no deletion's is an object; the client read it by the entry's schema.
    const response = { body: body as JsonObject, sent, intended, registered };
    return describeResponse(endpoint, known, response, keyContext);
  };
  const { change, bodies } = await journal(
    { ...nameTarget(kind, id, before ?? sent), effects: detached, note },
    [{ intended, send: () => ask(endpoint, input, condition), describe }],
    call,
  );
  // A created record is its own description: all of it was sent, or is in the response.
  const fields = before === null ? undefined : showFields(change, keyContext);
  return {
    // One request has one response, an object that the client read by the entry's schema.
    body: bodies[0] as JsonObject,
    change: { id: change.id, ...(fields && { fields }) },
    registered: registered.map(({ record }) => record),
  };
}

/** An app that was registered with a link. */
type Registered = {
  readonly kind: ResourceKind;
  readonly id: string;
  readonly record: JsonObject;
};

type Response = {
  readonly body: JsonObject;
  readonly sent: JsonObject;
  readonly intended: Effect;
  readonly registered: readonly Registered[];
};

function describeResponse(
  endpoint: Endpoint,
  { kind, before }: Known,
  { body, sent, intended, registered }: Response,
  { known: { linkHost } }: Call["keyContext"],
): Outcome {
  const isTemplate = kind.name === templateId;
  const id = isTemplate ? templateId : body["id"];
  // It is unknown which record was written: an undo has to look for it.
  if (typeof id !== "string") return { effects: [intended] };
  const target = nameTarget(kind, id, isTemplate ? {} : body);
  const apps = registered.map((app) => describeEffect(app.kind, app.id, null, app.record));
  if (endpoint.path === shortLinks.create.path && !isMadeByShortening(sent, body, linkHost)) {
    return { ...target, effects: apps, note: "A link's short path cannot be removed." };
  }
  // A field that the response lacks is as it was sent.
  const { shape } = kind.show.response as z.ZodObject;
  const shown = Object.entries(sent).filter(([name]) => name in shape);
  const record = isTemplate ? readTemplateRecord(body) : body;
  const after = { ...Object.fromEntries(shown), ...record };
  return { ...target, effects: [...apps, describeEffect(kind, id, before, after)] };
}

/** How a person identifies the target. */
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

/** An app that may have existed before the write is left out: undo must not delete it. */
async function readRegistered(
  { kind: { name }, registered = [] }: Known,
  written: unknown,
  { ask, keyContext }: Pick<Call, "ask" | "keyContext">,
): Promise<readonly Registered[]> {
  const found = registered.map(async ({ kind, fields }) => {
    const id = isJsonObject(written) ? written[`${kind.name}_id`] : undefined;
    const isTold = keyContext.access.read(kind.index).state === "granted";
    if (kind.name === name || typeof id !== "string" || !isTold) return [];
    const body: unknown = await readIfAllowed(() => ask(kind.show, { id })).catch(() => undefined);
    return [{ kind, id, record: isJsonObject(body) ? body : { ...fields, id } }];
  });
  return (await Promise.all(found)).flat();
}

/** A new short path of an existing link cannot be distinguished from one that it had already. */
function isMadeByShortening(
  { url }: JsonObject,
  link: JsonObject,
  linkHost: string | undefined,
): boolean {
  // A link may redirect to its own address; shortening that address creates no link.
  if (isOwnLinkAddress(String(url), linkHost)) return false;
  return link["clicks"] === 0 && typeof url === "string" && link["url"] === url.trim();
}

/**
 * The links that lose an app when it is deleted. Our own service puts the app back on them by
 * itself. On another server, undo registers the app again and sets it on each link.
 */

type Detached = { readonly detached: readonly Effect[]; readonly note?: string };

/** As many as one page of a list holds, the most clicked ones. */
const mostDetached = 100;

async function listDetached(
  kind: ResourceKind,
  app: Reading,
  id: string | null,
  { ask, keyContext }: Pick<Call, "ask" | "keyContext">,
): Promise<Detached> {
  if (kind.name === "project") return { detached: [], note: projectNoted };
  const filter = appFilters[kind.name];
  if (filter === undefined || keyContext.known.binDays !== undefined) return { detached: [] };
  const value = app?.[kind.key ?? ""];
  if (typeof value !== "string") return { detached: [], note: noneNoted };
  const filters = [{ field: filter, condition: "eq", value } as const];
  const sort = { field: "clicks", direction: "desc" } as const;
  const page = await ask(links.index, { filters, sort, limit: mostDetached }).catch(
    (error: unknown) => {
      // An app can be deleted although its links cannot be read.
      if (error instanceof ToolFailure) return undefined;
      throw error;
    },
  );
  if (page === undefined) return { detached: [], note: noneNoted };
  // A server that ignores filters returns all links, so the rows are compared here too.
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
  if (!isRead || typeof count !== "number") return { detached, note: someNoted };
  return {
    detached,
    note: `${count} links opened this app. Undo adds the app back to ${mostDetached} of them.`,
  };
}

const someNoted =
  "Not all links that opened this app could be read. Undo adds the app back only to some of them.";
const noneNoted =
  "The links that opened this app could not be read. Undo does not add the app back to them.";
const projectNoted = "A deleted project cannot be restored.";
