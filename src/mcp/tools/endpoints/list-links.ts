import { findInList, type FindInput } from "../../../bulk/select/find-in-list.ts";
import { limitTime } from "../../../bulk/select/limit-time.ts";
import { askOwn, asksOwn } from "../../../bulk/select/own-filters.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { explainEnd } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** A list of links, by what the deployment knows, or else by what its links tell. */

const { index } = contract.links;

export type AskedLinks = {
  readonly body: JsonObject;
  /** What the result says besides, where the list was not read to its end. */
  readonly told: JsonObject;
};

export async function askLinks(input: FindInput, call: Call): Promise<AskedLinks> {
  const { after, ...asked } = input;
  if (after === undefined && !asksOwn(asked)) {
    return { body: await call.ask(index, asked), told: {} };
  }
  const { keyContext, signal } = call;
  const { stop, ...inTime } = limitTime({ ...keyContext, signal });
  try {
    const page = after === undefined ? await askOwn(inTime, asked) : undefined;
    if (page !== undefined) return { body: page, told: {} };
    const found = await findInList(inTime, input);
    return { body: found, told: describeReached(found.meta) };
  } catch (error) {
    throw explainEnd({ tool: index.tool, endpoint: index }, error);
  } finally {
    stop();
  }
}

function describeReached(meta: Awaited<ReturnType<typeof findInList>>["meta"]): JsonObject {
  const { page, limit, count, checked, of, complete } = meta;
  if (complete === undefined) return {};
  const all = of === undefined ? "" : ` of ${of}`;
  const next =
    `This server does not support these filters. Waypost had time to check ${checked}${all} ` +
    `links. For the rest, call ${index.tool} with after ${checked} and without page.`;
  return { meta: { page, limit, count, checked, ...(of !== undefined && { of }), complete }, next };
}
