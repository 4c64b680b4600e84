import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { paging } from "../../../contract/limits.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { readListRows } from "../../results/present-body.ts";
import type { KnownApps } from "../../results/present-link.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { readRecord } from "./find-record.ts";

/**
 * The apps on some links, for their names. Our own service is in this process and answers at once;
 * of a deployment elsewhere each would be a call more, so that only what it answers is told. Those
 * that were `read` before are not asked for again.
 */
export async function readKnownApps(
  links: readonly JsonObject[],
  call: Asking,
  read: readonly JsonObject[] = [],
): Promise<KnownApps> {
  const known = new Map(read.map((app) => [String(app["id"]), app]));
  const isAnyNamed = links.some((link) =>
    kinds.some((kind) => readAppId(link, kind) !== undefined),
  );
  if (!call.keyContext.checksConditions || !isAnyNamed) return known;
  const found = await Promise.all(kinds.map((kind) => readApps(kind, links, call, known)));
  return new Map([...known, ...found.flat().map((app) => [String(app["id"]), app] as const)]);
}

type Asking = Pick<Call, "ask" | "keyContext">;

const kinds = [contract.iosApps.show, contract.androidApps.show].map(findKind);

/** More than these are not asked for one by one. */
const mostAlone = 3;

async function readApps(
  kind: ResourceKind,
  links: readonly JsonObject[],
  call: Asking,
  known: KnownApps,
): Promise<readonly JsonObject[]> {
  const ids = new Set(links.flatMap((link) => readAppId(link, kind) ?? []));
  const wanted = [...ids].filter((id) => !known.has(id));
  if (wanted.length > mostAlone) {
    return readAny(kind.index, call, async () => {
      const page: unknown = await call.ask(kind.index, { limit: paging.max_limit });
      // Every list's body is an object with its rows; the client parsed it.
      return readListRows(kind.index, page as JsonObject);
    });
  }
  const found = wanted.map((id) =>
    readAny(kind.show, call, async () => {
      const app = await readRecord(kind, id, call);
      return app ? [app] : [];
    }),
  );
  return (await Promise.all(found)).flat();
}

function readAppId(link: JsonObject, { name }: ResourceKind): string | undefined {
  const id = link[`${name}_id`];
  return typeof id === "string" ? id : undefined;
}

/** What is asked for is shown all the same, with the app's id for its name. */
async function readAny(
  endpoint: Endpoint,
  { keyContext }: Asking,
  read: () => Promise<readonly JsonObject[]>,
): Promise<readonly JsonObject[]> {
  if (keyContext.access.read(endpoint).state === "denied") return [];
  return read().catch((error: unknown) => {
    if (error instanceof ToolFailure) return [];
    throw error;
  });
}
