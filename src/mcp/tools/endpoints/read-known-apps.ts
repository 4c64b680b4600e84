import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import type { KnownApps } from "../../results/present-link.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { readRecord } from "./find-record.ts";

/**
 * The apps on some links, for their names. Our own service is in this process and answers at once;
 * of a deployment elsewhere each would be a call more, so that only what it answers is told.
 */
export async function readKnownApps(
  links: readonly JsonObject[],
  call: Pick<Call, "ask" | "keyContext">,
): Promise<KnownApps> {
  if (!call.keyContext.checksConditions) return new Map();
  const wanted = kinds.flatMap((kind) => {
    const ids = new Set(links.map((link) => link[`${kind.name}_id`]));
    return [...ids].filter((id) => typeof id === "string").map((id) => ({ kind, id }));
  });
  const found = await Promise.all(
    wanted.map(async ({ kind, id }) => [id, await readApp(kind, id, call)] as const),
  );
  return new Map(found.flatMap(([id, app]) => (app ? [[id, app] as const] : [])));
}

const kinds = [contract.iosApps.show, contract.androidApps.show].map(findKind);

/** What is asked for is shown all the same, with the app's id for its name. */
async function readApp(
  kind: (typeof kinds)[number],
  id: string,
  call: Pick<Call, "ask" | "keyContext">,
) {
  if (call.keyContext.access.read(kind.show).state === "denied") return undefined;
  return readRecord(kind, id, call).catch((error: unknown) => {
    if (error instanceof ToolFailure) return undefined;
    throw error;
  });
}
