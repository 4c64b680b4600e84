import { addressBudgets, budgets } from "../../../src/contract/budgets.ts";
import { findAddressBudget, listMethods, type Endpoint } from "../../../src/contract/endpoint.ts";
import { served } from "../../../src/contract/index.ts";
import { isOwnEndpoint } from "../../../src/contract/openapi/operations.ts";
import { code, listCodes, writeTable } from "./table.ts";

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

export function writeFilters(): string {
  const rows = endpoints.flatMap(({ path, list }) => {
    const { filters = {}, own = {} } = list ?? {};
    const fields = [filters, own].map((kinds) => listCodes(Object.keys(kinds)));
    return fields.some((names) => names !== "") ? [[code(path), ...fields]] : [];
  });
  return writeTable(["list", "fields in `q`", "fields in `f`"], rows);
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
