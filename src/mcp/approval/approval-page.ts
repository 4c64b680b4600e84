import { createHmac } from "node:crypto";
import type { Clock } from "../../contract/clock.ts";
import { packPage } from "../../network/pack-page.ts";
import { readAtMost } from "../../network/read-body.ts";
import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";
import { escapeText } from "../../text/escape.ts";
import { isMasked, maskSecret } from "../../text/secrets.ts";
import {
  alreadyAnswered,
  decide,
  readOpen,
  type Decision,
  type DecisionListeners,
  type OpenQuestion,
  type PinOptions,
} from "./decide.ts";
import { renderNotice, renderPage, servePage, showPage } from "./page-shell.ts";
import { readPlanPart, renderPlanPage, type PlanPart } from "./plan-rows.ts";
import { answerFrame, renderFacts, renderFrames, renderRecent } from "./question-html.ts";
import { readStored } from "./question.ts";
import { approvalScope, writeLead, writeOrigin, writeTerm } from "./write-asking.ts";

/** Serves the web page where a user approves or declines a request. It works with every client. */
export type ApprovalPages = {
  /** `address` is the visitor's IP address, if known. */
  readonly fetch: (request: Request, address?: string) => Promise<Response>;
};

export type PageOptions = PinOptions &
  DecisionListeners & {
    readonly hostnames: readonly string[];
    readonly clock: Pick<Clock, "now">;
    readonly report: (error: unknown) => string;
  };

export const approvalPath = "/approve/";

const secretName = "approval-pages";
const bodyBytes = 4096;
const methods: readonly string[] = ["GET", "HEAD", "POST"];

export function createApprovalPages(options: PageOptions): ApprovalPages {
  const { hostnames, report } = options;
  return {
    fetch: async (request, address) => {
      const visit = { request, address, options };
      const onForeignRequest = () => noteRefused(visit, "The answer came from another page.");
      const serving = {
        hostnames,
        methods,
        onForeignRequest,
        nothingDone: "Nothing was decided.",
        report,
      };
      return packPage(await servePage(request, serving, () => serve(visit)), request);
    },
  };
}

type ApprovalPageRequest = {
  readonly request: Request;
  readonly address: string | undefined;
  readonly options: PageOptions;
};

function noteRefused({ request, address, options }: ApprovalPageRequest, reason: string): void {
  if (request.method === "POST") options.onRefused(reason, address);
}

async function serve(visit: ApprovalPageRequest): Promise<Response> {
  const { request, options } = visit;
  const { pathname, searchParams } = new URL(request.url);
  const state = await options.openState();
  const isOurs = pathname.startsWith(approvalPath);
  const id = isOurs ? pathname.slice(approvalPath.length) : "";
  const approval = await state.approvals.findPage(id);
  if (approval === undefined || (readStored(approval).isByHand && !searchParams.has("frame"))) {
    noteRefused(visit, "This approval has expired.");
    return showPage(404, over);
  }
  if (approval.status !== "waiting") {
    noteRefused(visit, alreadyAnswered);
    return showPage(200, renderEnd(approval));
  }
  if (searchParams.has("frame")) {
    return answerFrame(readStored(approval), searchParams) ?? showPage(404, over);
  }
  const secret = await signPage(approval, state);
  const open = { ...visit, state, approval, secret, part: readPlanPart(searchParams) };
  return request.method === "POST" ? answer(open) : ask(open);
}

type OpenPageRequest = ApprovalPageRequest & {
  readonly state: State;
  readonly approval: Approval;
  /** Proves that a form came from this page. The page contains only a masked copy. */
  readonly secret: Buffer;
  readonly part: PlanPart;
};

async function ask(visit: OpenPageRequest, fault?: string): Promise<Response> {
  const { state, approval, secret, part, options } = visit;
  const now = options.clock.now();
  const open = await readOpen(approval, part, { state, now });
  const html = renderQuestion({ ...open, approval, token: maskSecret(secret), fault, now });
  return showPage(fault === undefined ? 200 : 403, html);
}

type QuestionPage = OpenQuestion & {
  readonly approval: Approval;
  readonly token: string;
  /** The error of the last attempt, if any. */
  readonly fault: string | undefined;
  readonly now: number;
};

