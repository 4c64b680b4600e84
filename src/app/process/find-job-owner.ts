import type { FindOwner } from "../../bulk/apply/job-runner.ts";
import type { Bulk } from "../../bulk/bulk.ts";
import type { Config } from "../../config.ts";
import type { KnownKey } from "../../contract/access.ts";
import {
  nobodyListens,
  printKey,
  type KeyContext,
  type VisibleListeners,
} from "../../mcp/access/key-context.ts";
import type { Toolbox } from "../../mcp/tools/toolbox.ts";
import { readRequestId } from "../../text/request-id.ts";
import type { Deployment } from "./deployment.ts";
import { readApiKey } from "../data/secrets.ts";

/** Whose calls the rows of a job are that an earlier process began. */

type Parts = {
  readonly config: Config;
  readonly deployment: Deployment;
  readonly toolbox: Pick<Toolbox, "mayApply">;
  readonly bulk: Pick<Bulk, "summarize">;
  readonly readKnown: (key: string) => Promise<KnownKey>;
  readonly createKeyContext: (
    caller: { readonly key: string; readonly known: KnownKey },
    listeners: VisibleListeners,
  ) => KeyContext;
};

/**
 * In front of a deployment elsewhere all calls have the one configured key. Our own service lets
 * its process act for a key by the key's id: it is asked at each call whether the key is still
 * there, and what it may do, as if the key had been shown.
 */
export function createFindOwner(parts: Parts): FindOwner {
  const { deployment, toolbox, bulk, readKnown, createKeyContext } = parts;
  return async (plan, job, key_id) => {
    const { origin, own } = deployment;
    if (plan.origin !== origin) return undefined;
    const key = own === undefined ? findConfigured(parts.config, job) : own.lendToken(key_id);
    if (key === undefined) return undefined;
    const known = await readKnown(key);
    const { access, call, linkHost } = createKeyContext({ key, known }, nobodyListens);
    // Which call has applied the plan is not written down.
    const requestId = readRequestId(undefined);
    const owner = { key_print: job.key_print, key_id, origin, call, linkHost, requestId };
    // Of a key that is no more the job will say so.
    if (own !== undefined && known.facts === undefined) return owner;
    const summary = await bulk.summarize(plan, owner, { job });
    return toolbox.mayApply(summary, access) ? owner : undefined;
  };
}

/** The operator may have set another one since. */
function findConfigured(
  config: Config,
  { key_print }: { readonly key_print: string },
): string | undefined {
  const key = readApiKey(config);
  return printKey(key) === key_print ? key : undefined;
}
