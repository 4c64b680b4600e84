import type { Server } from "@modelcontextprotocol/server";
import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import { showHidden } from "./inert.ts";
import { readRows } from "./present.ts";
import { findKind } from "./resource-kind.ts";
import { readTemplate, shown } from "./resources.ts";
import type { ServerOptions } from "./server.ts";
import type { JsonObject } from "./tool.ts";

/** What could follow while a person types the name of a link or an app. */

const mostValues = 20;

/** The arguments of prompts that name an app. */
const appArguments: Readonly<Record<string, Endpoint>> = {
  bundle_id: contract.iosApps.index,
  package_name: contract.androidApps.index,
};

export function serveCompletions(server: Server, { surface }: ServerOptions): void {
  server.setRequestHandler("completion/complete", async (request, { mcpReq }) => {
    const { ref, argument } = request.params;
    const index =
      ref.type === "ref/resource"
        ? shown.map(findKindOf).find(([uri]) => uri === ref.uri)?.[1]
        : appArguments[argument.name];
    const values = index === undefined ? [] : await complete(index, argument.value, mcpReq.signal);
    return { completion: { values, hasMore: values.length === mostValues } };
  });

  /** A suggestion that cannot be had is no error: the person types on. */
  async function complete(index: Endpoint, begun: string, signal: AbortSignal): Promise<string[]> {
    const { key } = findKind(index);
    if (key === undefined || surface.access.read(index).state === "denied") return [];
    const filters = begun === "" ? [] : [{ field: key, condition: "start", value: begun } as const];
    const sort = { field: key, direction: "asc" } as const;
    try {
      const input = { filters, sort, limit: mostValues };
      const page: unknown = await surface.client.call<Endpoint>(index, input, signal);
      return readRows(index, page as JsonObject).map((row) => showHidden(String(row[key])));
    } catch {
      return [];
    }
  }
}

function findKindOf(endpoint: Endpoint): readonly [string, Endpoint] {
  return [readTemplate(endpoint), findKind(endpoint).index];
}
