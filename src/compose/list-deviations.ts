import { CallFailure } from "../client/call-failure.ts";
import { listDeviations, type Deviation } from "../contract/deviations.ts";
import { idParameter, type Endpoint } from "../contract/endpoint.ts";
import { listToolEndpoints } from "../contract/index.ts";
import { paging } from "../contract/limits.ts";
import { Problem } from "../contract/problem.ts";
import { findKind } from "../contract/resource-kind.ts";
import type { Client } from "../client/client.ts";
import type { KeyContext } from "../mcp/access/key-context.ts";

/** Where a deployment answers otherwise than the specification says, endpoint by endpoint. */

export type EndpointDeviations = {
  /** `GET /links`. */
  readonly endpoint: string;
  /** `clicks is missing: shown as unknown`; none where all is as specified. */
  readonly said: readonly string[];
  /** Why nothing of its answer can be used. */
  readonly fault?: string;
};

type Asked = Pick<Client, "call"> & Pick<KeyContext, "access">;

/** Everything that can be read without changing anything is read once. */
export async function* listEndpointDeviations(asked: Asked): AsyncGenerator<EndpointDeviations> {
  const ids = new Map<Endpoint, string>();
  for (const endpoint of listReads()) {
    if (asked.access.read(endpoint).state === "denied") continue;
    const { show } = findKind(endpoint);
    const isOfOne = isOne(endpoint);
    const id = ids.get(show);
    // Where there is none, there is nothing to read.
    if (isOfOne && id === undefined) continue;
    const read = await readOne(endpoint, isOfOne ? { id } : { limit: paging.default_limit }, asked);
    if (read === undefined) continue;
    if (read.first !== undefined) ids.set(show, read.first);
    yield read.deviations;
  }
}

/** Lists come before what their rows are read by. */
function listReads(): readonly Endpoint[] {
  const reads = listToolEndpoints().filter(({ method }) => method === "GET");
  return reads.toSorted((one, other) => Number(isOne(one)) - Number(isOne(other)));
}

function isOne({ path }: Endpoint): boolean {
  return path.includes(idParameter);
}

type ReadOne = { readonly deviations: EndpointDeviations; readonly first: string | undefined };

/** Undefined for what this key may not read, or the project has none of. */
async function readOne(
  endpoint: Endpoint,
  input: object,
  { call }: Asked,
): Promise<ReadOne | undefined> {
  const name = `${endpoint.method} ${endpoint.path}`;
  try {
    const body: unknown = await call<Endpoint>(endpoint, input);
    // What is read by these endpoints is an object.
    const said = describeAll(endpoint, body as object);
    return { deviations: { endpoint: name, said }, first: findFirst(endpoint, body as object) };
  } catch (error) {
    if (error instanceof Problem) {
      if (!isOne(endpoint) || error.status === 401) return undefined;
      const said = [`what a list names is answered ${error.status}: shown in lists alone`];
      return { deviations: { endpoint: name, said }, first: undefined };
    }
    if (!(error instanceof CallFailure)) throw error;
    const deviations = { endpoint: name, said: [], fault: error.message };
    return { deviations, first: undefined };
  }
}

function findFirst(endpoint: Endpoint, body: object): string | undefined {
  if (isOne(endpoint)) return undefined;
  // A list has its rows in the one array that it has.
  const rows: readonly unknown[] =
    Object.values(body).find((member) => Array.isArray(member)) ?? [];
  const [row] = rows;
  // Only rows with an id are read.
  return row === undefined ? undefined : (row as { readonly id: string }).id;
}

/** The same in many rows is said once. */
function describeAll(endpoint: Endpoint, body: object): readonly string[] {
  const { label } = findKind(endpoint);
  return [...new Set(listDeviations(body).map((deviation) => describe(label, deviation)))];
}

function describe(label: string, { kind, field, found }: Deviation): string {
  if (field === undefined) return `a ${label} is ${found}: left out of lists`;
  const reading = field.startsWith("meta") && kind !== "converted" ? fromPage : readings[kind];
  return `${field} is ${found}: ${reading}`;
}

const fromPage = "told from the page";

const readings: Readonly<Record<Deviation["kind"], string>> = {
  missing: "shown as unknown",
  unread: "shown as unknown",
  empty: "shown as not set",
  converted: "read as what it says",
};
