import { createBulk, type Bulk } from "../../bulk/bulk.ts";
import { PlanExpired } from "../../bulk/bulk-errors.ts";
import type { Owner } from "../../bulk/owner.ts";
import { CallFailure, type FailureCode } from "../../client/outcome.ts";
import { clock, random, requireData } from "../../app/process/embedded.ts";
import { createLog, createReport } from "../../app/process/log.ts";
import { openClient, sleep } from "../../app/process/open-client.ts";
import { requireKey } from "../../app/data/secrets.ts";
import { withDeployment } from "../../app/process/deployment.ts";
import { UsageFault, type Config } from "../../config.ts";
import { findRefusal, readCause, type KnownKey } from "../../contract/access.ts";
import { Problem, unauthorized } from "../../contract/problem.ts";
import { checkDestinations as findForeign } from "../../contract/rules/destinations.ts";
import { printKey } from "../../mcp/access/key-context.ts";
import type { ChangeAuthor } from "../../state/history.ts";
import { readRequestId } from "../../text/request-id.ts";
import { Interrupted, listenForStop } from "../terminal/ask-to-go-on.ts";
import type { Invocation } from "../terminal/command.ts";
import { showLine } from "../terminal/output.ts";

/** Opens a session for a command that reads or changes links. */

export type BulkSession = {
  readonly bulk: Bulk;
  readonly owner: Owner;
  readonly writer: ChangeAuthor;
  /** Aborted when the user stops the command. Rows that were already sent are finished. */
  readonly signal: AbortSignal;
};

/** Runs `work` with the configured key. Without `mayCreate`, a missing data folder is an error. */
export async function withBulk<Result>(
  { config, runtime }: Pick<Invocation<object>, "config" | "runtime">,
  work: (session: BulkSession) => Promise<Result>,
  { mayCreate = false }: { readonly mayCreate?: boolean } = {},
): Promise<Result> {
  if (!mayCreate && config.base_url === undefined) requireData(config);
  const report = createReport(createLog(config));
  return withDeployment({ config, report }, async (deployment) => {
    const openState = deployment.state.open;
    const signal = listenForStop(runtime);
    const bulk = createBulk({ openState, clock, random, sleep, report });
    signal.addEventListener("abort", () => void bulk.close());
    try {
      const key = requireKey(config);
      const { call } = openClient(deployment, { key, life: signal, openState, report });
      const remote: KnownKey = {
        facts: undefined,
        linkHost: config.link_origin,
        hasSecondHost: false,
      };
      const known = (await deployment.followKey(key)()) ?? remote;
      const owner: Owner = {
        key_print: printKey(key),
        origin: deployment.origin,
        call,
        requestId: readRequestId(undefined),
        // The permissions of a remote server's key are unknown, so requests may fail later.
        requireRight: (endpoint) => {
          const refusal = known.facts && findRefusal(endpoint, known.facts);
          if (refusal !== undefined) throw unauthorized(refusal.message);
        },
        // WAYPOST_DESTINATIONS limits assistants. Commands check only the project's own limits.
        checkDestinations: (fields, before) => findForeign(fields, known.destinations, before),
        known,
        takesAnyId: deployment.own === undefined,
      };
      const realm = known.projectId ?? deployment.origin;
      const writer = { realm, key_print: owner.key_print, client: null };
      return await work({ bulk, owner, writer, signal });
    } catch (error) {
      throw explain(error, signal);
    } finally {
      await bulk.close();
    }
  });
}

export function refuseReadOnly({ mode }: Config, words: string): void {
  if (mode !== "read-only") return;
  throw new UsageFault(
    `${words} changes links, and --mode read-only (WAYPOST_MODE) does not allow that`,
  );
}

function explain(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof Interrupted) return error;
  // After the user stops the command, every failure is a result of the stop.
  if (signal.aborted) return new Interrupted("stopped before anything was changed");
  const advice = advise(error);
  if (advice === undefined || !(error instanceof Error)) return error;
  const reason = showLine(error.message).replace(/\.$/, "");
  return new UsageFault(advice === "" ? reason : `${reason}; ${advice}`, { cause: error });
}

/** Returns what the user can do about the error, or undefined for a bug in Waypost. */
function advise(error: unknown): string | undefined {
  if (error instanceof CallFailure) return failures[error.code];
  if (error instanceof PlanExpired) return "run the import or the undo again";
  if (!(error instanceof Problem)) return undefined;
  const { status, message } = error;
  if (readCause(message) === "key_invalid") return otherKey;
  if ([401, 403].includes(status)) return `${otherKey}; waypost tools shows what this key may do`;
  return [400, 422].includes(status) ? "" : "run waypost doctor to find the cause";
}

const otherKey = "set another key (WAYPOST_API_KEY)";
const checkAddress = "check --base-url (WAYPOST_BASE_URL), or run waypost doctor";

const failures: Readonly<Record<FailureCode, string>> = {
  rate_limited: "other programs are using the same key; try again in a minute",
  unreachable: checkAddress,
  timed_out: "try again later",
  overloaded: "try again later",
  outcome_unknown: "try again; Waypost first checks what was done, so nothing happens twice",
  bad_response: checkAddress,
  cancelled: "try again",
};
