import * as z from "zod";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { LinkFields } from "../../../contract/links.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { isStorable } from "../../../contract/text.ts";
import type { Change, History } from "../../../state/history.ts";
import { quote } from "../../../text/show-hidden.ts";
import { refuseForeign } from "../../access/limit-destinations.ts";
import { refuseDenied } from "../../access/refuse-denied.ts";
import type { ApprovalRequest } from "../../approval/approval-request.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import { makeBulkTool, refuseMissing } from "../bulk/bulk-tool.ts";
import { showPlan } from "../bulk/show-plan.ts";
import { actAsShown } from "../endpoints/act-as-shown.ts";
import { leaveOutTexts } from "../templates/template-state.ts";
import type { Call, Tool } from "../tool.ts";
import { carryOutUndo } from "./carry-out-undo.ts";
import { templateId } from "./journal-write.ts";
import { readAnyWrite } from "./list-changes.ts";
import { NotUndoable, planUndo, type Undo } from "./plan-undo.ts";
import { describeUndoState, listReasons, previewUndo, refuseInvalidUndo } from "./preview-undo.ts";
import { otherChangeSchema, showChange } from "./show-change.ts";

/** A change put back: by the same calls as anybody would make, under the same rules. */

const name = "undo";
const linkKind = findKind(contract.links.show).name;

export function createUndo(): Tool {
  return makeBulkTool({
    name,
    title: "Undo a change",
    description:
      "Undo a change from the history, by default this key's last one. " +
      "Needs approval if data would be lost. For a job, returns a plan to apply.",
    group: "history",
    effect: "destroy",
    idempotent: false,
    overwrites: true,
    readAccess: readAnyWrite,
    fields: () => ({
      change_id: z.string().optional().describe("Id of a change, not of a link"),
    }),
    result: {
      change: otherChangeSchema.optional(),
      plan: z.looseObject({ id: z.unknown() }).optional(),
    },
    run: async (args, call) => {
      const history = await call.keyContext.openHistory();
      const change = await findChange(args["change_id"], history, call);
      if (change.undone_by !== null) {
        throw refuse(
          `It was already undone, by change ${change.undone_by}.`,
          "To redo it, undo that change.",
        );
      }
      if (change.kind === "job") return planJobUndo(change, call);
      const undone = showChange(await undo(change, history, call), call.keyContext);
      return change.kind === templateId ? leaveOutTexts({}, undone) : { change: undone };
    },
  });
}

async function findChange(id: unknown, history: History, { keyContext }: Call): Promise<Change> {
  const { readers, realm, key_print } = keyContext;
  const found =
    typeof id === "string"
      ? isStorable(id) && (await history.find(readers, id))
      : await history.findLast({ realm, key_print });
  if (found !== undefined && found !== false) return found;
  if (typeof id !== "string") {
    throw refuseMissing(
      "This key has no change to undo.",
      "To undo another change, find its id in the list of changes.",
    );
  }
  throw refuseMissing(
    `No change has the id ${quote(id)}. undo takes the id of a change, not of a link or app.`,
    "To find the id, list the changes with the link or app as the target.",
  );
}

function undo(change: Change, history: History, call: Call): Promise<Change> {
  return actAsShown(async () => {
    const planned = await plan(change, history, call);
    requireRights(planned, call);
    refuseForeignSteps(planned, call);
    const overwrites = planned.steps.some(({ endpoint }) => endpoint.overwrites);
    const asks = listReasons(planned).length > 0;
    return {
      tool: name,
      asks: asks ? "always" : overwrites ? "after_many" : "never",
      describe: () => describeRequest(planned, call),
      readState: async () => describeUndoState(await plan(change, history, call)),
      carryOut: () => carryOutUndo(planned, history, call),
    };
  }, call);
}

async function plan(change: Change, history: History, call: Call): Promise<Undo> {
  try {
    return await planUndo(change, history, call);
  } catch (error) {
    if (!(error instanceof NotUndoable)) throw error;
    throw refuse(error.message, error.next);
  }
}

/** The operator's selection and the key's rights count for each call. */
function requireRights({ steps }: Undo, { keyContext, requireAct }: Call): void {
  for (const { endpoint, chosenBy = endpoint } of steps) {
    const reading = keyContext.access.read(endpoint);
    if (reading.state === "denied") throw refuseDenied({ tool: name, endpoint }, reading);
    requireAct(chosenBy);
  }
}

/**
 * A link that comes back from the bin is not in the call that brings it back, so that its addresses
 * are looked at here; and nobody is asked about an undo that would be refused afterwards.
 */
function refuseForeignSteps({ steps }: Undo, { keyContext }: Call): void {
  const problems = steps.flatMap(({ kind, now, wanted }) =>
    // A link's record has the fields of a link, and null for those that it lacks.
    kind === linkKind ? keyContext.checkDestinations((wanted ?? {}) as LinkFields, now ?? {}) : [],
  );
  refuseForeign(problems);
}

async function describeRequest(planned: Undo, call: Call): Promise<ApprovalRequest> {
  const { change } = planned;
  await refuseInvalidUndo(planned, call, name);
  return {
    tool: name,
    args: { change_id: change.id },
    target: change.target_id ?? "",
    state: describeUndoState(planned),
    preview: await previewUndo(planned, call),
  };
}

/** Many links are put back by a plan, which a person sees before it is applied. */
async function planJobUndo({ target_id }: Change, call: Call): Promise<JsonObject> {
  const { keyContext, signal } = call;
  const { bulk } = keyContext;
  const job = await bulk.findJob(target_id ?? "", keyContext);
  if (job === undefined) {
    throw refuseMissing(
      "This key has no job with this id.",
      "Use the key that started the job to undo it.",
    );
  }
  if (job.isHeld) {
    throw refuse("The job is still running.", "Wait until it ends, or cancel it first.");
  }
  const { plan: made } = await bulk.plan({ undo: job }, keyContext, signal);
  return { plan: await showPlan(made, bulk, {}) };
}

function refuse(message: string, next: string): ToolFailure {
  const code = "invalid_arguments";
  return new ToolFailure({ code, message, effect: "none", retry: "never", next });
}
