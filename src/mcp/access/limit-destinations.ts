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

/**
 * The hosts that an assistant's links may redirect to: those of the operator (WAYPOST_DESTINATIONS)
 * and, in the embedded service, those of the project. Every write of a tool or a job is checked
 * here before it is sent.
 */
export type DestinationLimits = {
  /** What of a link's fields would lead elsewhere, and does not already. */
  readonly checkDestinations: CheckDestinations;
  /** The same for a page's text. */
  readonly checkPage: (body: unknown, signal?: Leaving) => Promise<readonly PlacedProblem[]>;
  /** A call that refuses as the service does. */
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
  const checkPage: DestinationLimits["checkPage"] = (body, signal) =>
    findInPage(listRules(), body, call, signal);

  async function find(
    endpoint: Endpoint,
    input: JsonObject,
    signal: Leaving | undefined,
  ): Promise<readonly PlacedProblem[]> {
    // A link's input has a link's fields: the tool's schema, or the plan's rows, were checked.
    const fields = input as LinkFields;
    if (endpoint === shortLinks.create) {
      const { url } = fields;
      return isOwnLinkAddress(url ?? "", readKnown().linkHost) ? [] : checkFields({ url });
    }
    if (templateWrites.has(endpoint)) return checkPage(input["body"], signal);
    if (!linkWrites.has(endpoint) || checkFields(fields).length === 0) return [];
    return checkFields(fields, await readStored(endpoint, input, call, signal));
  }

  return {
    checkDestinations: checkFields,
    checkPage,
    call: async (endpoint, input, signal, asked) => {
      if (listRules().length > 0 && endpoint.effect !== "read") {
        refuseForeign(await find(endpoint, input as JsonObject, signal));
      }
      return call(endpoint, input, signal, asked);
    },
  };
}

/** Throws the error that the service would return. */
export function refuseForeign(problems: readonly PlacedProblem[]): void {
  if (problems.length === 0) return;
  const messages = problems.map(({ message }) => message.replace(/\.$/, ""));
  throw new Problem(422, toSentence(messages), { problems });
}

/** A field that two lists refuse is told of once. */
function keepFirst(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const fields = problems.map(({ field }) => field);
  return problems.filter(({ field }, at) => fields.indexOf(field) === at);
}

/** The link as it is, where the key may read it: what leads elsewhere already may go on to. */
async function readStored(
  endpoint: Endpoint,
  { id, path }: JsonObject,
  call: Client["call"],
  signal: Leaving | undefined,
): Promise<JsonObject> {
  if (endpoint === links.create) return {};
  try {
    if (endpoint === links.update) return await call(links.show, { id: String(id) }, signal);
    const value = decodeForSearch(String(path));
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
async function findInPage(
  rules: readonly Destinations[],
  body: unknown,
  call: Client["call"],
  signal: Leaving | undefined,
): Promise<readonly PlacedProblem[]> {
  if (rules.length === 0 || typeof body !== "string" || body.length > longestBody) return [];
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
