import type {
  ApprovalRejection,
  ConsoleQuestion,
  TypedApproval,
  ListedQuestion,
} from "../../console/account.ts";
import type { KeyContext } from "../../mcp/access/key-context.ts";
import { decide, readOpen } from "../../mcp/approval/decide.ts";
import { approvalPath } from "../../mcp/approval/approval-page.ts";
import { renderPlanPage, type PlanPage } from "../../mcp/approval/plan-rows.ts";
import { renderFacts, renderFrames, renderRecent } from "../../mcp/approval/question-html.ts";
import { readStored, type Question as AskedQuestion } from "../../mcp/approval/question.ts";
import { writeLead, writeOrigin, writeTerm } from "../../mcp/approval/write-asking.ts";
import type { Approval } from "../../state/approvals.ts";
import type { AccountContext } from "./parts.ts";
import { clock } from "../process/embedded.ts";
import { checkPin } from "../data/pin-file.ts";

/** Shows approval questions in the console, both the user's own and those from assistants. */

type QuestionContext = Pick<
  AccountContext,
  "deployment" | "address" | "onDecided" | "onRefused"
> & {
  readonly keyContext: Pick<KeyContext, "key_print">;
};

export async function approve(
  id: string,
  typed: TypedApproval,
  asking: QuestionContext,
): Promise<ApprovalRejection | undefined> {
  const approval = await find(id, asking);
  if (approval === undefined) {
    asking.onRefused("This approval has expired.", asking.address);
    return { kind: "over" };
  }
  const options = { ...asking, openState: asking.deployment.state.open, checkPin };
  const { fault: text } = await decide(approval, "approved", typed, options);
  return text === undefined ? undefined : { kind: "fault", text };
}

/** Finds a question by ID, but only if a console user with the same key caused it. */
async function find(
  id: string,
  { keyContext, deployment: { state } }: QuestionContext,
): Promise<Approval | undefined> {
  const { approvals } = await state.open();
  const approval = await approvals.findPage(id);
  if (approval?.key_print !== keyContext.key_print) return undefined;
  return readStored(approval).isByHand ? approval : undefined;
}

const tryLater = "Cancel and try again in five minutes.";

export async function readQuestion(
  id: string,
  asking: QuestionContext,
): Promise<ConsoleQuestion | undefined> {
  const approval = await find(id, asking);
  if (approval === undefined) return undefined;
  const reading = { state: await asking.deployment.state.open(), now: clock.now(), next: tryLater };
  const { question, plan, tries, blocked } = await readOpen(approval, { page: 1 }, reading);
  return { ...renderQuestion(question, plan, approval.id), pin: tries, blocked };
}

export async function listWaiting(asking: QuestionContext): Promise<readonly ListedQuestion[]> {
  const { keyContext, deployment } = asking;
  const { state } = deployment;
  if (!state.exists()) return [];
  const { approvals } = await state.open();
  const waiting = await approvals.listWaiting(keyContext.key_print);
  const now = clock.now();
  return waiting.flatMap((approval) => {
    const { isByHand, title, asker } = readStored(approval);
    if (isByHand) return [];
    const lead = writeLead(asker);
    const origin = writeOrigin(asker, approval, now);
    return [
      { address: approvalPath + approval.id, title, lead, origin, term: writeTerm(approval, now) },
    ];
  });
}

/** Renders a question for the console. The ID is empty before the question is saved. */
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
