import { contract } from "../../../contract/index.ts";
import { anyIdPattern, uuidPattern } from "../../../contract/fields.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { describeIds, findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { quote, readShown } from "../../../text/show-hidden.ts";
import { advise } from "../../results/advice-by-code.ts";
import type { CallProblem } from "../../results/call-problem.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { findByName, listNearLinks } from "./find-by-name.ts";
import { findLink } from "./find-link.ts";
import { readRecord } from "./find-record.ts";
import { readText, type Found } from "./found-rows.ts";

type Asking = Pick<Call, "ask" | "keyContext">;

/** So many are offered where none fits exactly. */
const mostCandidates = 5;
const nothing: Found = { rows: [], near: undefined };
const linkKind = findKind(contract.links.show);

/**
 * The id that an `id` argument means: itself, or that of the one link, app or project that the text
 * names. Where more than one fits, none is taken.
 */
export async function findTarget(kind: ResourceKind, given: string, call: Asking): Promise<string> {
  if (uuidPattern.test(given)) return given.toLowerCase();
  const found = given.trim() === "" ? nothing : await findNamed(kind, given, call);
  const { rows } = found;
  const [only] = rows;
  const id = rows.length === 1 ? readText(only ?? {}, "id") : "";
  // Where ids are UUIDs, no other text is one.
  if (uuidPattern.test(id)) return id;
  if (await hasId(kind, given, call)) {
    if (id === "" || id === given) return given;
    throw refuseSeveral(kind, given, rows);
  }
  if (id !== "") return id;
  // A text that was copied from a result has its hidden characters written as numbers.
  const meant = readShown(given);
  if (meant !== given) return findTarget(kind, meant, call);
  if (rows.length > 0) throw refuseSeveral(kind, given, rows);
  throw await refuseUnknown(kind, given, found, call);
}

function findNamed(kind: ResourceKind, given: string, call: Asking): Promise<Found> {
  // What has no other name is only known by its id.
  if (kind.by === undefined) return Promise.resolve(nothing);
  return kind.name === linkKind.name ? findLink(given, call) : findByName(kind, given, call);
}

/** Other deployments may count their resources, or name them in another way than by UUIDs. */
async function hasId(
  kind: ResourceKind,
  given: string,
  { ask, keyContext }: Asking,
): Promise<boolean> {
  if (!keyContext.takesAnyId || !anyIdPattern.test(given)) return false;
  // What has no digit is a name, and what has no other name is not known by one.
  if (kind.by === undefined && !/\d/.test(given)) return false;
  const found = await readRecord(kind, given, { ask }).catch((error: unknown) => {
    // What is answered to something that is no id tells nothing of it.
    if (error instanceof ToolFailure && error.failure.effect === "none") return null;
    throw error;
  });
  return found?.["id"] === given;
}

export function refuseSeveral(kind: ResourceKind, given: string, rows: readonly JsonObject[]) {
  return refuse(kind, `More than one ${kind.label} matches ${quote(given)}.`, rows);
}

async function refuseUnknown(
  kind: ResourceKind,
  given: string,
  { near, nearNames = [], foreign }: Found,
  call: Asking,
): Promise<ToolFailure> {
  const { label } = kind;
  const message = `No ${label} has the ${describeIds(kind)} ${quote(given)}`;
  if (foreign !== undefined) {
    return refuse(kind, `${message}: ${foreign.message}.`, foreign.there);
  }
  const rows =
    typeof near === "string" ? await listNearLinks(kind, near, mostCandidates, call) : near;
  const each = new Map([...(rows ?? []), ...nearNames].map((row) => [row["id"], row]));
  return refuse(kind, `${message}.`, [...each.values()]);
}

function refuse(
  kind: ResourceKind,
  message: string,
  candidates: readonly JsonObject[],
): ToolFailure {
  const { show } = kind;
  const some = candidates.slice(0, mostCandidates);
  return new ToolFailure({
    code: "not_found",
    message,
    ...(some.length > 0 && { problems: some.map((row) => describeCandidate(kind, row)) }),
    effect: "none",
    retry: "never",
    next:
      some.length > 0
        ? "Ask the user which of these is meant, then call again with its id."
        : advise("not_found", { tool: show.tool, endpoint: show }),
  });
}

function describeCandidate({ names }: ResourceKind, row: JsonObject): CallProblem {
  const filled = names.filter((name) => readText(row, name) !== "");
  const texts = filled.map((name) => `${name} ${quote(readText(row, name))}`);
  const fix = `Use id ${quote(readText(row, "id"))}.`;
  return { field: "id", message: `similar: ${texts.join(", ")}`, fix };
}
