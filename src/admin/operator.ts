import { createHash } from "node:crypto";
import { CallFailure } from "../client/outcome.ts";
import type { JsonObject } from "../contract/json.ts";
import type { TimeZone } from "../contract/local-time.ts";
import { Problem, readOutageCode } from "../contract/problem.ts";
import { isSame } from "../contract/rules/writable-fields.ts";
import type { IdSources } from "../service/ids.ts";
import type { Change, Effect, ChangeEnd, History, ChangeAuthor } from "../state/history.ts";
import { isInDoubt } from "../state/state.ts";
import { Duplicate, type Store } from "../store/store.ts";
import type { Db } from "../store/tables.ts";

/** Who performs an administrative action: a CLI user, or a user signed in to the console. */
export type Operator = IdSources &
  Pick<ChangeAuthor, "key_print" | "client"> & {
    readonly store: Store;
    /** Identifies the history of changes that belong to no project. */
    readonly origin: string;
    readonly openHistory: () => Promise<History>;
    readonly report: (error: unknown) => unknown;
    /** Undefined in the CLI, where running the command is the approval. */
    readonly person?: SignedInPerson;
  };

/** A console user, identified by the key used to sign in. */
type SignedInPerson = {
  readonly key_id: string | undefined;
  /** Finds the id of the key that commands and assistants on this machine use. */
  readonly findKeptKey: () => Promise<string | undefined>;
  readonly timeZone: TimeZone | undefined;
  readonly hasPin: () => Promise<boolean>;
  /** Throws unless the user approves. */
  readonly requireApproved: (request: AdminRequest) => Promise<void>;
  /** Throws if the key has lost the permission. Runs in the transaction of the write. */
  readonly recheck: (db: Db) => Promise<void>;
};

/** What the user must approve before a record is created or deleted. */
type AdminRequest = {
  readonly tool: string;
  readonly args: JsonObject;
  readonly target: string;
  readonly state: unknown;
  readonly preview: AdminPreview;
};

type AdminPreview = {
  readonly title: string;
  readonly button: string;
  readonly destroys?: boolean;
  readonly facts: readonly AdminFact[];
};

export type AdminFact = {
  readonly name: string;
  readonly text: string;
  readonly warnings?: readonly string[];
};

/** An administrative action in the history. */
export type AdminAct = {
  /** The equivalent command, such as `bin empty`. */
  readonly tool: string;
  /** A project's id, or the operator's origin. */
  readonly realm: string;
  readonly kind: string;
  readonly name: string | null;
  /** How to reverse the action, if undo does not support it. */
  readonly note?: string;
};

type CreateRequest<Made> = {
  readonly act: AdminAct;
  /** Set for a form, so that submitting the form twice creates only one record. */
  readonly once?: OnceForm | undefined;
  /** Asks for approval if the operator has set a PIN. Omitted if no approval is needed. */
  readonly question?: { readonly args: JsonObject; readonly preview: AdminPreview };
  readonly make: (db: Db, id: string | undefined) => Promise<Made>;
  readonly record: JsonObject;
};

type OnceForm = {
  /** Distinguishes the form from all other forms shown to users of the same key. */
  readonly form: readonly string[];
  /** The error if the form is submitted again. The secret cannot be returned again. */
  readonly madeBefore: string;
};

export async function create<Made extends { readonly id: string }>(
  operator: Operator,
  { act, once, question, make, record }: CreateRequest<Made>,
): Promise<Made> {
  const { person } = operator;
  if (once?.form.includes("") === true) throw new Problem(400, "This page has expired.");
  const id = once && deriveId([act.realm, operator.key_print, ...once.form]);
  const repeated = new Problem(409, once?.madeBefore ?? "This was already created.");
  if (id !== undefined) {
    const history = await operator.openHistory();
    if ((await history.count({ realm: act.realm }, { target: id })) > 0) throw repeated;
  }
  if (question !== undefined && (await person?.hasPin()) === true) {
    await person?.requireApproved({ ...question, tool: act.tool, target: "", state: id });
  }
  return journal(
    operator,
    { ...act, id: id ?? null },
    () => write(operator, (db) => make(db, id)),
    (made) => ({ id: made.id, name: null, before: null, after: record }),
  ).catch((error: unknown) => {
    throw error instanceof Duplicate ? repeated : error;
  });
}

