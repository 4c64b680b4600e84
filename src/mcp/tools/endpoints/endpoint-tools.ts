import * as z from "zod";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract, listToolEndpoints } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import {
  describeIds,
  findKind,
  nameResult,
  type ResourceKind,
} from "../../../contract/resource-kind.ts";
import { checkArguments } from "../../schemas/check-arguments.ts";
import {
  buildBothSchemas,
  buildInput,
  listFields,
  listTold,
  type Fields,
} from "../../schemas/input-schema.ts";
import { once } from "../../schemas/once.ts";
import {
  buildOutputSchema,
  buildWrittenSchema,
  describeShown,
  problems,
} from "../../schemas/output-schema.ts";
import { previewFields, previewResult } from "../templates/preview-template.ts";
import { linkRow } from "../../results/present-link.ts";
import { versionWords } from "../templates/read-version.ts";
import { runTemplate } from "../templates/run-template.ts";
import { templateView } from "../templates/view-resource.ts";
import { annotate, type Likeness, type Tool } from "../tool.ts";
import { descriptions, type EndpointTool } from "./descriptions.ts";
import { findTarget } from "../targets.ts";
import { linkFields, runGetLink } from "./get-link.ts";
import { nameDraft, nameLinkOf } from "./name-link.ts";
import { runEndpoint } from "./run-endpoint.ts";

const { preview } = contract.pageTemplate;

/** The tools that are the contract's entries, one each. */
export function deriveTools(): readonly Tool[] {
  return listToolEndpoints().map(deriveTool);
}

function deriveTool(endpoint: Endpoint): Tool {
  const { tool: name, title, effect, needed = [] } = endpoint;
  const kind = findKind(endpoint);
  const own = listOwnFields(endpoint);
  const fieldOptions = { idText: writeIdText(endpoint, kind), own };
  const fields = once(() => listFields(endpoint, fieldOptions));
  const terseFields = () => listFields(endpoint, fieldOptions, true);
  const schema = once(() => buildInput(fields()));
  const run = chooseRun(endpoint);
  const known = listTold(endpoint);
  const told = known.filter((field) => !Object.hasOwn(own, field));
  return {
    name,
    title,
    // Every tool of the contract has its text: the table is typed by the contract.
    description: descriptions[name as EndpointTool],
    group: kind.group,
    effect,
    annotations: annotate(endpoint),
    like: findDescribedFields(endpoint) ?? findDescribedFilters(endpoint),
    inputSchema: buildBothSchemas(fields, told, { terseFields, needed }),
    outputSchema: once(() => describeResult(endpoint, kind)),
    readAccess: (access) => access.read(endpoint),
    check: (given) => checkArguments(name, schema(), given, known),
    run: async (given, call) => {
      const args = await nameDraft(await nameLinkOf(endpoint, given, call), call);
      if (effect !== "read") {
        const readId = () => findTarget(kind, String(args["id"]), call);
        await call.keyContext.refuseForeign(endpoint, args, call.signal, readId);
      }
      return run(endpoint, args, call);
    },
    view: endpoint === preview ? templateView.uri : undefined,
  };
}

function writeIdText(endpoint: Endpoint, kind: ResourceKind): string {
  return endpoint === contract.pageTemplate.version ? versionWords : describeIds(kind);
}

/** What the tool takes that its endpoint does not, or not so. */
function listOwnFields(endpoint: Endpoint): Fields {
  if (endpoint === preview) return previewFields;
  return endpoint === contract.links.show ? linkFields : {};
}

function chooseRun(endpoint: Endpoint): typeof runEndpoint {
  if (endpoint.feature === "page_templates") return runTemplate;
  return endpoint === contract.links.show ? runGetLink : runEndpoint;
}

/** Fields are explained once, by the first tool that takes them. */
function findDescribedFields({ tool, body }: Endpoint): Likeness | undefined {
  const first = listToolEndpoints().find(
    (endpoint) =>
      body !== undefined && endpoint.body !== undefined && extendsBody(body, endpoint.body),
  );
  return first && first.tool !== tool ? { what: "Fields", tool: first.tool } : undefined;
}

/** So are filters, but for the fields that they are on. */
function findDescribedFilters({ tool, list }: Endpoint): Likeness | undefined {
  const first = contract.links.index.tool;
  const hasFilters = Object.keys(list?.filters ?? {}).length > 0;
  return hasFilters && tool !== first ? { what: "Filters", tool: first } : undefined;
}

/** Whether a body has all fields of another one, and these are the very same. */
function extendsBody(body: z.ZodObject, first: z.ZodObject): boolean {
  return Object.entries(first.shape).every(([name, field]) => body.shape[name] === field);
}

function describeResult(endpoint: Endpoint, kind: ResourceKind): JsonObject {
  const { response, list, method, effect } = endpoint;
  if (method === "DELETE") return buildOutputSchema({ deleted });
  if (response === null) return buildOutputSchema({});
  const name = nameResult(endpoint, kind);
  // The text of a page, for a person to look at.
  if (!(response instanceof z.ZodObject)) return buildOutputSchema({ ...previewResult, problems });
  if (name === undefined || list !== undefined) {
    // The response is the envelope itself: its rows and, where there are pages, `meta`.
    const isPaged = list !== undefined;
    const rows = describeList(response, kind);
    return buildOutputSchema({ ...rows, ...(isPaged && { meta, next }), problems });
  }
  if (effect !== "read") return buildWrittenSchema(name);
  // Once is enough: links are read by two tools.
  const isTold = endpoint !== contract.shortLinks.resolve;
  return buildOutputSchema({ [name]: isTold ? describeShown(response) : otherRow, problems });
}

function describeList({ shape }: z.ZodObject, kind: ResourceKind) {
  // What an envelope has is a list of resources, and `meta`.
  const lists = Object.entries(shape).filter(([, member]) => member instanceof z.ZodArray);
  const rows = z.array(kind.name === "link" ? linkRow : otherRow);
  return Object.fromEntries(lists.map(([name]) => [name, rows]));
}

/** The tool that reads one of them tells its members. */
const otherRow = z.looseObject({ id: z.unknown() });

const meta = z.looseObject({});

const deleted = z.looseObject({ id: z.unknown() });
const next = z.string();
