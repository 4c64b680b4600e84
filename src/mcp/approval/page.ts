import { createHmac } from "node:crypto";
import {
  hostHeaderValidationResponse,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";
import { isSameSecret } from "../../text/same-secret.ts";
import type { Preview } from "./approval-request.ts";
import { pageHeaders, renderNotice, renderQuestion } from "./page-html.ts";

/** The page on which a person approves or declines, whatever their assistant can show. */
export type ApprovalPages = {
  readonly fetch: (request: Request) => Promise<Response>;
};

export type PageOptions = {
  readonly openState: () => Promise<State>;
  readonly hostnames: readonly string[];
  /** Undefined where the operator has set no PIN. */
  readonly checkPin: ((pin: string) => Promise<boolean>) | undefined;
  readonly onDecided: (id: string) => void;
  readonly report: (error: unknown) => string;
};

export const approvalPath = "/approve/";

const secretName = "approval-pages";
const bodyBytes = 4096;

export function createApprovalPages(options: PageOptions): ApprovalPages {
  return {
    fetch: async (request) => {
      if (isFromElsewhere(request, options.hostnames)) return show(403, elsewhere);
      try {
        return await answer(request, options);
      } catch (error) {
        const reference = options.report(error);
        return show(500, renderNotice("Something went wrong", `Reference ${reference}.`));
      }
    },
  };
}

/** Another site's page that has guessed the address must not be able to approve. */
function isFromElsewhere(request: Request, hostnames: readonly string[]): boolean {
  const names = [...hostnames];
  const refusal =
    hostHeaderValidationResponse(request, names) ?? originValidationResponse(request, names);
  return refusal !== undefined;
}

/** To read the page uses nothing up, and neither does an attempt that is refused. */
async function answer(request: Request, options: PageOptions): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith(approvalPath)) return show(404, over);
  const { approvals } = await options.openState();
  const approval = await approvals.findPage(pathname.slice(approvalPath.length));
  if (approval === undefined) return show(404, over);
  if (approval.status !== "waiting") return show(200, ends[approval.status]);
  if (request.method === "POST") return decide(approval, request, options);
  return ask(approval, options);
}

async function ask(approval: Approval, options: PageOptions, fault?: string): Promise<Response> {
  const page = renderQuestion({
    // It was written from a Preview (require-approval.ts).
    preview: JSON.parse(approval.preview) as Preview,
    token: await signPage(approval, options),
    fault,
    asksPin: options.checkPin !== undefined,
    expires_at: approval.expires_at,
  });
  return show(fault === undefined ? 200 : 403, page);
}

async function decide(
  approval: Approval,
  request: Request,
  options: PageOptions,
): Promise<Response> {
  const form = await readForm(request);
  const isFromPage = isSameSecret(form.get("token") ?? "", await signPage(approval, options));
  const decision = form.get("decision");
  if (!isFromPage || (decision !== "approve" && decision !== "decline")) {
    return ask(approval, options, "That did not come from this page. Press one of its buttons.");
  }
  // The PIN and the number are only asked for a yes.
  const fault = decision === "approve" ? await findYesFault(approval, form, options) : undefined;
  if (fault !== undefined) return ask(approval, options, fault);
  const { approvals } = await options.openState();
  const said = decision === "approve" ? "approved" : "declined";
  if (await approvals.decidePage(approval.id, said)) options.onDecided(approval.id);
  // Two persons who press at once are both shown the decision of the first.
  const decided = await approvals.findPage(approval.id);
  if (decided === undefined || decided.status === "waiting") return show(404, over);
  return show(200, ends[decided.status]);
}

async function findYesFault(
  approval: Approval,
  form: URLSearchParams,
  options: PageOptions,
): Promise<string | undefined> {
  const { count } = JSON.parse(approval.preview) as Preview;
  if (count !== undefined && form.get("count")?.trim() !== String(count)) {
    return `Type the number of links, ${count}, to approve.`;
  }
  return findPinFault(approval, form.get("pin") ?? "", options);
}

/** Why this PIN is refused; undefined where it is right, or where none is set. */
async function findPinFault(
  { id }: Approval,
  pin: string,
  { openState, checkPin }: PageOptions,
): Promise<string | undefined> {
  if (checkPin === undefined) return undefined;
  if (pin.trim() === "") return "Type the PIN to approve.";
  const { pinTries } = await openState();
  if (!(await pinTries.take(id))) {
    return "There were too many wrong PINs: this can only be declined for now.";
  }
  if (!(await checkPin(pin))) return "The PIN is wrong.";
  await pinTries.forgive();
  return undefined;
}

/** Only this page's own form has this token. */
async function signPage({ id }: Approval, { openState }: PageOptions): Promise<string> {
  const { readSecret } = await openState();
  return createHmac("sha256", await readSecret(secretName))
    .update(id)
    .digest("base64url");
}

const elsewhere = renderNotice(
  "Not from here",
  "Open the address exactly as your assistant gave it to you.",
);
const over = renderNotice(
  "This approval is over",
  "It has expired, or it never was. If you still want this, ask your assistant again.",
);
const declined = renderNotice(
  "Declined",
  "Your assistant will not do this. You can close this page.",
);

/** What the page shows once the approval has ended, by how it ended. */
const ends: Readonly<Record<Exclude<Approval["status"], "waiting">, string>> = {
  approved: renderNotice(
    "Approved",
    "Go back to your assistant and tell it to go on. You can close this page.",
  ),
  used: renderNotice("Approved", "Your assistant has gone on, and cannot do it once more."),
  declined,
  told: declined,
};

/** Without fields where the body is no form, or is too long for the page's own. */
async function readForm(request: Request): Promise<URLSearchParams> {
  const none = new URLSearchParams();
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return none;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > bodyBytes) return none;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}

function show(status: number, html: string): Response {
  return new Response(html, { status, headers: pageHeaders });
}
