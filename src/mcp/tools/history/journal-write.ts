import { pickFields, type Answer, type Endpoint, type Input } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import { messages } from "../../../contract/messages.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { isOwnLinkAddress } from "../../../contract/rules/link-address.ts";
import { listUnreadRows } from "../../../contract/unread.ts";
import type { Change, Effect, Ended, Writer } from "../../../state/history.ts";
import { isFull, readOutage } from "../../../state/state.ts";
import {
  describeFault,
  isRefused,
  readIfAllowed,
  refuseForNow,
  refuseUnnoted,
  ToolFailure,
} from "../../results/tool-failure.ts";
import { appFilters } from "../endpoints/act.ts";
import type { Reading } from "../targets.ts";
import type { Call, Known, Written } from "../tool.ts";
import {
  completeBySent,
  describeEffect,
  keepKnown,
  nameTarget,
  readTemplateRecord,
} from "./describe-effect.ts";
import { showFields } from "./show-change.ts";

/**
 * A write, noted before its request leaves and after it was answered: a process that is killed in
 * between leaves a change whose end is unknown, so that nothing is done that is not in the history.
 */

type Journaling = Pick<Call, "ask" | "keyContext"> & {
  readonly tool: string;
  readonly writer: Writer;
  readonly report: (error: unknown) => string;
};

const { links, shortLinks, pageTemplate } = contract;
/** A project has one, whatever its id is. */
export const templateId = "page_template";

export async function journalWrite<E extends Endpoint>(
  endpoint: E,
  input: Input<E>,
  known: Known,
  journaling: Journaling,
): Promise<Written<E>> {
  const { keyContext, tool, writer, report, ask } = journaling;
  const { kind, before } = known;
  const explain = (error: unknown) => {
    const outage = readOutage(error);
    if (outage !== undefined) throw refuseForNow(tool, outage);
    const message = isFull(error) ? messages.store_full : describeFault(report(error));
    throw refuseUnnoted(tool, message);
  };
  const history = await keyContext.openHistory().catch(explain);
  const id = kind.name === templateId ? templateId : (known.id ?? null);
  const sent = pickFields(endpoint, input as JsonObject);
  const { detached, note } = await listDetached(endpoint, before, id, journaling);
  const whole = endpoint.method === "DELETE" ? null : sent;
  const old = before && keepKnown(kind, before);
  const intended = { kind: kind.name, id, ...(old !== undefined && { before: old }), after: whole };
  const lost = note ?? describeLoss(endpoint);
  const change = await history
    .begin({
      ...writer,
      ...nameTarget(kind, id, before ?? sent),
      tool,
      effects: [...detached, intended],
      note: lost,
    })
    .catch(explain);
  const body = await ask(endpoint, input, known.condition).catch(async (error: unknown) => {
    if (isRefused(error)) await history.drop(change).catch(report);
    throw error;
  });
  let ended: Ended = { ...change, state: "done" };
  let registered: readonly Registered[] = [];
  try {
    registered = await readRegistered(known, body, journaling);
    ended = describeEnd(endpoint, sent, known, body, { change, detached, registered, keyContext });
    await history.note(change, ended);
  } catch (error) {
    // What was done stays done, and its row stays as one whose end is unknown.
    report(error);
  }
  // Of what was made, all that is in it was sent, or stands in the answer.
  const fields = before === null ? undefined : showFields({ ...change, ...ended }, keyContext);
  return {
    body,
    change: { id: change.id, ...(fields && { fields }) },
    registered: registered.map(({ record }) => record),
  };
}

type Begun = Pick<Journaling, "keyContext"> & {
  readonly change: Change;
  readonly detached: readonly Effect[];
  readonly registered: readonly Registered[];
};

/** An app that came with a link. */
type Registered = {
  readonly kind: Known["kind"];
  readonly id: string;
  readonly record: JsonObject;
};

function describeEnd<E extends Endpoint>(
  endpoint: E,
  sent: JsonObject,
  { kind, before }: Known,
  body: Answer<E>,
  { change, detached, registered, keyContext }: Begun,
): Ended {
  const { target_id } = change;
  if (endpoint.method === "DELETE") {
    const effect = describeEffect(kind, target_id, before, null);
    const target = nameTarget(kind, target_id, before ?? {});
    return { ...target, state: "done", effects: [...detached, effect] };
  }
  // Every response that is no deletion's is an object; the client read it by the entry's schema.
  const record = body as JsonObject;
  if (kind.name === templateId) {
    const after = completeBySent(kind, sent, readTemplateRecord(record));
    const target = nameTarget(kind, templateId, {});
    return { ...target, state: "done", effects: [describeEffect(kind, templateId, before, after)] };
  }
  const { id } = record;
  // It was done, but nobody knows to what: whoever undoes it has to look for that.
  if (typeof id !== "string") return { ...change, state: "done" };
  const apps = registered.map((app) => describeEffect(app.kind, app.id, null, app.record));
  const after = completeBySent(kind, sent, record);
  const { linkHost } = keyContext.known;
  const isOld =
    endpoint.path === shortLinks.create.path && !isMadeByShortening(sent, record, linkHost);
  const target = nameTarget(kind, id, record);
  if (isOld) return { ...target, state: "done", effects: apps, note: shortPathStays };
  return { ...target, state: "done", effects: [...apps, describeEffect(kind, id, before, after)] };
}

const shortPathStays = "A link's short path cannot be removed.";

/** Where nobody could look before, an app may have been there already, and is none of these. */
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

/** A short path of a link that was there cannot be told from one that the link had already. */
function isMadeByShortening(
  { url }: JsonObject,
  link: JsonObject,
  linkHost: string | undefined,
): boolean {
  // A link may lead to its own address; to shorten that has made no link.
  if (isOwnLinkAddress(String(url), linkHost)) return false;
  return link["clicks"] === 0 && typeof url === "string" && link["url"] === url.trim();
}

function describeLoss(endpoint: Endpoint): string | undefined {
  const { path, method } = endpoint;
  if (path === pageTemplate.save.path) return undefined;
  const isProject = findKind(endpoint).name === "project";
  return isProject && method === "DELETE" ? "A deleted project cannot be restored." : undefined;
}

/**
 * The links that lose an app when it is deleted. Our own service puts the app back on them by
 * itself. On another server, undo registers the app again and sets it on each link.
 */

type Detached = { readonly detached: readonly Effect[]; readonly note?: string };

/** As many as one page of a list holds, the most clicked ones. */
const mostDetached = 100;

async function listDetached(
  endpoint: Endpoint,
  app: Reading,
  id: string | null,
  { ask, keyContext }: Pick<Call, "ask" | "keyContext">,
): Promise<Detached> {
  const kind = findKind(endpoint);
  const filter = endpoint.method === "DELETE" ? appFilters[kind.name] : undefined;
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
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
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
