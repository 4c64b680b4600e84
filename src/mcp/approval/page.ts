import {
  hostHeaderValidationResponse,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";
import type { Preview } from "./act.ts";
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
  const { openState, hostnames, checkPin, onDecided, report } = options;
  return {
    fetch: async (request) => {
      // A page elsewhere that has guessed the way must not get anywhere with it.
      const refusal =
        hostHeaderValidationResponse(request, [...hostnames]) ??
        originValidationResponse(request, [...hostnames]);
      if (refusal !== undefined) return refusal;
      try {
        return await answer(request);
      } catch (error) {
        return show(500, renderNotice("Something went wrong", `Reference ${report(error)}.`));
      }
    },
  };

  async function answer(request: Request): Promise<Response> {
    const id = new URL(request.url).pathname.slice(approvalPath.length);
    const { approvals } = await openState();
    const approval = await approvals.findPage(id);
    if (approval === undefined) return show(404, gone);
    if (approval.status !== "waiting") return show(200, describeEnd(approval));
    if (request.method === "GET" || request.method === "HEAD") return ask(approval);
    if (request.method !== "POST") return show(405, gone);
    return decide(approval, request);
  }

  async function ask(approval: Approval, fault?: string): Promise<Response> {
    // We wrote it ourselves, from a Preview (gate.ts).
    const preview = JSON.parse(approval.preview) as Preview;
    const token = await signPage(approval.id);
    const page = renderQuestion({
      ...preview,
      token,
      fault,
      asksPin: checkPin !== undefined,
      expires_at: approval.expires_at,
    });
    return show(fault === undefined ? 200 : 403, page);
  }

  async function decide(approval: Approval, request: Request): Promise<Response> {
    const form = await readForm(request);
    const token = form?.get("token") ?? "";
    const isFromPage = isSame(token, await signPage(approval.id));
    if (form === undefined || !isFromPage) {
      return ask(approval, "That did not come from this page. Press one of its buttons.");
    }
    const decision = form.get("decision");
    if (decision !== "approve" && decision !== "decline") {
      return ask(approval, "Press one of the two buttons.");
    }
    const { approvals } = await openState();
    // Anyone may say no; only the yes is worth guarding.
    if (decision === "approve" && checkPin !== undefined) {
      if (!(await approvals.takePinTry(approval.id))) {
        return ask(approval, "There were too many wrong PINs. Nothing can be approved for now.");
      }
      if (!(await checkPin(form.get("pin") ?? ""))) return ask(approval, "The PIN is wrong.");
      await approvals.forgivePins();
    }
    const said = decision === "approve" ? "approved" : "declined";
    const isDecided = await approvals.decidePage(approval.id, said);
    if (!isDecided) return show(409, gone);
    onDecided(approval.id);
    return show(200, describeEnd({ ...approval, status: said }));
  }

  async function signPage(id: string): Promise<string> {
    const { readSecret } = await openState();
    return createHmac("sha256", await readSecret(secretName))
      .update(id)
      .digest("base64url");
  }
}

const gone = renderNotice(
  "Nothing to approve here",
  "This approval is over, or it never was. Ask your assistant to try again.",
);

function describeEnd({ status }: Pick<Approval, "status">): string {
  return status === "declined"
    ? renderNotice("Declined", "Nothing was changed. You can close this page.")
    : renderNotice("Approved", "Tell your assistant to go on. You can close this page.");
}

async function readForm(request: Request): Promise<URLSearchParams | undefined> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > bodyBytes) return undefined;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function show(status: number, html: string): Response {
  return new Response(html, { status, headers: pageHeaders });
}
