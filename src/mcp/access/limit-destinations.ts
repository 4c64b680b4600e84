import type { CheckDestinations } from "../../bulk/owner.ts";
import type { KnownKey } from "../../contract/access.ts";
import type { WriteCondition } from "../../contract/condition.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { LinkFields } from "../../contract/links.ts";
import {
  Problem,
  toSentence,
  type FieldProblem,
  type TextProblem,
} from "../../contract/problem.ts";
import {
  checkDestinations,
  judgeBy,
  type Destinations,
} from "../../contract/rules/destinations.ts";
import { isOwnLinkAddress } from "../../contract/rules/link-address.ts";

/**
 * The hosts to which an assistant's links may redirect, as set by the operator
 * (WAYPOST_DESTINATIONS) and, in the embedded service, by the project.
 */
export type DestinationLimits = {
  /** Finds forbidden URLs in a link's fields. URLs that the link already contains stay allowed. */
  readonly checkDestinations: CheckDestinations;
  /** Finds forbidden URLs in the text of a page template. */
  readonly checkPage: (body: unknown) => Promise<readonly TextProblem[]>;
  /** Throws if a call would add a URL on a forbidden host. */
  readonly requireAllowed: (
    endpoint: Endpoint,
    input: JsonObject,
    condition: WriteCondition | undefined,
  ) => void;
};

const { links, shortLinks } = contract;
const linkWrites = new Set<Endpoint>([links.create, links.upsert, links.update]);
/** The maximum length of text to search for URLs. The API rejects longer text anyway. */
const longestBody = 2 ** 17;

export function limitDestinations(
  destinations: Destinations | undefined,
  readKnown: () => KnownKey,
): DestinationLimits {
  const listRules = () =>
    [destinations, readKnown().destinations].filter((list) => list !== undefined);
  const checkFields: CheckDestinations = (fields, before) =>
    keepFirst(listRules().flatMap((list) => checkDestinations(fields, list, before)));
  return {
    checkDestinations: checkFields,
    checkPage: async (body) => {
      const rules = listRules();
      if (rules.length === 0 || typeof body !== "string" || body.length > longestBody) return [];
      const { findForeignAddresses } = await import("../../template/find-foreign-addresses.ts");
      return rules.flatMap((list) => findForeignAddresses(body, judgeBy(list)));
    },
    requireAllowed: (endpoint, input, condition) => {
      const before = typeof condition === "object" ? condition.shown : {};
      refuseForeign(checkFields(pickAddresses(endpoint, input, readKnown()), before));
    },
  };
}

function pickAddresses(endpoint: Endpoint, input: JsonObject, { linkHost }: KnownKey): LinkFields {
  // The fields were validated by the tool's schema or when the plan was made.
  const fields = input as LinkFields;
  const { url } = fields;
  if (endpoint === shortLinks.create) return isOwnLinkAddress(url ?? "", linkHost) ? {} : { url };
  return linkWrites.has(endpoint) ? fields : {};
}

export function refuseForeign(problems: readonly TextProblem[]): void {
  if (problems.length === 0) return;
  const messages = problems.map(({ message }) => message.replace(/\.$/, ""));
  throw new Problem(422, toSentence(messages), { problems });
}

/** Keeps one problem per field, because the operator and the project may both forbid its URL. */
function keepFirst(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const fields = problems.map(({ field }) => field);
  return problems.filter(({ field }, at) => fields.indexOf(field) === at);
}