function renderQuestion(page: QuestionPage): string {
  const { approval, question, plan, fault, blocked, now } = page;
  const { asker, title, frames, facts } = question;
  const faults = escapeText([fault, blocked].filter((text) => text !== undefined).join(" "));
  return renderPage(
    "Approve?",
    `<div>
<p class="lead">${escapeText(writeLead(asker))}</p>
<h1>${escapeText(title)}</h1>
<p class="hint">${escapeText(writeOrigin(asker, approval, now))}</p>
</div>
${renderRecent(question, now)}
${renderFrames(frames)}
${renderFacts(facts)}
${plan === undefined ? "" : renderPlanPage(plan)}
${faults === "" ? "" : `<p class="fault" role="alert">${faults}</p>`}
<form method="post" class="stack">
<input type="hidden" name="token" value="${escapeText(page.token)}">
${blocked === undefined ? renderFields(page) : ""}
<div class="buttons">
${blocked === undefined ? renderApprove(page) : ""}
<button name="decision" value="decline" formnovalidate>Decline</button>
</div>
</form>
<p class="hint">${blocked === undefined ? `${approvalScope} ` : ""}${writeTerm(approval, now)}</p>`,
  );
}

function renderApprove({ question: { button = "Approve", destroys = false } }: QuestionPage) {
  const look = destroys ? "main grave" : "main";
  return `<button name="decision" value="approve" class="${look}">${escapeText(button)}</button>`;
}

/** Renders the inputs that approving requires: the row count and the PIN. */
function renderFields({ question: { count }, tries }: QuestionPage): string {
  const number =
    count === undefined
      ? ""
      : `<div class="field">
<label for="count">Type ${count}, the number of links</label>
<input id="count" name="count" inputmode="numeric" autocomplete="off" required>
</div>`;
  if (tries === undefined) return number;
  const left = tries.left === 1 ? "One try is left" : `${tries.left} tries are left`;
  return `${number}
<div class="field">
<label for="pin">PIN</label>
<input id="pin" type="password" name="pin" autocomplete="off" required aria-describedby="tries">
<p class="hint" id="tries">The PIN set by the operator of this server. ${left}.</p>
</div>`;
}

async function answer(visit: OpenPageRequest): Promise<Response> {
  const { state, approval, secret, address, options } = visit;
  const form = await readForm(visit.request);
  // The visitor disconnected while submitting the form, so no decision was made.
  if (form === undefined) return ask(visit);
  const isFromPage = isMasked(form.get("token") ?? "", secret);
  const decision = decisions.get(form.get("decision") ?? "");
  if (!isFromPage || decision === undefined) {
    const fault = "The answer did not come from this page. Press one of its buttons.";
    noteRefused(visit, fault);
    return ask(visit, fault);
  }
  const typed = { pin: form.get("pin") ?? "", count: form.get("count") ?? "" };
  const { isFirst, fault } = await decide(approval, decision, typed, { ...options, address });
  if (fault !== undefined) return ask(visit, fault);
  if (isFirst) return showPage(200, renderEnd({ ...approval, status: decision }));
  // If two people submit at once, both see the first decision.
  const decided = await state.approvals.findPage(approval.id);
  if (decided === undefined || decided.status === "waiting") return showPage(404, over);
  return showPage(200, renderEnd(decided));
}

const decisions: ReadonlyMap<string, Decision> = new Map([
  ["approve", "approved"],
  ["decline", "declined"],
]);

/** Derives a secret for this approval's form, so that no other page can submit the form. */
async function signPage({ id }: Approval, { readSecret }: State): Promise<Buffer> {
  return createHmac("sha256", await readSecret(secretName))
    .update(id)
    .digest();
}

const over = renderNotice(
  "This approval has expired",
  "It expired after five minutes, or its address is incomplete. If you still want this, ask your " +
    "assistant again.",
);

type EndStatus = Exclude<Approval["status"], "waiting">;

/** The title and text of the page after the decision, by the approval's status. */
const ends: Readonly<Record<EndStatus, readonly [title: "Approved" | "Declined", text: string]>> = {
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
  const [title, text] = ends[approval.status as EndStatus];
  const look = title === "Approved" ? "approved" : "declined";
  return renderNotice(title, text, { act: readStored(approval).title, look });
}

/**
 * Returns empty form data if the body is not a form or is too large. Returns undefined if the
 * visitor disconnected.
 */
async function readForm(request: Request): Promise<URLSearchParams | undefined> {
  const type = request.headers.get("content-type") ?? "";
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(type);
  try {
    const body = isForm ? await readAtMost(request, bodyBytes) : undefined;
    // If the visitor disconnects, the body ends early and may be incomplete.
    if (request.signal.aborted) return undefined;
    return new URLSearchParams(body?.toString());
  } catch {
    return undefined;
  }
}
