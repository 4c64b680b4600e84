import { unaskedMove_ms } from "../../../contract/approval-rules.ts";
import type { FilterInput } from "../../../contract/filters.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { movesPath } from "../../../contract/rules/moved-link.ts";
import { isRefused } from "../../results/tool-failure.ts";
import type { KeyContext } from "../../access/key-context.ts";
import type { Call } from "../tool.ts";

export type FreshnessCall = Pick<Call, "ask"> & {
  readonly keyContext: Pick<KeyContext, "checksConditions" | "clock" | "isSameTime">;
};

/**
 * Whether a change moves a link whose path no visitor can know: one without clicks that was made a
 * moment ago. The API shows no times, so the link's age is known by the filters that find it.
 */
export async function isFreshMove(
  before: JsonObject,
  input: JsonObject,
  { ask, keyContext }: FreshnessCall,
): Promise<boolean> {
  const { id, path, clicks } = before;
  if (!movesPath(before, input) || clicks !== 0) return false;
  if (typeof path !== "string") return false;
  const value = new Date(keyContext.clock.now() - unaskedMove_ms).toISOString();
  const isAmong = async (condition: "gteq" | "lt") => {
    const filters: readonly FilterInput[] = [
      { field: "path", condition: "eq", value: path },
      { field: "created_at", condition, value },
    ];
    try {
      const { links } = await ask(contract.links.index, { filters });
      return links.some((link) => link.id === id);
    } catch (error) {
      // The age is unknown, so the move asks.
      if (isRefused(error) && error.failure.code !== "cancelled") return undefined;
      throw error;
    }
  };
  if ((await isAmong("gteq")) !== true) return false;
  if (keyContext.checksConditions) return true;
  // A remote server that ignores the filter shows the link both times. If its clock differs
  // or is unknown, the answers prove nothing.
  return (await isAmong("lt")) === false && keyContext.isSameTime();
}
