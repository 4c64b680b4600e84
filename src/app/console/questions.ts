import type {
  AskedByAssistant,
  ConsoleDecision,
  ApprovalRejection,
  ConsoleQuestion,
  TypedApproval,
  ListedQuestion,
} from "../../console/account.ts";
import type { KeyContext } from "../../mcp/access/key-context.ts";
import { decide, readOpen } from "../../mcp/approval/decide.ts";
import { approvalPath } from "../../mcp/approval/approval-page.ts";
import { renderPlanPage, type PlanPage, type PlanPart } from "../../mcp/approval/plan-rows.ts";
import { renderFacts, renderFrames, renderRecent } from "../../mcp/approval/question-html.ts";
import { readStored, type Question as AskedQuestion } from "../../mcp/approval/question.ts";
import {
  approvalScope,
  writeLead,
  writeOrigin,
  writeTerm,
} from "../../mcp/approval/write-asking.ts";
import type { Approval } from "../../state/approvals.ts";
import type { Acting } from "./parts.ts";
import { clock } from "../process/embedded.ts";
import { checkPin } from "../data/pin-file.ts";

/** Questions to a person, from a page of the console or from an assistant, and the answers. */

type QuestionContext = Pick<Acting, "deployment" | "address" | "onDecided" | "onRefused"> & {
  readonly keyContext: Pick<KeyContext, "key_print">;
};

type OfKind = QuestionContext & {
  /** Whether a page of the console has asked, and not an assistant. */
  readonly isByHand: boolean;
};

export async function answer(
  id: string,
  decision: ConsoleDecision,
  typed: TypedApproval,
  asking: OfKind,
): Promise<ApprovalRejection | undefined> {
  const approval = await find(id, asking);
  if (approval === undefined) {
    asking.onRefused("This approval has expired.", asking.address);
    return { kind: "over" };
  }
  const options = { ...asking, openState: asking.deployment.state.open, checkPin };
  const { fault: text } = await decide(approval, decision, typed, options);
  return text === undefined ? undefined : { kind: "fault", text };
}

/** Undefined for the question of another key, as if it did not exist. */
async function find(
  id: string,
  { keyContext, deployment: { state }, isByHand }: OfKind,
): Promise<Approval | undefined> {
  const { approvals } = await state.open();
  const approval = await approvals.findPage(id);
  if (approval?.key_print !== keyContext.key_print) return undefined;
  return readStored(approval).isByHand === isByHand ? approval : undefined;
}

/** Until it expires, the same act gets the same question again. */
const tryLater = "Cancel and try again in five minutes.";

export async function readQuestion(
  id: string,
  asking: QuestionContext,
): Promise<ConsoleQuestion | undefined> {
  const approval = await find(id, { ...asking, isByHand: true });
  return approval && describe(approval, { page: 1 }, asking, tryLater);
}

export async function listWaiting(asking: QuestionContext): Promise<readonly ListedQuestion[]> {
  const { keyContext, deployment } = asking;
  const { state } = deployment;
  if (!state.exists()) return [];
  const { approvals } = await state.open();
  const waiting = await approvals.listWaiting(keyContext.key_print);
  return waiting.flatMap((approval) => {
    const { isByHand, title } = readStored(approval);
    return isByHand ? [] : [{ id: approval.id, title, ...describeAsker(approval) }];
  });
}

export async function readAsked(
  id: string,
  part: PlanPart,
  asking: QuestionContext,
): Promise<AskedByAssistant | undefined> {
  const approval = await find(id, { ...asking, isByHand: false });
  if (approval === undefined) return undefined;
  const { term, ...asker } = describeAsker(approval);
  const question = await describe(approval, part, asking);
  return {
    question,
    ...asker,
    term: question.blocked === undefined ? `${approvalScope} ${term}` : term,
    end: ends[approval.status],
  };
}

function describeAsker(approval: Approval) {
  const { asker } = readStored(approval);
  const now = clock.now();
  return {
    lead: writeLead(asker),
    origin: writeOrigin(asker, approval, now),
    term: writeTerm(approval, now),
  };
}

const ends: Readonly<Record<Approval["status"], AskedByAssistant["end"]>> = {
  waiting: undefined,
  approved: "approved",
  used: "approved",
  declined: "declined",
  told: "declined",
};

async function describe(
  approval: Approval,
  part: PlanPart,
  { deployment: { state } }: QuestionContext,
  next?: string,
): Promise<ConsoleQuestion> {
  const now = clock.now();
  const open = await readOpen(approval, part, { state: await state.open(), now, next });
  const { question, plan, tries, blocked } = open;
  return { ...renderQuestion(question, plan, approval.id), pin: tries, blocked };
}

/** A question as the console shows it. Before it is asked, it has no id. */
export function renderQuestion(
  question: AskedQuestion,
  plan: PlanPage | undefined,
  id = "",
): Omit<ConsoleQuestion, "pin" | "blocked"> {
  const { title, button = "Approve", destroys = false, facts, frames, count } = question;
  return {
    id,
    title,
    button,
    destroys,
    facts: renderRecent(question, clock.now()) + renderFacts(facts),
    frames: renderFrames(frames, approvalPath + id),
    rows: plan === undefined ? "" : renderPlanPage(plan),
    count,
  };
}
