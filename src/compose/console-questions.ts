import type { KeyContext } from "../mcp/access/key-context.ts";
import { askAgain, describeBlock, readTries } from "../mcp/approval/check-pin.ts";
import { renderRecent } from "../mcp/approval/page-html.ts";
import { readPlanPage, renderPlanPage, type PlanPart } from "../mcp/approval/page-rows.ts";
import { approvalPath, findYesFault, isByHand, readStored } from "../mcp/approval/page.ts";
import { renderFacts } from "../mcp/approval/page-facts.ts";
import { renderFrames } from "../mcp/approval/page-frames.ts";
import { whatYesDoes, writeLead, writeOrigin, writeTerm } from "../mcp/approval/write-asking.ts";
import type { Approval } from "../state/approvals.ts";
import type {
  Account,
  AskedByAssistant,
  Decision,
  NoYes,
  Question,
  Typed,
  Waiting,
} from "../console/account.ts";
import type { Acting } from "./console-act.ts";
import { clock } from "./embedded.ts";
import { checkPin } from "./pin-file.ts";

/** What is asked of a person, by a page of the console or by an assistant, and their answers. */

type Asking = Pick<Acting, "state" | "address" | "onDecided" | "onRefused"> & {
  readonly keyContext: Pick<KeyContext, "key_print">;
};

export async function approve(
  id: string,
  typed: Typed,
  asking: Asking,
): Promise<NoYes | undefined> {
  const approval = await findByHand(id, asking);
  if (approval === undefined) {
    asking.onRefused(isOver, asking.address);
    return { kind: "over" };
  }
  const text = await answer(approval, "approved", typed, asking);
  return text === undefined ? undefined : { kind: "fault", text };
}

const isOver = "This approval has expired.";

/** The same act is the same question until its time is over. */
const tryLater = "Cancel and try again in five minutes.";

export async function readQuestion(id: string, asking: Asking): Promise<Question | undefined> {
  const approval = await findByHand(id, asking);
  return approval && describe(approval, { page: 1 }, tryLater, asking);
}

export async function listWaiting({ keyContext, state }: Asking): Promise<readonly Waiting[]> {
  if (!state.exists()) return [];
  const { approvals } = await state.open();
  const waiting = await approvals.listWaiting(keyContext.key_print);
  return waiting.flatMap((approval) => {
    if (isByHand(approval)) return [];
    return [{ id: approval.id, title: readStored(approval).title, ...describeAsker(approval) }];
  });
}

export async function readAsked(
  id: string,
  part: PlanPart,
  asking: Asking,
): Promise<AskedByAssistant | undefined> {
  const approval = await findAsked(id, asking);
  if (approval === undefined) return undefined;
  const { term, ...asker } = describeAsker(approval);
  const question = await describe(approval, part, askAgain, asking);
  return {
    question,
    ...asker,
    term: question.blocked === undefined ? `${whatYesDoes} ${term}` : term,
    end: ends[approval.status],
  };
}

function describeAsker(approval: Approval) {
  const { asker } = readStored(approval);
  const asked = { ...approval, asker, now: clock.now() };
  return { lead: writeLead(asker), origin: writeOrigin(asked), term: writeTerm(asked) };
}

const ends: Readonly<Record<Approval["status"], AskedByAssistant["end"]>> = {
  waiting: undefined,
  approved: "approved",
  used: "approved",
  declined: "declined",
  told: "declined",
};

export async function decide(
  ...[id, decision, typed, asking]: readonly [...Parameters<Account["decide"]>, Asking]
): Promise<string | undefined> {
  const approval = await findAsked(id, asking);
  if (approval !== undefined) return answer(approval, decision, typed, asking);
  asking.onRefused(isOver, asking.address);
  return undefined;
}

/** Why it does not count; what was answered before stays as it was. */
async function answer(
  approval: Approval,
  decision: Decision,
  typed: Typed,
  { state, address, onDecided, onRefused }: Asking,
): Promise<string | undefined> {
  const isOpen = approval.status === "waiting";
  const form = new URLSearchParams(typed);
  const fault =
    isOpen && decision === "approved"
      ? await findYesFault(approval, form, { openState: state.open, checkPin })
      : undefined;
  if (fault !== undefined) {
    onRefused(fault, address);
    return fault;
  }
  const { approvals } = await state.open();
  const isFirst = isOpen && (await approvals.decidePage(approval.id, decision));
  if (isFirst) onDecided(approval.id, decision, address);
  else onRefused("This was already answered.", address);
  return undefined;
}

/** What a page of the console has asked is answered there, and nothing else is. */
async function findByHand(id: string, asking: Asking): Promise<Approval | undefined> {
  const approval = await findOwn(id, asking);
  return approval !== undefined && isByHand(approval) ? approval : undefined;
}

/** What an assistant has asked. */
async function findAsked(id: string, asking: Asking): Promise<Approval | undefined> {
  const approval = await findOwn(id, asking);
  return approval !== undefined && !isByHand(approval) ? approval : undefined;
}

/** Another key does not even learn that it is there. */
async function findOwn(id: string, { keyContext, state }: Asking): Promise<Approval | undefined> {
  const { approvals } = await state.open();
  const approval = await approvals.findPage(id);
  return approval?.key_print === keyContext.key_print ? approval : undefined;
}

async function describe(
  approval: Approval,
  part: PlanPart,
  next: string,
  { state }: Asking,
): Promise<Question> {
  const opened = await state.open();
  const shown = readStored(approval);
  const { title, button, destroys = false, recent, count, rows } = shown;
  const now = clock.now();
  const tries = await readTries(approval, opened);
  const plan = rows && (await readPlanPage(opened, rows, part));
  const isGone = rows !== undefined && plan === undefined;
  return {
    id: approval.id,
    title,
    button: button ?? "Approve",
    destroys,
    facts: renderRecent({ recent }, now) + renderFacts(shown.facts),
    frames: renderFrames(shown.frames, approvalPath + approval.id),
    rows: plan === undefined ? "" : renderPlanPage(plan),
    count,
    pin: tries,
    blocked: isGone ? `The plan no longer exists. ${next}` : describeBlock(tries, now, next),
  };
}