type Removal = {
  readonly act: AdminAct;
  readonly id: string;
  readonly record: JsonObject;
  readonly preview: () => Promise<AdminPreview> | AdminPreview;
  /** Returns false if the record no longer exists. */
  readonly remove: (db: Db) => Promise<boolean>;
  readonly missing: () => Error;
};

/** Permanently removes a record after the user has approved. */
export async function remove(operator: Operator, removal: Removal): Promise<void> {
  const { act, id, record, missing } = removal;
  const { person } = operator;
  if (person !== undefined) {
    const preview = await removal.preview();
    await person.requireApproved({
      tool: act.tool,
      args: { id },
      target: id,
      state: record,
      preview,
    });
  }
  await journal(
    operator,
    { ...act, id },
    () =>
      write(operator, async (db) => {
        if (!(await removal.remove(db))) throw missing();
      }),
    () => ({ id, name: null, before: record, after: null }),
  );
}

function write<Result>(
  { store, person }: Operator,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  return store.write(async (db) => {
    await person?.recheck(db);
    return work(db);
  });
}

/** Derives the same id whenever a key submits the same form, and other ids for other forms. */
function deriveId(words: readonly string[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(words)).digest().subarray(0, 16);
  // A UUID of version 8 may have any content (RFC 9562).
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

type JournalEntry = AdminAct & {
  /** Null if the id is not known in advance. */
  readonly id: string | null;
  /**
   * True if the action restores a record from the bin. If deleting was the record's last change,
   * the deletion is marked as undone.
   */
  readonly isRestore?: boolean;
};

type JournalResult = Pick<Effect, "before" | "after"> & {
  readonly id: string | null;
  readonly name: string | null;
};

type Recorder = Pick<Operator, "openHistory" | "report" | "key_print" | "client">;

/** Writes the history row before the action, so that no action is missing from the history. */
export async function journal<Result>(
  { openHistory, report, key_print, client }: Recorder,
  { id, name, isRestore = false, ...act }: JournalEntry,
  run: () => Promise<Result>,
  describe: (result: Result) => JournalResult,
): Promise<Result> {
  const history = await openHistory();
  const target = { target_id: id, target_key: null, name };
  const undoes = isRestore ? await findDeletion(history, act, id) : undefined;
  const writer = { key_print, client };
  const change = await history.begin({ ...writer, ...act, undoes, ...target, effects: [] });
  const result = await run().catch(async (error: unknown) => {
    // Drop the row if the transaction failed, and keep it if the outcome is unknown.
    if (!mayBeDone(error)) await history.drop(change).catch(report);
    throw error;
  });
  // The action succeeded. If this write fails, the row stays with an unknown outcome.
  await history.note(change, describeEnd(change, describe(result))).catch(report);
  return result;
}

async function findDeletion(
  history: History,
  { realm, kind }: Pick<AdminAct, "realm" | "kind">,
  id: string | null,
): Promise<string | undefined> {
  if (id === null) return undefined;
  const [last] = await history.list({ realm }, { target: id, from: 0, limit: 1 });
  const isDeletion = last?.tool === `delete_${kind}` && last.undone_by === null;
  return isDeletion ? last.id : undefined;
}

/** Whether the action may have run despite the error. */
function mayBeDone(error: unknown): boolean {
  if (error instanceof CallFailure) return error.facts.effect !== "none";
  if (error instanceof Problem) return readOutageCode(error) === "outcome_unknown";
  return isInDoubt(error);
}

function describeEnd(
  { kind, target_key }: Change,
  { id, name, ...done }: JournalResult,
): ChangeEnd {
  return {
    kind,
    target_id: id,
    target_key,
    name,
    state: "done",
    effects: [{ kind, id, ...done }],
  };
}

/** Returns only the fields that differ, with their values before and after. */
export function compareRecords(
  before: JsonObject,
  after: JsonObject,
): { readonly before: JsonObject; readonly after: JsonObject } {
  const names = Object.keys(after).filter((name) => !isSame(before[name], after[name]));
  const pick = (record: JsonObject) =>
    Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
  return { before: pick(before), after: pick(after) };
}
