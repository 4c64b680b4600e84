import type { ApiRequest } from "../../../src/contract/api-message.ts";
import { apiPrefix } from "../../../src/contract/index.ts";
import type { Plan, PlanRow } from "../../../src/state/plans.ts";
import type { RowName } from "./truth.ts";

/** Finds the row of the applied plan that a request belongs to. */
export type SimPlan = {
  readonly plan: Plan;
  readonly rows: readonly PlanRow[];
  readonly name: (position: number) => RowName;
  /** Undefined for a write request that is not in the plan. */
  readonly findRow: (request: ApiRequest) => number | undefined;
};

export function readPlanned(title: string, plan: Plan, rows: readonly PlanRow[]): SimPlan {
  const byRequest = new Map<string, number>();
  for (const row of rows) {
    const request = foresee(row);
    if (request !== undefined) byRequest.set(request, row.position);
  }
  return {
    plan,
    rows,
    name: (position) => `${title} row ${position}`,
    findRow: (request) =>
      byRequest.get(
        describe(request.method, readPath(request), request.body && JSON.parse(request.body)),
      ),
  };
}

export function readPath({ url }: Pick<ApiRequest, "url">): string {
  const { pathname } = new URL(url);
  return pathname.replace(apiPrefix, "");
}

export function readTarget({ action, link_id, path }: PlanRow): string {
  return action === "create" ? `path ${path}` : `id ${link_id}`;
}

/** Returns the link that a request reads or writes, or undefined for other requests. */
export function readAsked({ url, body }: ApiRequest): string | undefined {
  const { pathname, searchParams } = new URL(url);
  const path = searchParams.get("q[path_eq]");
  if (path !== null) return `path ${path}`;
  if (pathname.endsWith("/links/upsert")) return `path ${JSON.parse(body ?? "{}").path}`;
  const [, id] = /\/links\/([^/]+)$/.exec(pathname) ?? [];
  return id === undefined ? undefined : `id ${id}`;
}

function foresee({ action, link_id, path, fields }: PlanRow): string | undefined {
  switch (action) {
    case "create":
      return describe("POST", "/links/upsert", { ...fields, path });
    case "update":
      return describe("PATCH", `/links/${link_id}`, fields);
    case "delete":
      return describe("DELETE", `/links/${link_id}`, undefined);
    default:
      return undefined;
  }
}

function describe(method: string, path: string, body: unknown): string {
  return `${method} ${path} ${sortNames(body)}`;
}

/** Returns JSON with sorted names, so that their order does not matter. */
function sortNames(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        )
      : value,
  );
}
