import type { Server } from "@modelcontextprotocol/server";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { findKind } from "../../contract/resource-kind.ts";
import { showHidden } from "../../text/show-hidden.ts";
import { readListRows } from "../results/present-body.ts";
import type { HideErrors } from "./protocol-errors.ts";
import { listShown, writeTemplate } from "./resources.ts";
import type { ServerOptions } from "./server-options.ts";

/** What could follow while a person types the name of a link or an app. */

const mostValues = 20;

/** The arguments of prompts that name an app. */
const appArguments: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ["bundle_id", contract.iosApps.index],
  ["package_name", contract.androidApps.index],
]);

export function serveCompletions(
  server: Server,
  options: ServerOptions,
  hideErrors: HideErrors,
): void {
  const { access, call, renew } = options.keyContext;
  server.setRequestHandler(
    "completion/complete",
    hideErrors(async (request, { mcpReq: { signal } }) => {
      const { ref, argument } = request.params;
      await renew();
      const index =
        ref.type === "ref/resource" ? findIndex(ref.uri) : appArguments.get(argument.name);
      const values = index === undefined ? [] : await complete(index, argument.value, signal);
      return { completion: { values, hasMore: values.length === mostValues } };
    }),
  );

  function findIndex(uri: string): Endpoint | undefined {
    const show = listShown(options).find((endpoint) => writeTemplate(endpoint) === uri);
    return show && findKind(show).index;
  }

  /** A suggestion that cannot be had is no error: the person types on. */
  async function complete(index: Endpoint, prefix: string, signal: AbortSignal): Promise<string[]> {
    const { key } = findKind(index);
    if (key === undefined || access.read(index).state === "denied") return [];
    // A blank filter would be ignored, and an empty prefix asks for everything.
    const filters = prefix.trim() === "" ? [] : [{ field: key, condition: "start", value: prefix }];
    const input = { filters, sort: { field: key, direction: "asc" }, limit: mostValues };
    try {
      const page: unknown = await call<Endpoint>(index, input, signal);
      const names = readListRows(index, page as JsonObject).map((row) => row[key]);
      return names.flatMap((name) => (typeof name === "string" ? [showHidden(name)] : []));
    } catch {
      return [];
    }
  }
}
