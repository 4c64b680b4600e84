import type { Endpoint } from "../../../contract/endpoint.ts";
import type { ListInput } from "../../../contract/filters.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { ReadMeta } from "../../../contract/fields.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { readListRows } from "../../results/present-body.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** Rows of lists, in which what a text names is looked for. */

export type Found = {
  /** Those that the text names: of more than one nobody knows which is meant. */
  readonly rows: readonly JsonObject[];
  /** Where there is none: what near ones have in their path, or those themselves. */
  readonly near: string | readonly JsonObject[] | undefined;
  /** And what is near by its name, where that was looked for too. */
  readonly nearNames?: readonly JsonObject[];
  /** Of an address elsewhere: why it is none of ours, and what is at the same path here. */
  readonly foreign?: { readonly message: string; readonly there: readonly JsonObject[] };
};

export type ListedPage = {
  readonly rows: readonly JsonObject[];
  /** Whether the list goes on behind them. */
  readonly hasMore: boolean;
};

export async function listPage(
  index: Endpoint,
  wanted: ListInput,
  { ask }: Pick<Call, "ask">,
): Promise<ListedPage> {
  try {
    // Every list's body is an object with its rows under the list's name; the client parsed it.
    const page = (await ask(index, wanted)) as unknown as JsonObject;
    const { next } = page["meta"] as ReadMeta;
    return { rows: readListRows(index, page), hasMore: typeof next === "number" };
  } catch (error) {
    if (!(error instanceof ToolFailure) || error.failure.status !== 401) throw error;
    const { label, key = "name" } = findKind(index);
    const next = `This key cannot find a ${label} by its ${key}. Call again with its UUID.`;
    throw new ToolFailure({ ...error.failure, next });
  }
}

export async function listRows(
  index: Endpoint,
  wanted: ListInput,
  call: Pick<Call, "ask">,
): Promise<readonly JsonObject[]> {
  return (await listPage(index, wanted, call)).rows;
}

/** A text of a row, or an empty one for what is not set. */
export function readText(row: JsonObject, field: string): string {
  const value = row[field];
  return typeof value === "string" ? value : "";
}
