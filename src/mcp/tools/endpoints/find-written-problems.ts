import { pickFields } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { addQuery } from "../../../contract/rules/address-query.ts";
import { findFingerprintWarning, findTeamIdWarning } from "../../../contract/rules/app-rules.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { normalizePath } from "../../../contract/rules/link-path.ts";
import { isBlank } from "../../../contract/text.ts";
import type { VisitedApps, VisitedLink, VisitOptions } from "../../../visit/decide-visit.ts";
import { readExplainedLink } from "../../../visit/explained-link.ts";
import { findLinkProblems } from "../../../visit/find-link-problems.ts";
import type { KeyContext } from "../../access/key-context.ts";
import type { CallProblem } from "../../results/call-problem.ts";
import type { KnownApps } from "../../results/present-link.ts";
import type { Act } from "./prepare-act.ts";

/**
 * The problems of a link or an Android app that was just written, as far as the answer shows them.
 * No further call is made, so an app that is not known counts as a good one.
 */
export function findWrittenProblems(
  { endpoint, input, target }: Pick<Act, "endpoint" | "input" | "target">,
  body: JsonObject,
  apps: KnownApps,
  { known }: Pick<KeyContext, "known">,
): readonly CallProblem[] {
  if (endpoint.body === contract.iosApps.create.body) return findTeamIdProblems(body);
  if (endpoint.body === contract.androidApps.create.body) return findFingerprintProblems(body);
  if (endpoint.body !== contract.links.create.body || typeof body["id"] !== "string") return [];
  const before = target.state === "known" ? target.record : {};
  const { ios_app: _ios, android_app: _android, ...sent } = pickFields(endpoint, input);
  // The client read the answer by the entry's schema, and the arguments were checked by another.
  const link = { ...before, ...sent, ...pickKnown(body) } as VisitedLink;
  // Of what a deployment does not show, nobody can say that it is missing.
  if (destinations.some((field) => link[field] === undefined)) return [];
  const options = readVisitOptions(link, known);
  const explained = readExplainedLink(link, findApps(link, apps), options);
  const found = findLinkProblems(explained).filter(({ code }) => code !== "app_unknown");
  return found.map(({ code: _code, ...problem }) => problem);
}

function findTeamIdProblems(app: JsonObject): readonly CallProblem[] {
  const warning = findTeamIdWarning(app);
  if (warning === undefined) return [];
  const fix = "Ask the user for the Team ID, then update the app.";
  return [{ field: "team_id", message: `${warning}.`, fix }];
}

function findFingerprintProblems(app: JsonObject): readonly CallProblem[] {
  const warning = findFingerprintWarning(app);
  if (warning === undefined) return [];
  const fix = "Ask the user for all SHA-256 fingerprints, then update the app.";
  return [{ field: "fingerprints", message: `${warning}.`, fix }];
}

const destinations = ["url", "ios_fallback_url", "android_fallback_url"] as const;

/** What the project and its host add to a link. */
export function readVisitOptions(
  { path }: Pick<VisitedLink, "path">,
  { linkHost, hasSecondHost, linkInReferrer }: KeyContext["known"],
  query = "",
): VisitOptions {
  const isAddressed = linkHost !== undefined && !isBlank(normalizePath(path ?? ""));
  return {
    link_in_referrer: linkInReferrer,
    second_host: hasSecondHost,
    address: isAddressed ? addQuery(writeAddress(linkHost, path ?? ""), query) : undefined,
    query,
  };
}

/** What a deployment adds to a link may have the name of a field that it takes. */
function pickKnown(body: JsonObject): JsonObject {
  const names = Object.keys(contract.links.show.response.shape);
  const told = names.filter((name) => body[name] !== undefined);
  return Object.fromEntries(told.map((name) => [name, body[name]]));
}

function findApps({ ios_app_id, android_app_id }: VisitedLink, apps: KnownApps): VisitedApps {
  // They were read by the schemas of their entries.
  return {
    ios_app: ios_app_id ? apps.get(ios_app_id) : undefined,
    android_app: android_app_id ? apps.get(android_app_id) : undefined,
  };
}
