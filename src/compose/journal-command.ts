import { CallFailure } from "../client/call-failure.ts";
import type { Config } from "../config.ts";
import type { JsonObject } from "../contract/json.ts";
import { Problem, readOutageCode } from "../contract/problem.ts";
import { isSame } from "../contract/rules/writable-fields.ts";
import {
  operatorPrint,
  type Change,
  type Effect,
  type Ended,
  type History,
  type Writer,
} from "../state/history.ts";
import { isInDoubt } from "../state/state.ts";
import { createLazyState } from "./lazy-state.ts";
import { createLog, createReport } from "./log.ts";

/** What a person does by hand, noted in the same history as an assistant's writes. */

type Command = {
  /** The words that are typed for it at the terminal. */
  readonly tool: string;
  /** A project's id, or what stands for the whole deployment. */
  readonly realm: string;
  readonly kind: string;
  /** Null where it is not known before. */
  readonly id: string | null;
  readonly name: string | null;
  /** How it is put back, where undo cannot. */
  readonly note?: string;
  /** It restores from the bin, which undoes the deletion if that was the target's last change. */
  readonly isRestore?: boolean;
};

type Done = Pick<Effect, "before" | "after"> & {
  readonly id: string | null;
  readonly name: string | null;
};

export async function journalCommand<Result>(
  config: Config,
  command: Command,
  run: () => Promise<Result>,
  describe: (result: Result) => Done,
): Promise<Result> {
  const report = createReport(createLog(config));
  const { open, close } = createLazyState(config);
  try {
    const { history } = await open();
    const noting = { history, report, key_print: operatorPrint, client: null };
    return await journalAct(noting, command, run, describe);
  } finally {
    await close();
  }
}

type Noting = Pick<Writer, "key_print" | "client"> & {
  readonly history: History;
  readonly report: (error: unknown) => unknown;
};

/** The row is there before anything is done, so that nothing is done that is not in it. */
export async function journalAct<Result>(
  { history, report, key_print, client }: Noting,
  { id, name, isRestore = false, ...command }: Command,
  run: () => Promise<Result>,
  describe: (result: Result) => Done,
): Promise<Result> {
  const target = { target_id: id, target_key: null, name };
  const undoes = isRestore ? await findDeletion(history, command, id) : undefined;
  const writer = { key_print, client };
  const change = await history.begin({ ...writer, ...command, undoes, ...target, effects: [] });
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
  { realm, kind }: Pick<Command, "realm" | "kind">,
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

/** Of two records what differs, as it was and as it is. */
export function compareRecords(
  before: JsonObject,
  after: JsonObject,
): { readonly before: JsonObject; readonly after: JsonObject } {
  const names = Object.keys(after).filter((name) => !isSame(before[name], after[name]));
  const pick = (record: JsonObject) =>
    Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
  return { before: pick(before), after: pick(after) };
}
