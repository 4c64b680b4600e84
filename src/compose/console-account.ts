import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { nobodyLeaves } from "../contract/leaving.ts";
import { Problem } from "../contract/problem.ts";
import type { KeyContext } from "../mcp/access/key-context.ts";
import { uncounted } from "../mcp/approval/approve-overwrite.ts";
import { describeBlock, findPinFault } from "../mcp/approval/check-pin.ts";
import { renderFacts } from "../mcp/approval/page-facts.ts";
import { renderFrames } from "../mcp/approval/page-frames.ts";
import { renderRecent } from "../mcp/approval/page-html.ts";
import { approvalPath, readStored } from "../mcp/approval/page.ts";
import { nobodyToAsk } from "../mcp/approval/person-asked.ts";
import { ToolFailure } from "../mcp/results/tool-failure.ts";
import { callTool } from "../mcp/tools/call-tool.ts";
import { listVisible } from "../mcp/tools/toolbox.ts";
import { drawPng, drawSvg } from "../qr/draw-qr.ts";
import { toProblem } from "../service/respond.ts";
import type { Account, Answer, Failure, Question, RecordKind } from "../web/account.ts";
import type { Acting, ConsoleAct } from "./console-act.ts";
import { describeConsole } from "./console-facts.ts";
import { keyActs } from "./console-keys.ts";
import { consoleName } from "./console-parts.ts";
import { projectActs } from "./console-projects.ts";
import { settingsActs } from "./console-settings.ts";
import { clock } from "./embedded.ts";
import { checkPin } from "./pin-file.ts";

/** What a signed-in person can have done: the tools of their key, and the answers to questions. */
export function createAccount(parts: Acting): Account {
  const { keyContext, state, toolbox } = parts;
  const { known } = keyContext;
  const visible = new Set([
    ...listVisible(toolbox, keyContext).map(({ name }) => name),
    ...Object.keys(acts).filter((name) => acts[name]?.isThere(parts)),
  ]);
  const pinOptions = { openState: state.open, checkPin };
  return {
    projectName: known.projectName,
    host: known.linkHost,
    ...describeConsole(parts, known),
    mayUse: (tool) => visible.has(tool),
    call: (name, args) => {
      const act = visible.has(name) ? acts[name] : undefined;
      return act === undefined ? call(name, args, parts) : carryOut(act, args, parts);
    },
    qr: { drawSvg, drawPng },
    readRecord: (kind, id) => readRecord(kind, id, keyContext),
    findPreview: async (token) => (await keyContext.openPreviews()).find(token),

    approve: async (id, pin) => {
      const { approvals } = await state.open();
      // Whoever knows the id of another key's question answers it on its own page.
      const waiting = await approvals.listWaiting(keyContext.key_print);
      const approval = waiting.find((each) => each.id === id);
      // What is asked once more is shown as it is then.
      if (approval === undefined) return undefined;
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

const acts: Readonly<Record<string, ConsoleAct>> = { ...keyActs, ...projectActs, ...settingsActs };

async function carryOut(act: ConsoleAct, args: JsonObject, acting: Acting): Promise<Answer> {
  try {
    return { kind: "done", result: await act.run(args, acting) };
  } catch (error) {
    if (error instanceof ToolFailure) return explain(error.failure, acting);
    const { status, message, faults } = toProblem(error, acting.report);
    return { kind: "failed", failure: { code: String(status), message, problems: faults } };
  }
}

async function call(name: string, args: JsonObject, parts: Acting): Promise<Answer> {
  const { toolbox, keyContext, requireApproval, report, watchCall } = parts;
  const tool = toolbox.find(name);
  if (tool === undefined) return fail("not_found", "This server does not offer that.");
  const result = await callTool(tool, args, {
    keyContext: keepPreviewsApart(keyContext),
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
  return explain(error, parts);
}

/** A person who types has many made, and those that an assistant was told of stay. */
function keepPreviewsApart(keyContext: KeyContext): KeyContext {
  const openPreviews: KeyContext["openPreviews"] = async () => {
    const previews = await keyContext.openPreviews();
    return { ...previews, save: (print, html) => previews.save(`${print} ${consoleName}`, html) };
  };
  return { ...keyContext, openPreviews };
}

async function explain(failure: ToldFailure, parts: Acting): Promise<Answer> {
  const id = failure.code === "approval_required" ? failure.approval?.url : undefined;
  const question = id === undefined ? undefined : await readQuestion(id, parts);
  return question === undefined ? { kind: "failed", failure } : { kind: "asks", question };
}

type ToldFailure = Failure & {
  readonly approval?: { readonly url?: string | undefined } | undefined;
};

/** As `answerFailure` writes each of them. */
function isFailure(error: unknown): error is ToldFailure {
  return isJsonObject(error) && typeof error["message"] === "string";
}

function fail(code: string, message: string): Answer {
  return { kind: "failed", failure: { code, message } };
}

/** The same act is the same question until its time is over. */
const tryLater = "Leave it as it is, and try again in five minutes.";

async function readQuestion(id: string, { state }: Acting): Promise<Question | undefined> {
  const { approvals, pinTries } = await state.open();
  const approval = await approvals.findPage(id);
  if (approval === undefined) return undefined;
  const shown = readStored(approval);
  const { title, button = "Go on", destroys = false, facts, frames, recent } = shown;
  const now = clock.now();
  const tries = approval.pin === null ? undefined : await pinTries.read(id);
  return {
    id,
    title,
    button,
    destroys,
    facts: renderRecent({ recent }, now) + renderFacts(facts),
    frames: frames === undefined ? "" : renderFrames(frames, approvalPath + id),
    pinTries: tries?.left,
    blocked: describeBlock(tries, now, tryLater),
  };
}

const shows: Readonly<Record<RecordKind, Endpoint>> = {
  link: contract.links.show,
  ios_app: contract.iosApps.show,
  android_app: contract.androidApps.show,
  project: contract.projects.show,
};

async function readRecord(
  kind: RecordKind,
  id: string,
  { call: ask }: KeyContext,
): Promise<JsonObject | undefined> {
  try {
    const body: unknown = await ask<Endpoint>(shows[kind], { id });
    return isJsonObject(body) ? body : undefined;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
