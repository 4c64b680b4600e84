import * as z from "zod";
import { presentJob } from "../../../bulk/present.ts";
import { listEndpoints } from "../../../contract/index.ts";
import { normalizeForSearch } from "../../../contract/rules/link-path.ts";
import { readUrl } from "../../../contract/rules/web-address.ts";
import { isStorable } from "../../../contract/text.ts";
import type { Change } from "../../../state/history.ts";
import type { Access, Reading } from "../../access/key-access.ts";
import type { KeyContext } from "../../access/key-context.ts";
import { makeBulkTool } from "../bulk/bulk-tool.ts";
import type { Tool } from "../tool.ts";
import { changeSchema, showChange } from "./show-change.ts";

/** What was changed through Waypost, so that a person can look it up, and have it undone. */

const perPage = 20;

export function createListChanges(): Tool {
  return makeBulkTool({
    name: "list_changes",
    title: "List changes",
    description: "List what was changed here in 30 days, from what to what, the newest first.",
    group: "history",
    effect: "read",
    readAccess: readAnyWrite,
    fields: () => ({
      target: z.string().optional().describe("UUID, path, bundle id or package name"),
      page: z.int().min(1).optional(),
    }),
    result: { changes: z.array(changeSchema), meta: z.looseObject({ count: z.int() }) },
    run: async (args, { keyContext }) => {
      const { readers, openHistory } = keyContext;
      const { target: given, page = 1 } = args as { target?: string; page?: number };
      const target = given === undefined ? undefined : readTarget(given);
      const history = await openHistory();
      const found = await history.list(readers, {
        target,
        from: (page - 1) * perPage,
        limit: perPage,
      });
      const count = await history.count(readers, target);
      const last = Math.max(1, Math.ceil(count / perPage));
      const next = page < last ? { next: page + 1 } : {};
      const changes = await Promise.all(found.map((change) => nameJob(change, keyContext)));
      return {
        changes: changes.map((change) => showChange(change, keyContext)),
        meta: { page, limit: perPage, count, last, ...next },
      };
    },
  });
}

/** The key's own job by how far it came, and by what it was where an earlier version began it. */
async function nameJob(change: Change, keyContext: KeyContext): Promise<Change> {
  if (change.kind !== "job" || change.target_id === null) return change;
  const job = await keyContext.bulk.findJob(change.target_id, keyContext);
  return job === undefined ? change : { ...change, name: presentJob(job).what };
}

/** A link is also named by its whole address. What no database can hold names nothing. */
function readTarget(given: string): string {
  const text = given.trim();
  const named = normalizeForSearch(readUrl(text)?.pathname ?? text);
  return isStorable(named) ? named : "";
}

/** Who may write nothing has changed nothing, and has nothing to undo. */
export function readAnyWrite(access: Access): Reading {
  const writes = listEndpoints().filter(({ effect }) => effect !== "read");
  const readings = writes.map((entry) => access.read(entry));
  const find = (wanted: Reading["state"]) => readings.find(({ state }) => state === wanted);
  return find("granted") ?? find("unknown") ?? find("denied") ?? { state: "granted" };
}
