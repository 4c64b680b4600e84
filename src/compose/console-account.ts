import { contract } from "../contract/index.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { nobodyLeaves } from "../contract/leaving.ts";
import { Problem } from "../contract/problem.ts";
import type { KeyContext } from "../mcp/access/key-context.ts";
import { uncounted } from "../mcp/approval/approve-overwrite.ts";
import { describeBlock, findPinFault } from "../mcp/approval/check-pin.ts";
import { renderFacts } from "../mcp/approval/page-facts.ts";
import { renderRecent } from "../mcp/approval/page-html.ts";
import { approvalPath, readStored } from "../mcp/approval/page.ts";
import { nobodyToAsk } from "../mcp/approval/person-asked.ts";
import type { RequireApproval } from "../mcp/approval/require-approval.ts";
import { callTool } from "../mcp/tools/call-tool.ts";
import { listVisible } from "../mcp/tools/toolbox.ts";
import { drawPng, drawSvg } from "../qr/draw-qr.ts";
import type { Account, Answer, Failure, Question } from "../web/account.ts";
import { consoleName, type ConsoleParts } from "./console-parts.ts";
import { describeConsole } from "./console-facts.ts";
import { clock } from "./embedded.ts";
import { checkPin } from "./pin-file.ts";

/** What a signed-in person can have done: the tools of their key, and the answers to questions. */

type AccountParts = ConsoleParts & {
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
};

export function createAccount(parts: AccountParts): Account {
  const { keyContext, state, toolbox } = parts;
  const { known } = keyContext;
  const visible = new Set(listVisible(toolbox, keyContext).map(({ name }) => name));
  const pinOptions = { openState: state.open, checkPin };
  return {
    projectName: known.projectName,
    host: known.linkHost,
    ...describeConsole(parts, known),
    mayUse: (tool) => visible.has(tool),
    call: (tool, args) => call(tool, args, parts),
    qr: { drawSvg, drawPng },
    readLink: (id) => readLink(id, keyContext),

    approve: async (id, pin) => {
      const { approvals } = await state.open();
      const approval = await approvals.findPage(id);
      // What is asked once more is shown as it is then.
      if (approval?.status !== "waiting") return undefined;
      const fault = await findPinFault(approval, pin, pinOptions);
      if (fault === undefined) await approvals.decidePage(id, "approved");
      return fault;
    },

    listWaiting: async () => {
      if (!state.exists()) return [];
      const { approvals } = await state.open();
      const waiting = await approvals.listWaiting(keyContext.key_print);
      return waiting.flatMap((approval) => {
        const { title, asker } = readStored(approval);
        // What was asked on a page of the console is answered there.
        if (asker?.client === consoleName) return [];
        return [{ address: approvalPath + approval.id, title, client: asker?.client }];
      });
    },
  };
}

async function call(name: string, args: JsonObject, parts: AccountParts): Promise<Answer> {
  const { toolbox, keyContext, requireApproval, report, watchCall } = parts;
  const tool = toolbox.find(name);
  if (tool === undefined) return fail("not_found", "This server does not offer that.");
  const result = await callTool(tool, args, {
    keyContext,
    requireApproval,
    // A person does it by hand, one at a time.
    approveOverwrite: () => Promise.resolve(uncounted),
    person: { ...nobodyToAsk, client: consoleName },
    leaving: nobodyLeaves,
    // What texts say of other tools is for assistants.
    isAbsent: () => false,
    report,
    watchCall,
  });
  const { structuredContent: content } = result;
  const told = isJsonObject(content) ? content : {};
  if (result.isError !== true) return { kind: "done", result: told };
  const { error } = told;
  if (!isFailure(error)) return fail("internal", "Something went wrong inside Waypost.");
  const id = error.code === "approval_required" ? error.approval?.url : undefined;
  const question = id === undefined ? undefined : await readQuestion(id, parts);
  return question === undefined ? { kind: "failed", failure: error } : { kind: "asks", question };
}

type ToldFailure = Failure & { readonly approval?: { readonly url?: string } };

/** As `answerFailure` writes each of them. */
function isFailure(error: unknown): error is ToldFailure {
  return isJsonObject(error) && typeof error["message"] === "string";
}

function fail(code: string, message: string): Answer {
  return { kind: "failed", failure: { code, message } };
}

/** The same act is the same question until its time is over. */
const tryLater = "Leave it as it is, and try again in five minutes.";

async function readQuestion(id: string, { state }: AccountParts): Promise<Question | undefined> {
  const { approvals, pinTries } = await state.open();
  const approval = await approvals.findPage(id);
  if (approval === undefined) return undefined;
  const { title, button = "Go on", destroys = false, facts, recent } = readStored(approval);
  const now = clock.now();
  const tries = approval.pin === null ? undefined : await pinTries.read(id);
  return {
    id,
    title,
    button,
    destroys,
    facts: renderRecent({ recent }, now) + renderFacts(facts),
    pinTries: tries?.left,
    blocked: describeBlock(tries, now, tryLater),
  };
}

async function readLink(id: string, { call: ask }: KeyContext): Promise<JsonObject | undefined> {
  try {
    return await ask(contract.links.show, { id });
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
