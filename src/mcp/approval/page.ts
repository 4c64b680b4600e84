import { createHmac } from "node:crypto";
import {
  hostHeaderValidationResponse,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { packPage } from "../../network/pack-page.ts";
import type { Approval } from "../../state/approvals.ts";
import { isMasked, maskSecret } from "../../text/mask-secret.ts";
import type { Preview } from "./approval-request.ts";
import { askAgain, describeBlock, findPinFault, readTries, type PinOptions } from "./check-pin.ts";
import { explainPageFault } from "./page-fault.ts";
import { answerFrame } from "./page-frames.ts";
import { elsewhere, pageHeaders, renderNotice, renderQuestion, wrongMethod } from "./page-html.ts";
import { readPlanPage, readPlanPart, type PlanPart } from "./page-rows.ts";
import type { Asker } from "./person-asked.ts";

/** The page on which a person approves or declines, whatever their assistant can show. */
export type ApprovalPages = {
  /** The address is that of whoever asks, where it is known. */
  readonly fetch: (request: Request, address?: string) => Promise<Response>;
};

export type PageOptions = PinOptions & {
  readonly hostnames: readonly string[];
  readonly onDecided: (id: string, decision: Decision, address: string | undefined) => void;
  /** An answer came that decides nothing; the reason has no secret in it. */
  readonly onRefused: (reason: string, address: string | undefined) => void;
  readonly clock: Pick<Clock, "now">;
  readonly report: (error: unknown) => string;
};

type Decision = "approved" | "declined";

/** What an approval keeps of its request, as JSON: what is shown, and who asked. */
export type StoredPreview = Preview & {
  readonly asker: Asker;
  readonly isByHand?: boolean;
};

export const approvalPath = "/approve/";

const secretName = "approval-pages";
const bodyBytes = 4096;
const methods: readonly string[] = ["GET", "HEAD", "POST"];

export function createApprovalPages(options: PageOptions): ApprovalPages {
  return {
    fetch: async (request, address) =>
      packPage(await answerSafely({ request, address, options }), request),
  };
}

type Asked = {
  readonly request: Request;
  readonly address: string | undefined;
  readonly options: PageOptions;
};

async function answerSafely(asked: Asked): Promise<Response> {
  const { request, options } = asked;
  if (isFromElsewhere(request, options.hostnames)) {
    noteRefused(asked, "The answer came from another page.");
    return show(403, elsewhere);
  }
  if (!methods.includes(request.method)) {
    return show(405, wrongMethod, { allow: methods.join(", ") });
  }
  try {
    return await answer(asked);
  } catch (error) {
    const { status, html, headers } = explainPageFault(error, undecided, options.report);
    return show(status, html, headers);
  }
}

/** Who only looks has answered nothing that could be refused. */
function noteRefused({ request, address, options }: Asked, reason: string): void {
  if (request.method === "POST") options.onRefused(reason, address);
}

/** Another site's page that has guessed the address must not be able to approve. */
function isFromElsewhere(request: Request, hostnames: readonly string[]): boolean {
  const names = [...hostnames];
  const refusal =
    hostHeaderValidationResponse(request, names) ?? originValidationResponse(request, names);
  return refusal !== undefined;
}

/** To read the page uses nothing up, and neither does an attempt that is refused. */
async function answer(asked: Asked): Promise<Response> {
  const { request, options } = asked;
  const { pathname, searchParams } = new URL(request.url);
  const approval = await findApproval(pathname, options);
  if (approval === undefined || (isByHand(approval) && !searchParams.has("frame"))) {
    noteRefused(asked, "This approval has expired.");
    return show(404, over);
  }
  if (approval.status !== "waiting") {
    noteRefused(asked, "This was already answered.");
    return show(200, renderEnd(approval));
  }
  if (searchParams.has("frame")) {
    return answerFrame(readStored(approval), searchParams) ?? show(404, over);
  }
  const visit = { ...asked, approval, part: readPlanPart(searchParams) };
  return request.method === "POST" ? decide(visit) : ask(visit);
}

async function findApproval(
  pathname: string,
  { openState }: PageOptions,
): Promise<Approval | undefined> {
  if (!pathname.startsWith(approvalPath)) return undefined;
  const { approvals } = await openState();
  return approvals.findPage(pathname.slice(approvalPath.length));
}

/** One request for a page that waits: for which approval, and which of a plan's rows. */
type Visit = Asked & {
  readonly approval: Approval;
  readonly part: PlanPart;
};

async function ask({ approval, part, options }: Visit, fault?: string): Promise<Response> {
  const { asker, ...preview } = readStored(approval);
  const state = await options.openState();
  const now = options.clock.now();
  const plan = preview.rows && (await readPlanPage(state, preview.rows, part));
  const tries = await readTries(approval, state);
  const html = renderQuestion({
    preview,
    asker,
    token: maskSecret(await signPage(approval, options)),
    fault,
    pin: tries,
    blocked:
      preview.rows !== undefined && plan === undefined
        ? `The plan no longer exists. ${askAgain}`
        : describeBlock(tries, now),
    plan,
    now,
    created_at: approval.created_at,
    expires_at: approval.expires_at,
  });
  return show(fault === undefined ? 200 : 403, html);
}

async function decide(visit: Visit): Promise<Response> {
  const { approval, address, options } = visit;
  const form = await readForm(visit.request);
  // Whoever has left while the form was on its way has answered nothing, and is told nothing.
  if (form === undefined) return ask(visit);
  const isFromPage = isMasked(form.get("token") ?? "", await signPage(approval, options));
  const decision = form.get("decision");
  if (!isFromPage || (decision !== "approve" && decision !== "decline")) {
    return refuse(visit, "The answer did not come from this page. Press one of its buttons.");
  }
  // The PIN and the number are only asked for a yes.
  const fault = decision === "approve" ? await findYesFault(approval, form, options) : undefined;
  if (fault !== undefined) return refuse(visit, fault);
  const { approvals } = await options.openState();
  const said = decision === "approve" ? "approved" : "declined";
  const isFirst = await approvals.decidePage(approval.id, said);
  if (isFirst) options.onDecided(approval.id, said, address);
  else noteRefused(visit, "This was already answered.");
  if (isFirst) return show(200, renderEnd({ ...approval, status: said }));
  // Two persons who press at once are both shown the decision of the first.
  const decided = await approvals.findPage(approval.id);
  if (decided === undefined || decided.status === "waiting") return show(404, over);
  return show(200, renderEnd(decided));
}

function refuse(visit: Visit, fault: string): Promise<Response> {
  noteRefused(visit, fault);
  return ask(visit, fault);
}

/** Why a yes does not count, wherever it is said; undefined where it does. */
export async function findYesFault(
  approval: Approval,
  form: URLSearchParams,
  options: PinOptions,
): Promise<string | undefined> {
  const { count, rows } = readStored(approval);
  if (rows !== undefined) {
    const { plans } = await options.openState();
    // Nobody has seen what it would do.
    if ((await plans.find(rows.plan_id)) === undefined) return "The plan no longer exists.";
  }
  if (count !== undefined && form.get("count")?.trim() !== String(count)) {
    return `To approve, type the number of links: ${count}.`;
  }
  return findPinFault(approval, form.get("pin") ?? "", options);
}

/** It was asked by a page of the console, which alone takes the answer. */
export function isByHand(approval: Approval): boolean {
  return readStored(approval).isByHand === true;
}

/** What its page shows. */
export function readStored({ preview }: Pick<Approval, "preview">): StoredPreview {
  // require-approval.ts wrote it as one.
  return JSON.parse(preview) as StoredPreview;
}

/** Only this page's own form has this token. */
async function signPage({ id }: Approval, { openState }: PageOptions): Promise<Buffer> {
  const { readSecret } = await openState();
  return createHmac("sha256", await readSecret(secretName))
    .update(id)
    .digest();
}

const undecided = "Nothing was decided.";

const over = renderNotice(
  "This approval has expired",
  "It expired after five minutes, or its address is incomplete. If you still want this, ask your " +
    "assistant again.",
);

type End = Exclude<Approval["status"], "waiting">;

/** What the page shows once the approval has ended, by how it ended, and what happens next. */
const ends: Readonly<Record<End, readonly [title: "Approved" | "Declined", text: string]>> = {
  approved: [
    "Approved",
    "This is not done yet: your assistant can now do it once. If it does not continue by itself, " +
      "return to it and ask it to continue. You can close this page.",
  ],
  used: [
    "Approved",
    "Your assistant has used this approval, and cannot use it again. You can close this page.",
  ],
  declined: ["Declined", "Your assistant will not do this. You can close this page."],
  told: [
    "Declined",
    "Your assistant knows that you declined, and did not do this. You can close this page.",
  ],
};

function renderEnd(approval: Approval): string {
  // It is asked for those alone that no longer wait.
  const [title, text] = ends[approval.status as End];
  const look = title === "Approved" ? "approved" : "declined";
  return renderNotice(title, text, { act: readStored(approval).title, look });
}

/**
 * Without fields where the body is no form, or is too long for the page's own; undefined where the
 * sender has gone before its end.
 */
async function readForm(request: Request): Promise<URLSearchParams | undefined> {
  const none = new URLSearchParams();
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return none;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > bodyBytes) return none;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}

function show(status: number, html: string, more: Readonly<Record<string, string>> = {}): Response {
  return new Response(html, { status, headers: { ...pageHeaders, ...more } });
}
