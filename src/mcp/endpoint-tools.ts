import * as z from "zod";
import type { Endpoint } from "../contract/endpoint.ts";
import { listEndpoints } from "../contract/index.ts";
import type { Mode } from "./mode.ts";
import { checkArguments } from "./check-arguments.ts";
import { descriptions, type EndpointTool } from "./descriptions.ts";
import { buildInput, listFields, publishBoth, type Fields } from "./input-schema.ts";
import { once } from "./once.ts";
import { publishOutput, publishPage } from "./output-schema.ts";
import { findKind, type ResourceKind } from "./resource-kind.ts";
import { mayNeedApproval, runEndpoint } from "./run-endpoint.ts";
import { annotate, type JsonObject, type Tool } from "./tool.ts";

/** The tools that are the contract's entries, one each. */
export function deriveTools(mode: Mode): readonly Tool[] {
  return listEndpoints().map((endpoint) => deriveTool(endpoint, mode));
}

function deriveTool(endpoint: Endpoint, mode: Mode): Tool {
  const { tool: name, title, effect } = endpoint;
  const kind = findKind(endpoint);
  const fields = once(() => listOwnFields(endpoint, kind, mode));
  const schema = once(() => buildInput(fields()));
  return {
    name,
    title,
    // Every tool of the contract has its text: the table is typed by the contract.
    description: descriptions[name as EndpointTool],
    group: kind.group,
    effect,
    annotations: annotate(endpoint),
    fieldsLike: findFieldTexts(endpoint),
    inputSchema: publishBoth(fields, Object.keys(endpoint.body?.shape ?? {})),
    outputSchema: once(() => publishResult(endpoint, kind)),
    readAccess: (access) => access.read(endpoint),
    check: (given) => checkArguments(name, schema(), given),
    run: (args, call) => runEndpoint(endpoint, args, call),
  };
}

/** Fields are explained once, by the first tool that takes them. */
function findFieldTexts({ tool, body }: Endpoint): string | undefined {
  const first = listEndpoints().find((endpoint) => body !== undefined && endpoint.body === body);
  return first?.tool === tool ? undefined : first?.tool;
}

function listOwnFields(endpoint: Endpoint, kind: ResourceKind, mode: Mode): Fields {
  return listFields(endpoint, {
    idText: kind.key === undefined ? "UUID" : `UUID or ${kind.key}`,
    takesApproval: mode === "two-step" && mayNeedApproval(endpoint),
  });
}

function publishResult({ response, list, method }: Endpoint, { name }: ResourceKind): JsonObject {
  if (method === "DELETE") return publishOutput({ deleted });
  if (response === null) return publishOutput({});
  if (list === undefined) return publishOutput({ [name]: response });
  // A list's response is the envelope itself: its rows and `meta`.
  const { [list.name]: rows, meta } = (response as z.ZodObject).shape;
  const { element } = rows as z.ZodArray;
  // zod types an element as its core's schema, of which every schema here is one.
  return publishPage(list.name, element as z.ZodType, { meta: meta as z.ZodType, next });
}

const deleted = z.looseObject({ id: z.string() });
const next = z.string();
