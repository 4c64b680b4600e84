import * as z from "zod";
import type { FilterInput } from "../../contract/filters.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { statsBy, type LinkStats } from "../../contract/link-stats.ts";
import type { TimeZone } from "../../contract/local-time.ts";
import { findKind } from "../../contract/resource-kind.ts";
import { isTimeZone } from "../../text/time-zone.ts";
import { listFields, type ToolFields } from "../schemas/input-schema.ts";
import { findTarget } from "./targets.ts";
import { makeTool, type ToolCall, type Tool } from "./tool.ts";

/** The tool that reports how often links were visited. */

const { links, linkStats } = contract;

const counted = z.looseObject({ clicks: z.int() });
const result = {
  stats: z.looseObject({
    from: z.string(),
    to: z.string(),
    by: z.string(),
    total: counted,
    previous: counted.optional(),
    rows: z.array(counted.extend({ key: z.string(), previous: z.int().optional() })),
    sentence: z.string(),
  }),
};

export function createLinkStats(): Tool {
  const { tool: name, title, summary: description, effect, idempotent } = linkStats.show;
  return makeTool({
    name,
    title,
    description,
    group: "links",
    effect,
    idempotent,
    like: { what: "Filters", tool: links.index.tool },
    fields: listOwnFields,
    result: () => result,
    readAccess: (access) => access.read(linkStats.show),
    run: async (args, call) => {
      const { id, compare, ...asked } = args as StatsArguments;
      const zone = asked.time_zone ?? chooseZone(call.keyContext)?.name;
      const { stats } = await call.callApi(linkStats.show, {
        ...asked,
        ...(id !== undefined && { id: await findTarget(findKind(links.show), id, call) }),
        ...(compare !== undefined && { compare: String(compare) }),
        ...(zone !== undefined && { time_zone: zone }),
      });
      return { stats: showStats(stats) };
    },
  });
}

type StatsArguments = {
  readonly id?: string;
  readonly filters?: readonly FilterInput[];
  readonly from?: string;
  readonly to?: string;
  readonly by?: LinkStats["by"];
  readonly compare?: boolean;
  readonly time_zone?: string;
};

function listOwnFields(isTerse: boolean): ToolFields {
  const { filters } = listFields(links.index, { idText: "" });
  return {
    id: z.string().optional(),
    ...(filters && { filters: isTerse ? z.array(z.looseObject({})).optional() : filters }),
    from: z.string().optional(),
    to: z.string().optional(),
    by: z.enum(statsBy).optional(),
    compare: z.boolean().optional(),
    time_zone: z.string().optional(),
  };
}

/** Returns the user's time zone, or undefined if the API would reject its name. */
export function chooseZone({ timeZone }: ToolCall["keyContext"]): TimeZone | undefined {
  return timeZone !== undefined && isTimeZone(timeZone.name) ? timeZone : undefined;
}

/** Formats statistics. Omits opens and installs that are zero, and the IDs of links. */
function showStats({ rows, total, previous, ...stats }: LinkStats): JsonObject {
  return {
    ...stats,
    total: leaveOutNone(total),
    ...(previous && { previous: leaveOutNone(previous) }),
    rows: rows.map(({ id: _id, ...row }) => leaveOutNone(row)),
  };
}

function leaveOutNone<Counts extends { readonly opens: number; readonly installs: number }>({
  opens,
  installs,
  ...others
}: Counts) {
  return { ...others, ...(opens > 0 && { opens }), ...(installs > 0 && { installs }) };
}
