import type { Config } from "../config.ts";
import type { JsonObject } from "../contract/json.ts";
import { isSame } from "../contract/rules/writable-fields.ts";
import { operatorPrint, type Change, type Effect, type Ended } from "../state/history.ts";
import { createLazyState } from "./lazy-state.ts";
import { createLog, createReport } from "./log.ts";

/** What the operator does at the terminal, noted in the same history as an assistant's writes. */

type Command = {
  /** The words that were typed. */
  readonly tool: string;
  /** A project's id, or what stands for the whole deployment. */
  readonly realm: string;
  readonly kind: string;
  /** Null where the command makes it. */
  readonly id: string | null;
  readonly name: string | null;
  /** How it is put back, where undo cannot. */
  readonly note?: string;
};

type Done = Pick<Effect, "before" | "after"> & {
  readonly id: string | null;
  readonly name: string | null;
};

/** The row is there before anything is done, so that nothing is done that is not in it. */
export async function journalCommand<Result>(
  config: Config,
  { id, name, ...command }: Command,
  run: () => Promise<Result>,
  describe: (result: Result) => Done,
): Promise<Result> {
  const report = createReport(createLog(config));
  const { open, close } = createLazyState(config);
  try {
    const { history } = await open();
    const target = { target_id: id, target_key: null, name };
    const begun = { key_print: operatorPrint, client: null, ...command, ...target, effects: [] };
    const change = await history.begin(begun);
    const result = await run().catch(async (error: unknown) => {
      // The store is in this process, so that a failed transaction has changed nothing.
      await history.drop(change.id).catch(report);
      throw error;
    });
    // What was done stays done, and its row stays as one whose end is unknown.
    await history.note(change.id, describeEnd(change, describe(result))).catch(report);
    return result;
  } finally {
    await close();
  }
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
