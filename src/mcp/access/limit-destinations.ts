import type { CheckDestinations } from "../../bulk/owner.ts";
import type { Client } from "../../client/client.ts";
import type { KnownKey } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Leaving } from "../../contract/leaving.ts";
import type { LinkFields } from "../../contract/links.ts";
import {
  Problem,
  toSentence,
  type FieldProblem,
  type PlacedProblem,
} from "../../contract/problem.ts";
import {
  checkDestinations,
  judgeBy,
  type Destinations,
} from "../../contract/rules/destinations.ts";
import { isOwnLinkAddress } from "../../contract/rules/link-address.ts";
import { decodeForSearch, normalizeForSearch } from "../../contract/rules/link-path.ts";
import { ToolFailure } from "../results/tool-failure.ts";

/**
 * The hosts that an assistant's links may lead to: those of the operator (WAYPOST_DESTINATIONS)
 * and, in the embedded service, those of the project. Whatever a tool or a job is about to send is
 * looked at here, so that nothing is sent that would newly lead elsewhere.
 */
export type DestinationLimits = {
  /** What of a link's fields would lead elsewhere, and does not already. */
  readonly checkDestinations: CheckDestinations;
  /** Whether links may not lead to any host, as far as is known. */
  readonly limitsDestinations: () => boolean;
  /** Throws before a person is asked of what would be refused afterwards. */
  readonly refuseForeign: (
    endpoint: Endpoint,
    input: JsonObject,
    signal: Leaving,
    readId?: () => Promise<string>,
  ) => Promise<void>;
  /** A call that refuses as the service does, for jobs, and for what changed meanwhile. */
  readonly call: Client["call"];
};

type LimitOptions = {
  readonly destinations: Destinations | undefined;
  readonly readKnown: () => KnownKey;
  readonly call: Client["call"];
};

const { links, shortLinks, pageTemplate } = contract;
const linkWrites = new Set<Endpoint>([links.create, links.upsert, links.update]);
const templateWrites = new Set<Endpoint>([pageTemplate.save, pageTemplate.publish]);
/** A larger body is refused as too large, and would take long to look through. */
const longestBody = 2 ** 17;

export function limitDestinations(options: LimitOptions): DestinationLimits {
  const { destinations, readKnown, call } = options;
  const listRules = (): readonly Destinations[] =>
    [destinations, readKnown().destinations].filter((list) => list !== undefined);
  const checkFields: CheckDestinations = (fields, before) =>
    keepFirst(listRules().flatMap((list) => checkDestinations(fields, list, before)));

  async function find(
    endpoint: Endpoint,
    input: JsonObject,
    signal?: Leaving,
    readId = () => Promise.resolve(String(input["id"])),
  ): Promise<readonly PlacedProblem[]> {
    const rules = listRules();
    if (rules.length === 0) return [];
    // A link's input has a link's fields: the tool's schema, or the plan's rows, were checked.
    const fields = input as LinkFields;
    if (endpoint === shortLinks.create) {
      return isOwnLinkAddress(fields.url ?? "", readKnown().linkHost)
        ? []
        : checkFields({ url: fields.url });
    }
    if (templateWrites.has(endpoint)) return findInTemplate(rules, input, call, signal);
    if (!linkWrites.has(endpoint) || checkFields(fields).length === 0) return [];
    return checkFields(fields, await readStored(endpoint, fields, readId, call, signal));
  }

  return {
    checkDestinations: checkFields,
    limitsDestinations: () => listRules().length > 0,
    refuseForeign: async (endpoint, input, signal, readId) => {
      const problems = await find(endpoint, input, signal, readId);
      if (problems.length > 0) throw failForeign(problems);
    },
    call: async (endpoint, input, signal, options) => {
      if (listRules().length === 0) return call(endpoint, input, signal, options);
      const problems = await find(endpoint, input as JsonObject, signal);
      if (problems.length === 0) return call(endpoint, input, signal, options);
      throw new Problem(422, toSentence(listMessages(problems)), { problems });
    },
  };
}

/** How a tool tells of it; another way to the same host would be refused as well. */
export function failForeign(problems: readonly PlacedProblem[]): ToolFailure {
  return new ToolFailure({
    code: "validation_failed",
    message: toSentence(listMessages(problems)),
    problems: [...problems],
    effect: "none",
    retry: "never",
    next:
      "Tell the user that only the operator can allow another host, with WAYPOST_DESTINATIONS " +
      "or `waypost projects update --destinations`. Do not try another way.",
  });
}

function listMessages(problems: readonly PlacedProblem[]): readonly string[] {
  return problems.map(({ message }) => message.replace(/\.$/, ""));
}

/** A field that two lists refuse is told of once. */
function keepFirst(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const fields = problems.map(({ field }) => field);
  return problems.filter(({ field }, at) => fields.indexOf(field) === at);
}

/** The link as it is, where the key may read it: what leads elsewhere already may go on to. */
async function readStored(
  endpoint: Endpoint,
  { path }: LinkFields,
  readId: () => Promise<string>,
  call: Client["call"],
  signal: Leaving | undefined,
): Promise<JsonObject> {
  if (endpoint === links.create) return {};
  try {
    if (endpoint === links.update) return await call(links.show, { id: await readId() }, signal);
    const value = decodeForSearch(path ?? "");
    const filter = { field: "path", condition: "eq", value } as const;
    const found = await call(links.index, { filters: [filter], limit: 2 }, signal);
    const wanted = normalizeForSearch(value);
    return found.links.find((link) => normalizeForSearch(link.path ?? "") === wanted) ?? {};
  } catch (error) {
    if (error instanceof Problem) return {};
    throw error;
  }
}

/** The page that links show by now may be published again, with another css say. */
async function findInTemplate(
  rules: readonly Destinations[],
  { body }: JsonObject,
  call: Client["call"],
  signal: Leaving | undefined,
): Promise<readonly PlacedProblem[]> {
  if (typeof body !== "string" || body.length > longestBody) return [];
  const { findForeignAddresses } = await import("../../template/find-foreign-addresses.ts");
  const problems = rules.flatMap((list) => findForeignAddresses(body, judgeBy(list)));
  if (problems.length === 0) return [];
  return (await readLiveBody(call, signal)) === body ? [] : problems;
}

async function readLiveBody(
  call: Client["call"],
  signal: Leaving | undefined,
): Promise<string | undefined> {
  try {
    const { versions } = await call(pageTemplate.versions, {}, signal);
    const live = versions.find((version) => version.live);
    if (live === undefined) return undefined;
    return (await call(pageTemplate.version, { id: live.id }, signal)).body ?? undefined;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
