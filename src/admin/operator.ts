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

/** The person who administers, in the CLI or signed in to the console. */
export type Operator = IdSources &
  Pick<ChangeAuthor, "key_print" | "client"> & {
    readonly store: Store;
    /** Changes that belong to no project are recorded under this origin. */
    readonly origin: string;
    readonly openHistory: () => Promise<History>;
    readonly report: (error: unknown) => unknown;
    /** Undefined in the CLI, where typing the command is the approval. */
    readonly person?: SignedInPerson;
  };

/** The person in the console, identified by the key of the sign-in. */
type SignedInPerson = {
  readonly key_id: string | undefined;
  /** The key that commands and assistants on this machine use. */
  readonly findKeptKey: () => Promise<string | undefined>;
  readonly timeZone: TimeZone | undefined;
  readonly hasPin: () => Promise<boolean>;
  /** Throws unless the person approves. */
  readonly approve: (request: AdminRequest) => Promise<void>;
  /** Throws if the key no longer has the right. Runs in the transaction of the write. */
  readonly recheck: (db: Db) => Promise<void>;
};

/** What a person must approve before something is created or deleted. */
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

/** An action as the history lists it. */
export type AdminAct = {
  /** The words of the equivalent command. */
  readonly tool: string;
  /** A project's id, or the operator's origin. */
  readonly realm: string;
  readonly kind: string;
  readonly name: string | null;
  /** How to reverse the action, if it cannot be undone. */
  readonly note?: string;
};

type CreateRequest<Made> = {
  readonly act: AdminAct;
  /** Set for a form, so that sending it twice creates only one thing. */
  readonly once?: OnceForm | undefined;
  /** The approval that is required if the operator has set a PIN. Omitted if none is needed. */
  readonly question?: { readonly args: JsonObject; readonly preview: AdminPreview };
  readonly make: (db: Db, id: string | undefined) => Promise<Made>;
  /** The data for the history. */
  readonly record: JsonObject;
};

type OnceForm = {
  /** Distinguishes the form from all other forms of the same key. */
  readonly form: readonly string[];
  /** The error for a repeated form, because secrets are shown only once. */
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
    await person?.approve({ ...question, tool: act.tool, target: "", state: id });
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
  /** The data for the history. */
  readonly record: JsonObject;
  readonly preview: () => Promise<AdminPreview> | AdminPreview;
  /** Returns false if the target no longer exists. */
  readonly remove: (db: Db) => Promise<boolean>;
  /** The error if the target no longer exists. */
  readonly missing: () => Error;
};

/** Permanently removes something after a person has approved. */
export async function remove(operator: Operator, removal: Removal): Promise<void> {
  const { act, id, record, missing } = removal;
  const { person } = operator;
  if (person !== undefined) {
    const preview = await removal.preview();
    await person.approve({ tool: act.tool, args: { id }, target: id, state: record, preview });
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

/** The same form of the same key always gets the same id, and other forms never get it. */
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
   * Whether this restores from the bin. Then the deletion is marked as undone, if it was the
   * target's last change.
   */
  readonly isRestore?: boolean;
};

type JournalResult = Pick<Effect, "before" | "after"> & {
  readonly id: string | null;
  readonly name: string | null;
};

type Recorder = Pick<Operator, "openHistory" | "report" | "key_print" | "client">;

/** Writes the row in the history before the action, so that the history contains every action. */
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
    // A failed transaction changed nothing. If its outcome is unknown, the row stays, marked as
    // unknown.
    if (!mayBeDone(error)) await history.drop(change).catch(report);
    throw error;
  });
  // The action succeeded. If this write fails, its row stays with an unknown result.
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

/** Whether the action may have happened, according to the error. */
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

/** The fields that differ between two records, before and after. */
export function compareRecords(
  before: JsonObject,
  after: JsonObject,
): { readonly before: JsonObject; readonly after: JsonObject } {
  const names = Object.keys(after).filter((name) => !isSame(before[name], after[name]));
  const pick = (record: JsonObject) =>
    Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
  return { before: pick(before), after: pick(after) };
}
