import { listMethods, type Endpoint } from "../../../src/contract/endpoint.ts";
import { listToolEndpoints } from "../../../src/contract/index.ts";
import { code, writeTable } from "./table.ts";

export function writeEndpoints(): string {
  const rows = listToolEndpoints().map((endpoint) => [
    nameEndpoint(endpoint),
    endpoint.scope ?? keys[endpoint.auth],
    endpoint.summary,
  ]);
  return writeTable(["endpoint", "scope", "does"], rows);
}

const keys = { master: "master key", none: "no key", project: "a key", client: "a client key" };

export function nameEndpoint(endpoint: Endpoint): string {
  const methods = listMethods(endpoint).filter((method) => method !== "HEAD");
  return code(`${methods.join(", ")} ${endpoint.path}`);
}
