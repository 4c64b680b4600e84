import { createHash } from "node:crypto";
import type { JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { Problem, unauthorized } from "../contract/problem.ts";
import type { Role, Scope } from "../contract/scopes-and-roles.ts";
import type { ApprovalRequest, Preview } from "../mcp/approval/approval-request.ts";
import { findKeyHolderById } from "../store/keys.ts";
import { Duplicate } from "../store/store.ts";
import type { Db } from "../store/tables.ts";
import type { describeKeyChange, describeWebhookChange } from "./by-hand.ts";
import { mayChange, readNoting, readOwn, requireYes, type Acting } from "./console-act.ts";
import { journalAct } from "./journal-command.ts";

/**
 * What lets others into a project, or tells them of it: made and revoked by the one kind of key
 * that can make others, an owner's without limits. It reaches all of its project, so that nothing
 * that it makes reaches further than itself.
 */

export function managesKeys({ config, deployment, keyContext }: Acting): boolean {
  const { facts } = keyContext.known;
  if (deployment.own === undefined || facts === undefined || facts.suspended) return false;
  // What the operator says that the key may do limits it as well.
  if (config.scopes !== undefined || facts.kind !== "project") return false;
  return makesKeys(facts.role, facts.scopes);
}

export function changesKeys(acting: Acting): boolean {
  return managesKeys(acting) && mayChange(acting);
}

export function makesKeys(role: Role, granted: readonly Scope[]): boolean {
  return role === "owner" && granted.length === 0;
}

export function readProject({ keyContext: { known } }: Acting): string {
  if (known.projectId === undefined) throw unauthorized(messages.project_key_required);
  return known.projectId;
}

type Described = ReturnType<typeof describeKeyChange> | ReturnType<typeof describeWebhookChange>;

type Making<Made> = {
  /** Tells the form from all others of the same key. */
  readonly form: readonly string[];
  readonly change: Described;
  /** What is said to a form that is sent again, for its secret is shown once. */
  readonly madeBefore: string;
  /** What is asked of a person where there is a PIN; left out, nobody is asked. */
  readonly asks?: { readonly args: JsonObject; readonly preview: Preview };
  readonly make: (
    db: Db,
    place: { readonly id: string; readonly project_id: string },
  ) => Promise<Made>;
  /** As the history shows it. */
  readonly after: JsonObject;
};

/** Of one form, however often it is sent, one comes. */
export async function makeOnce<Made>(
  { form, change, madeBefore, asks, make, after }: Making<Made>,
  acting: Acting,
): Promise<Made> {
  const project_id = readProject(acting);
  const id = deriveId([project_id, acting.keyContext.key_print, ...form]);
  const noting = await readNoting(acting);
  const before = new Problem(409, madeBefore);
  if ((await noting.history.count({ realm: project_id }, { target: id })) > 0) throw before;
  if (asks !== undefined && (await acting.readPin()) !== undefined) {
    await requireYes({ ...asks, tool: change.tool, target: "", state: id }, acting);
  }
  return journalAct(
    noting,
    { ...change, id },
    () => writeAsMaker((db) => make(db, { id, project_id }), acting),
    () => ({ id, name: null, before: null, after }),
  ).catch((error: unknown) => {
    throw error instanceof Duplicate ? before : error;
  });
}

type Revoking = {
  readonly change: Described;
  /** The target is what is revoked. */
  readonly request: Omit<ApprovalRequest, "tool" | "args">;
  /** As the history shows it. */
  readonly before: JsonObject;
  /** Throws where it is not there any more. */
  readonly remove: (db: Db) => Promise<void>;
};

/** Ends it for good, once a person has said yes. */
export async function revokeOne(
  { change, request, before, remove }: Revoking,
  acting: Acting,
): Promise<void> {
  const { target: id } = request;
  await requireYes({ ...request, tool: change.tool, args: { id } }, acting);
  await journalAct(
    await readNoting(acting),
    { ...change, id },
    () => writeAsMaker(remove, acting),
    () => ({ id, name: null, before, after: null }),
  );
}

/** Whoever was revoked, or limited, while the form was on its way changes nothing any more. */
function writeAsMaker<Result>(work: (db: Db) => Promise<Result>, acting: Acting): Promise<Result> {
  const { known } = acting.keyContext;
  return readOwn(acting).store.write(async (db) => {
    const maker = await findKeyHolderById(db, known.keyId ?? "");
    if (maker?.project?.suspended !== false || !makesKeys(maker.role, maker.scopes)) {
      throw unauthorized(messages.key_invalid);
    }
    return work(db);
  });
}

/** The same for the same form of the same key, and never that of another. */
function deriveId(words: readonly string[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(words)).digest().subarray(0, 16);
  // RFC 9562: a UUID of version 8 is made as its maker likes.
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
