import { createBulk, type Bulk } from "../../bulk/bulk.ts";
import { OtherProject, PlanExpired } from "../../bulk/bulk-errors.ts";
import type { CheckDestinations, Owner } from "../../bulk/owner.ts";
import { CallFailure, type FailureCode } from "../../client/outcome.ts";
import { clock, random, requireData } from "../../app/process/embedded.ts";
import { createLog, createReport } from "../../app/process/log.ts";
import { openClient, sleep } from "../../app/process/open-client.ts";
import { requireKey } from "../../app/data/secrets.ts";
import { withDeployment } from "../../app/process/deployment.ts";
import { UsageFault, type Config } from "../../config.ts";
import { findRefusal, readCause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { Problem, unauthorized } from "../../contract/problem.ts";
import { checkDestinations as findForeign } from "../../contract/rules/destinations.ts";
import { printKey } from "../../mcp/access/key-context.ts";
import type { ChangeAuthor } from "../../state/history.ts";
import { readRequestId } from "../../text/request-id.ts";
import { showHidden } from "../../text/show-hidden.ts";
import { Interrupted } from "../terminal/ask-to-go-on.ts";
import type { Invocation } from "../terminal/command.ts";

export type BulkSession = {
  readonly bulk: Bulk;
  readonly owner: Owner;
  /** The author of the changes, as the history shows it. */
  readonly writer: ChangeAuthor;
  /** Aborted when the user stops the command. Rows that were already sent are finished. */
  readonly signal: AbortSignal;
};

type BulkInvocation = Pick<Invocation<object>, "config" | "host">;

export function withBulk<Result>(
  { config, host }: BulkInvocation,
  work: (session: BulkSession) => Promise<Result>,
): Promise<Result> {
  const report = createReport(createLog(config));
  return withDeployment({ config, report }, async (deployment) => {
    const openState = deployment.state.open;
    const stop = new AbortController();
    const { signal } = stop;
    const bulk = createBulk({ openState, clock, random, sleep, report });
    void host.waitForStop().then(() => {
      stop.abort();
      return bulk.close();
    });
    try {
      const key = requireKey(config);
      const { call } = openClient(deployment, { key, life: signal, openState, report });
      const known = await deployment.followKey(key)();
      // WAYPOST_DESTINATIONS only limits assistants. The operator, who set it, runs the commands.
      const checkDestinations: CheckDestinations = (fields, before) =>
        findForeign(fields, known?.destinations, before);
      const owner = {
        key_print: printKey(key),
        origin: deployment.origin,
        call,
        requestId: readRequestId(undefined),
        linkHost: known?.linkHost ?? config.link_origin,
        // Checks rights in advance, which only the embedded service can do.
        requireRight: (endpoint: Endpoint) => {
          const facts = known?.facts;
          const refusal = facts && findRefusal(endpoint, facts);
          if (refusal !== undefined) throw unauthorized(refusal.message);
        },
        checkDestinations,
        known,
        keepsBin: known?.binDays !== undefined,
        takesAnyId: deployment.own === undefined,
      };
      const realm = known?.projectId ?? deployment.origin;
      const writer = { realm, key_print: owner.key_print, client: null };
      return await explain(signal, () => work({ bulk, owner, writer, signal }));
    } finally {
      await bulk.close();
    }
  });
}

/** Like `withBulk`, but refuses to run before the first start. */
export function withKnownBulk<Result>(
  invocation: BulkInvocation,
  work: (session: BulkSession) => Promise<Result>,
): Promise<Result> {
  if (invocation.config.base_url === undefined) requireData(invocation.config);
  return withBulk(invocation, work);
}

export function refuseReadOnly({ mode }: Config, words: string): void {
  if (mode !== "read-only") return;
  throw new UsageFault(
    `${words} changes links, and --mode read-only (WAYPOST_MODE) does not allow that`,
  );
}

async function explain<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    // After a stop, every failure is a result of the stop.
    if (signal.aborted) throw new Interrupted("stopped before anything was changed");
    const advice = advise(error);
    if (advice === undefined || !(error instanceof Error)) throw error;
    const reason = showHidden(error.message).replace(/\s+/g, " ").replace(/\.$/, "");
    throw new UsageFault(advice === "" ? reason : `${reason}; ${advice}`, { cause: error });
  }
}

/** What the user can do about it; undefined for a bug in Waypost. */
function advise(error: unknown): string | undefined {
  if (error instanceof CallFailure) return failures[error.code];
  if (error instanceof Problem) return adviseRefused(error);
  if (error instanceof OtherProject) return "use the key that started the job";
  return error instanceof PlanExpired ? "run the import or the undo again" : undefined;
}

function adviseRefused({ status, message }: Problem): string {
  if (readCause(message) === "key_invalid") return otherKey;
  if ([401, 403].includes(status)) return `${otherKey}; waypost tools shows what this key may do`;
  // The input is wrong, and the message already says what is accepted.
  return [400, 422].includes(status) ? "" : "run waypost doctor to find the cause";
}

const otherKey = "set another key (WAYPOST_API_KEY)";
const lookAtAddress = "check --base-url (WAYPOST_BASE_URL), or run waypost doctor";

const failures: Readonly<Record<FailureCode, string>> = {
  rate_limited: "other programs are using the same key; try again in a minute",
  unreachable: lookAtAddress,
  timed_out: "try again later",
  overloaded: "try again later",
  outcome_unknown: "try again; Waypost first checks what was done, so nothing happens twice",
  bad_response: lookAtAddress,
  cancelled: "try again",
};
