import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import type { Scope } from "../../../src/contract/rights.ts";
import type { Verdict, ToolResult } from "../../support/mcp-clients.ts";
import { decideOnPage, type TestServer, type Tenant } from "../../support/mcp-http.ts";

/** The acceptance test: what every client must be able to do over each transport. */

export type Seat = {
  readonly listNames: () => Promise<readonly string[]>;
  readonly callTool: (name: string, args?: Record<string, unknown>) => Promise<ToolResult>;
};

export type Person = {
  readonly elicit: ((message: string) => Promise<Verdict>) | undefined;
  readonly asked: string[];
  decision: "approve" | "decline";
};

const scopes: readonly Scope[] = [
  "links.index",
  "links.show",
  "links.create",
  "links.destroy",
  "ios_apps.index",
  "ios_apps.create",
];

export function createPerson({ hasForm }: { readonly hasForm: boolean }): Person {
  const asked: string[] = [];
  const person: Person = {
    asked,
    decision: "decline",
    elicit: hasForm
      ? async (message) => {
          asked.push(message);
          // An instant answer would mean that the form was not shown.
          await setTimeout(400);
          return person.decision === "approve"
            ? { action: "accept", content: { approve: true } }
            : { action: "decline" };
        }
      : undefined,
  };
  return person;
}

/** Adds a key that can be rejected for every possible reason. */
export function addLimitedTenant({ addTenant }: TestServer): Promise<Tenant> {
  return addTenant({ plan: "free", role: "manager", scopes });
}

export async function runAcceptance(seat: Seat, tenant: Tenant, person: Person): Promise<void> {
  await runOnce(seat, tenant, person);
  await needsANewApproval(seat, person);
}

/** Runs the acceptance test without the steps that are slow for clients without a connection. */
export async function runOnce(seat: Seat, tenant: Tenant, person: Person): Promise<void> {
  await lists(seat);
  await createsAndReads(seat);
  await isRefused(seat);
  await seesWhyTheKeyIsRefused(seat, tenant);
  await deletesAfterAnApproval(seat, person);
}

async function lists({ listNames }: Seat): Promise<void> {
  const names = await listNames();
  // A gateway hides this tool if its key was a viewer's key at first.
  expect(names.filter((name) => name !== "register_ios_app").toSorted()).toEqual([
    "apply_plan",
    "audit_links",
    "cancel_job",
    "check_domain",
    "create_link",
    "delete_link",
    "explain_access",
    "explain_link",
    "export_links",
    "get_job",
    "get_link",
    "link_stats",
    "list_changes",
    "list_ios_apps",
    "list_jobs",
    "list_links",
    "plan_links",
    "resolve_short_link",
    "undo",
    "upsert_link",
  ]);
}

async function createsAndReads({ callTool }: Seat): Promise<void> {
  const created = await callTool("create_link", { path: "spring", url: "https://example.com/a" });
  expect(created.structured).toMatchObject({ link: { path: "spring" } });
  expect(JSON.parse(created.text)).toEqual(created.structured);
  const { id } = created.structured.link;
  expect((await callTool("get_link", { id: "spring" })).structured.link.id).toBe(id);
}

async function isRefused(seat: Seat): Promise<void> {
  await expectFailure(seat, "create_link", { path: "spring" }, "validation_failed", {
    status: 422,
    problems: [{ field: "path" }],
  });
  const unknown = "00000000-0000-4000-8000-000000000000";
  await expectFailure(seat, "get_link", { id: unknown }, "not_found", { status: 404 });
}

async function seesWhyTheKeyIsRefused(seat: Seat, tenant: Tenant): Promise<void> {
  // With declared scopes no request is sent, so the error has no status.
  await expectFailure(seat, "list_android_apps", {}, "scope_missing");
  const app = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
  await tenant.setRole("viewer");
  await expectFailure(seat, "register_ios_app", app, "role_required", { status: 401 });
  await tenant.setRole("manager");
  const pro = { provider_token: "one", campaign_token: "spring" };
  await expectFailure(seat, "create_link", pro, "plan_required", { status: 401 });
  await tenant.suspend(true);
  await expectFailure(seat, "list_links", {}, "account_suspended", { status: 401 });
  await tenant.suspend(false);
}

async function deletesAfterAnApproval(seat: Seat, person: Person): Promise<void> {
  await tryToDelete(seat, person, "decline");
  const { structured } = await tryToDelete(seat, person, "approve");
  expect(structured).toMatchObject({ deleted: { path: "spring" } });
}

async function needsANewApproval(seat: Seat, person: Person): Promise<void> {
  const remove = { id: "spring" };
  await expectFailure(seat, "get_link", remove, "not_found");
  await expectFailure(seat, "delete_link", remove, "not_found");
  // The approval was for the deleted link and has been used.
  await seat.callTool("create_link", { path: "spring" });
  if (person.elicit === undefined) {
    const asked = await expectFailure(seat, "delete_link", remove, "approval_required");
    const again = await expectFailure(seat, "delete_link", remove, "approval_required");
    expect(readUrl(again)).toEqual(readUrl(asked));
  } else {
    person.decision = "decline";
    await expectFailure(seat, "delete_link", remove, "approval_declined");
    expect(person.asked).toHaveLength(3);
    expect(person.asked.every((message) => message.includes("spring"))).toBe(true);
  }
  expect((await seat.callTool("list_links")).structured).toMatchObject({
    links: [{ path: "spring" }],
  });
}

async function tryToDelete(
  seat: Seat,
  person: Person,
  decision: Person["decision"],
): Promise<ToolResult> {
  person.decision = decision;
  const remove = { id: "spring" };
  await decideIfOnPage(seat, person, "delete_link", remove);
  if (decision === "approve") return seat.callTool("delete_link", remove);
  return expectFailure(seat, "delete_link", remove, "approval_declined");
}

/** Lets a user without forms decide on the page before the call is repeated. */
async function decideIfOnPage(
  seat: Seat,
  person: Person,
  tool: string,
  args: Record<string, unknown>,
): Promise<void> {
  if (person.elicit !== undefined) return;
  const asking = { effect: "none", retry: "later", approval: { url: expect.any(String) } };
  const asked = await expectFailure(seat, tool, args, "approval_required", asking);
  await decideOnPage(readUrl(asked), person.decision);
}

export async function approveIfOnPage(
  seat: Seat,
  person: Person,
  tool: string,
  args: Record<string, unknown>,
): Promise<void> {
  person.decision = "approve";
  await decideIfOnPage(seat, person, tool, args);
}

function readUrl({ structured }: ToolResult): string {
  return structured.error.approval.url;
}

export async function expectFailure(
  { callTool }: Seat,
  name: string,
  args: Record<string, unknown>,
  code: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<ToolResult> {
  const result = await callTool(name, args);
  const parts = { effect: expect.any(String), retry: expect.any(String), ...more };
  const error = { code, message: expect.any(String), next: expect.any(String), ...parts };
  expect(result).toMatchObject({ isError: true, structured: { error } });
  expect(JSON.parse(result.text)).toEqual(result.structured);
  return result;
}
