import * as z from "zod";
import { addressBudgets, budgets } from "../../../src/contract/limits.ts";
import { findAddressBudget, listMethods, type Endpoint } from "../../../src/contract/endpoint.ts";
import type { OfferedCondition } from "../../../src/contract/filters.ts";
import { served } from "../../../src/contract/index.ts";
import { errorResponses, statuses } from "../openapi/errors.ts";
import { isOwnEndpoint } from "../openapi/operations.ts";
import { readProperties, writeSchemas } from "../openapi/schemas.ts";
import { code, listCodes, writeTable } from "./table.ts";

/** Writes the tables of REST endpoints and their fields. */

export const endpoints = Object.values(served).flatMap((group) => Object.values<Endpoint>(group));

export function writeEndpoints(): string {
  const rows = endpoints.map((endpoint) => [
    nameEndpoint(endpoint),
    endpoint.scope ?? keys[endpoint.auth],
    endpoint.summary + (isOwnEndpoint(endpoint) ? " Only Waypost." : ""),
  ]);
  return writeTable(["endpoint", "scope", "does"], rows);
}

const keys = { master: "master key", none: "no key", project: "a key", client: "a client key" };

export function nameEndpoint(endpoint: Endpoint): string {
  const methods = listMethods(endpoint).filter((method) => method !== "HEAD");
  return code(`${methods.join(", ")} ${endpoint.path}`);
}

/** The fields as the OpenAPI document describes them. */
export function writeLinkFields(): string {
  const fields = Object.entries(readProperties(writeSchemas()["LinkFields"]));
  const rows = fields.map(([name, field]) => {
    const own = field["x-waypost-own"] === true ? " Only Waypost." : "";
    return [code(name), z.string().parse(field["description"]) + own];
  });
  return writeTable(["field", "meaning"], rows);
}

/** The conditions, then the fields of each list. */
export function writeFilters(): string {
  return `${writeConditions()}\n\n${writeFilterFields()}`;
}

/** Conditions with the same meaning share a row. */
function writeConditions(): string {
  const rows = [...new Set(Object.values(meanings))].map((meaning) => {
    const names = Object.entries(meanings).filter(([, other]) => other === meaning);
    return [listCodes(names.map(([name]) => name)), meaning];
  });
  return writeTable(["condition", "matches"], rows);
}

const exact = "the exact value; case counts";
const compared = "greater or smaller; a date is its midnight in UTC";
const partial = "a part, or the start; case does not count";
const without = "`true` or `false`: without a value, or with one";

const meanings: Readonly<Record<OfferedCondition, string>> = {
  eq: exact,
  not_eq: exact,
  in: exact,
  cont: partial,
  start: partial,
  gt: compared,
  gteq: compared,
  lt: compared,
  lteq: compared,
  null: without,
  empty: without,
  present: "`true` or `false`: with a value, or without one",
};

function writeFilterFields(): string {
  const rows = endpoints.flatMap(({ path, list }) => {
    const { filters = {}, own = {} } = list ?? {};
    const fields = [filters, own].map((kinds) => listCodes(Object.keys(kinds)));
    return fields.some((names) => names !== "") ? [[code(path), ...fields]] : [];
  });
  return writeTable(["list", "fields in `q`", "fields in `f`"], rows);
}

/** When responses share a status, the first is the general one. */
export function writeStatuses(): string {
  const rows = new Map<string, string>();
  for (const [name, status] of Object.entries(statuses)) {
    const description = z.string().parse(errorResponses[name]?.["description"]);
    if (!rows.has(status)) rows.set(status, description);
  }
  return writeTable(["status", "meaning"], [...rows]);
}

export function writeRateLimits(): string {
  const rows = Object.entries({ ...budgets, ...addressBudgets }).flatMap(([name, budget]) => {
    const limited = endpoints.filter((endpoint) => {
      return (endpoint.budget ?? findAddressBudget(endpoint)) === name;
    });
    if (limited.length === 0) return [];
    const requests = `${budget.limit} in ${budget.window_ms / 1000} seconds`;
    const names = limited.map(nameEndpoint).join(", ");
    return [[requests, name in budgets ? "key" : "address", names]];
  });
  return writeTable(["requests", "for each", "to these endpoints together"], rows);
}
