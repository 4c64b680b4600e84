import { createHash } from "node:crypto";
import { CallFailure } from "../client/call-failure.ts";
import type { JsonObject } from "../contract/json.ts";
import type { TimeZone } from "../contract/local-time.ts";
import { Problem, readOutageCode } from "../contract/problem.ts";
import { isSame } from "../contract/rules/writable-fields.ts";
import type { IdSources } from "../service/ids.ts";
import type { Change, Effect, Ended, History, Writer } from "../state/history.ts";
import { isInDoubt } from "../state/state.ts";
import { Duplicate, type Store } from "../store/store.ts";
import type { Db } from "../store/tables.ts";

/** Who administers: someone in the CLI, or a person who is signed in to the console. */
export type Operator = IdSources &
  Pick<Writer, "key_print" | "client"> & {
    readonly store: Store;
    /** Changes that belong to no project are recorded under it. */
    readonly origin: string;
    readonly openHistory: () => Promise<History>;
    readonly report: (error: unknown) => unknown;
    /** Undefined in the CLI: typing a command there is the approval. */
    readonly person?: Person;
  };

/** The person in the console, by the key that signed them in. */
type Person = {
  readonly key_id: string | undefined;
  /** The key that commands and assistants on this machine use. */
  readonly findKeptKey: () => Promise<string | undefined>;
  readonly timeZone: TimeZone | undefined;
  readonly hasPin: () => Promise<boolean>;
  /** Throws until the person approves. */
  readonly approve: (request: AdminRequest) => Promise<void>;
  /** Throws if their key no longer has the right; it runs in the transaction of the write. */
  readonly recheck: (db: Db) => Promise<void>;
};

/** What a person is asked before something is created or ends. */
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

/** An act as the history lists it. */
export type AdminAct = {
  /** The words of the command for it. */
  readonly tool: string;
  /** A project's id, or the operator's origin. */
  readonly realm: string;
  readonly kind: string;
  readonly name: string | null;
  /** How to reverse it, where undo cannot. */
  readonly note?: string;
};

type Creation<Made> = {
  readonly act: AdminAct;
  /** Set for a form, which creates one thing however often it is sent. */
  readonly once?: OnceForm | undefined;
  /** Asked only if the operator set a PIN. Omitted where a PIN is never needed. */
  readonly question?: { readonly args: JsonObject; readonly preview: AdminPreview };
  readonly make: (db: Db, id: string | undefined) => Promise<Made>;
  /** As the history shows it. */
  readonly record: JsonObject;
};

type OnceForm = {
  /** Distinguishes the form from all others of the same key. */
  readonly form: readonly string[];
  /** The answer to a repeated form, because a secret is shown only once. */
  readonly madeBefore: string;
};

export async function create<Made extends { readonly id: string }>(
  operator: Operator,
  { act, once, question, make, record }: Creation<Made>,
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
  /** As the history shows it. */
  readonly record: JsonObject;
  readonly preview: () => Promise<AdminPreview> | AdminPreview;
  /** False if it no longer exists. */
  readonly remove: (db: Db) => Promise<boolean>;
  /** Thrown then. */
  readonly missing: () => Error;
};

/** Ends something for good, after a person has approved. */
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

/** The same for the same form of the same key, and never that of another. */
function deriveId(words: readonly string[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(words)).digest().subarray(0, 16);
  // RFC 9562: a UUID of version 8 is made as its maker likes.
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

type Begun = AdminAct & {
  /** Null where it is not known before. */
  readonly id: string | null;
  /** It restores from the bin, which undoes the deletion if that was the target's last change. */
  readonly isRestore?: boolean;
};

type Done = Pick<Effect, "before" | "after"> & {
  readonly id: string | null;
  readonly name: string | null;
};

type Recorder = Pick<Operator, "openHistory" | "report" | "key_print" | "client">;

/** Writes the row of the history before the act, so that no act is missing there. */
export async function journal<Result>(
  { openHistory, report, key_print, client }: Recorder,
  { id, name, isRestore = false, ...act }: Begun,
  run: () => Promise<Result>,
  describe: (result: Result) => Done,
): Promise<Result> {
  const history = await openHistory();
  const target = { target_id: id, target_key: null, name };
  const undoes = isRestore ? await findDeletion(history, act, id) : undefined;
  const writer = { key_print, client };
  const change = await history.begin({ ...writer, ...act, undoes, ...target, effects: [] });
  const result = await run().catch(async (error: unknown) => {
    // A transaction that failed has changed nothing; one whose end is not known stays noted so.
    if (!mayBeDone(error)) await history.drop(change).catch(report);
    throw error;
  });
  // What was done stays done, and its row stays as one whose end is unknown.
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

/** As the store says it, or the service that asked it. */
function mayBeDone(error: unknown): boolean {
  if (error instanceof CallFailure) return error.facts.effect !== "none";
  if (error instanceof Problem) return readOutageCode(error) === "outcome_unknown";
  return isInDoubt(error);
}

function describeEnd({ kind, target_key }: Change, { id, name, ...done }: Done): Ended {
  return {
    kind,
    target_id: id,
    target_key,
    name,
    state: "done",
    effects: [{ kind, id, ...done }],
  };
}

/** What differs between two records, as it was and as it is. */
export function compareRecords(
  before: JsonObject,
  after: JsonObject,
): { readonly before: JsonObject; readonly after: JsonObject } {
  const names = Object.keys(after).filter((name) => !isSame(before[name], after[name]));
  const pick = (record: JsonObject) =>
    Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
  return { before: pick(before), after: pick(after) };
}
