import type { Endpoint } from "../contract/endpoint.ts";
import { listEndpoints } from "../contract/index.ts";
import { z } from "zod";
import type { Mode } from "./mode.ts";
import { checkArguments } from "./check-arguments.ts";
import { checkFilters } from "./check-filters.ts";
import { descriptions, type EndpointTool } from "./descriptions.ts";
import { buildInput, publishBoth } from "./input-schema.ts";
import { once } from "./once.ts";
import { publishOutput } from "./output-schema.ts";
import { findKind, type ResourceKind } from "./resource-kind.ts";
import { mayNeedApproval, runEndpoint } from "./run-endpoint.ts";
import { annotate, type Tool } from "./tool.ts";

/** The tools that are the contract's entries, one each. */
export function deriveTools(mode: Mode): readonly Tool[] {
  return listEndpoints().map((endpoint) => deriveTool(endpoint, mode));
}

function deriveTool(endpoint: Endpoint, mode: Mode): Tool {
  const { tool: name, title, effect, list } = endpoint;
  const kind = findKind(endpoint);
  const schema = once(() => buildSchema(endpoint, kind, mode));
  return {
    name,
    title,
    // Every tool of the contract has its text: the table is typed by the contract.
    description: descriptions[name as EndpointTool],
    group: kind.group,
    effect,
    annotations: annotate(endpoint),
    fieldsLike: findFieldTexts(endpoint),
    inputSchema: publishBoth(schema, Object.keys(endpoint.body?.shape ?? {})),
    outputSchema: once(() => publishOutput(buildResult(endpoint, kind))),
    readAccess: (access) => access.read(endpoint),
    check: (given) => {
      const args = checkArguments(name, schema(), given);
      // The schema of a list's tool is that of its input.
      if (list !== undefined) checkFilters(name, list.filters, args);
      return args;
    },
    run: (args, call) => runEndpoint(endpoint, args, call),
  };
}

/** Fields are explained once, by the first tool that takes them. */
function findFieldTexts({ tool, body }: Endpoint): string | undefined {
  const first = listEndpoints().find((endpoint) => body !== undefined && endpoint.body === body);
  return first?.tool === tool ? undefined : first?.tool;
}

function buildSchema(endpoint: Endpoint, kind: ResourceKind, mode: Mode): z.ZodObject {
  return buildInput(endpoint, {
    idText: kind.key === undefined ? "UUID" : `UUID or ${kind.key}`,
    takesApproval: mode === "two-step" && mayNeedApproval(endpoint),
  });
}

function buildResult(
  { response, list, method }: Endpoint,
  { name }: ResourceKind,
): Readonly<Record<string, z.ZodType>> {
  if (method === "DELETE") return { deleted: z.looseObject({ id: z.string() }) };
  if (response === null) return {};
  if (list === undefined) return { [name]: response };
  // A list's response is the envelope itself; rows come without their nulls.
  const { [list.name]: rows, meta } = (response as z.ZodObject).shape;
  return { [list.name]: loosen(rows as z.ZodArray), meta: meta as z.ZodType, next: z.string() };
}

/** The rows of a page: any of their fields may be left out. */
function loosen(rows: z.ZodArray): z.ZodType {
  return z.array((rows.element as z.ZodObject).partial().required({ id: true }));
}
