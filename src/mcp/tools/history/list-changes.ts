import * as z from "zod";
import { presentJob } from "../../../bulk/present.ts";
import { listLinkHosts } from "../../../contract/access.ts";
import { contract, listEndpoints } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { readNamedLink } from "../../../contract/rules/named-records.ts";
import { isStorable } from "../../../contract/text.ts";
import type { Change, History } from "../../../state/history.ts";
import type { Access, AccessState } from "../../access/key-access.ts";
import type { KeyContext } from "../../access/key-context.ts";
import { isRefused } from "../../results/tool-failure.ts";
import { findTarget } from "../targets.ts";
import { makeTool, readAny, type ToolCall, type Tool } from "../tool.ts";
import { changeSchema, showChange } from "./show-change.ts";

/** The tool that lists changes, to look them up and undo them. */

const perPage = 20;

export function createListChanges(): Tool {
  return makeTool({
    name: "list_changes",
    title: "List changes",
    description: "List changes of the last 30 days with old and new values, newest first.",
    group: "history",
    effect: "read",
    readAccess: readAnyWrite,
    fields: () => ({
      target: z.string().optional().describe("UUID, path, address or app name"),
      page: z.int().min(1).optional(),
    }),
    result: () => ({
      changes: z.array(changeSchema),
      meta: z.looseObject({ count: z.unknown() }),
    }),
    run: async (args, call) => listChanges(args, call),
  });
}

/** The tool's arguments. Only the console sets `kind`. */
type ChangeQuery = {
  readonly target?: string;
  readonly kind?: string;
  readonly page?: number;
};

async function listChanges(
  { target: given, kind, page = 1 }: ChangeQuery,
  call: ToolCall,
): Promise<JsonObject> {
  const { keyContext } = call;
  const { readers, openHistory } = keyContext;
  const history = await openHistory();
  const target = given === undefined ? undefined : await readTarget(given, history, call);
  const wanted = { target, kind };
  const part = { from: (page - 1) * perPage, limit: perPage };
  const found = await history.list(readers, { ...wanted, ...part });
  const count = await history.count(readers, wanted);
  const last = Math.max(1, Math.ceil(count / perPage));
  const next = page < last ? { next: page + 1 } : {};
  const changes = await Promise.all(found.map((change) => nameJob(change, keyContext)));
  return {
    changes: changes.map((change) => showChange(change, keyContext)),
    meta: { page, limit: perPage, count, last, ...next },
  };
}

/** Replaces the name of a job's change with a description of the job's progress. */
async function nameJob(change: Change, keyContext: KeyContext): Promise<Change> {
  if (change.kind !== "job" || change.target_id === null) return change;
  const job = await keyContext.bulk.findJob(change.target_id, keyContext);
  return job === undefined ? change : { ...change, name: presentJob(job).what };
}

/**
 * Finds the target by its current or an earlier name, even if it was deleted. Searches the history
 * first. Short paths are not in the history, so the server resolves them.
 */
async function readTarget(given: string, history: History, call: ToolCall): Promise<string> {
  const { readers } = call.keyContext;
  const { exact, loose, address } = readNamedLink(
    given.trim(),
    listLinkHosts(call.keyContext.known),
  );
  const candidates = [...exact, ...(address === undefined ? [] : [address.path]), ...loose];
  // Names that the database cannot store cannot be in the history.
  const names = candidates.filter((name) => isStorable(name));
  for (const name of names) if ((await history.count(readers, { target: name })) > 0) return name;
  for (const kind of targetKinds) {
    if (!call.keyContext.mayAsk(kind.index)) continue;
    const id = await findTarget(kind, given, call).catch(ignoreRefusal);
    if (id !== undefined) return id;
  }
  return names[0] ?? "";
}

const { links, iosApps, androidApps } = contract;
const targetKinds = [links.show, iosApps.show, androidApps.show].map(findKind);

/** A deleted target has no current name, so a failed lookup is ignored. */
function ignoreRefusal(error: unknown): undefined {
  if (!isRefused(error)) throw error;
}

/** Any write permission gives access to the history. Keys without one have made no changes. */
export function readAnyWrite(access: Access): AccessState {
  return readAny(listEndpoints().filter(({ effect }) => effect !== "read"))(access);
}
