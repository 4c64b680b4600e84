import { uuidPattern } from "../../../contract/fields.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { isOwnAddress } from "../../../contract/rules/link-address.ts";
import { normalizeForSearch } from "../../../contract/rules/link-path.ts";
import { fold } from "../../../contract/text.ts";
import { quote, readShown } from "../../../text/show-hidden.ts";
import { advise } from "../../results/advice-by-code.ts";
import type { CallProblem } from "../../results/call-problem.ts";
import { readListRows } from "../../results/present-body.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { readRecord } from "./find-record.ts";

/** So many are offered where none fits exactly. */
const mostCandidates = 5;

/**
 * The id that an `id` argument means: itself, or that of the one link or app with this path, bundle
 * id or package name. Where more than one fits, none is taken.
 */
export async function findTarget(
  kind: ResourceKind,
  given: string,
  call: Pick<Call, "ask" | "keyContext">,
): Promise<string> {
  if (uuidPattern.test(given)) return given.toLowerCase();
  const { ask, keyContext } = call;
  const { key } = kind;
  const read =
    kind.name === "link"
      ? (text: string) => readPath(text, keyContext.known.linkHost)
      : (text: string) => text.trim();
  const value = read(given);
  // A blank filter would be ignored, and everything found.
  if (value.trim() === "") throw notFound(kind, given, []);
  if (key === undefined) {
    // What has no digit is a name, and such a kind is not known by its name.
    if (/\d/.test(given) && (await hasId(kind, given, call))) return given;
    throw notFound(kind, given, []);
  }
  const search = { kind, key, value, ask };
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const found = await list(search, "eq");
  const exact = found.filter((row) => read(readText(row, key)) === value);
  const [only] = exact;
  const id = exact.length === 1 ? readText(only ?? {}, "id") : "";
  // Where ids are UUIDs, no other text is one.
  if (uuidPattern.test(id)) return id;
  if (await hasId(kind, given, call)) {
    if (id === "" || id === given) return given;
    throw notFound(kind, given, exact);
  }
  if (id !== "") return id;
  // A text that was copied from a result has its hidden characters written as numbers.
  const meant = readShown(given);
  if (meant !== given) return findTarget(kind, meant, call);
  throw notFound(kind, given, exact.length > 0 ? exact : await listNear(search));
}

/** Other deployments may count their resources, or name them in another way than by UUIDs. */
async function hasId(
  kind: ResourceKind,
  given: string,
  { ask, keyContext }: Pick<Call, "ask" | "keyContext">,
): Promise<boolean> {
  if (!keyContext.takesAnyId || !/^[\w:.-]+$/.test(given)) return false;
  const found = await readRecord(kind, given, { ask }).catch((error: unknown) => {
    // What is answered to something that is no id tells nothing of it.
    if (error instanceof ToolFailure && error.failure.effect === "none") return null;
    throw error;
  });
  return found?.["id"] === given;
}

/** A path, or the whole address of one of the project's links. */
function readPath(given: string, linkHost: string | undefined): string {
  const isOurs = isOwnAddress(given, linkHost);
  return normalizeForSearch(isOurs ? new URL(given).pathname : given);
}

async function listNear(search: Search): Promise<readonly JsonObject[]> {
  const wanted = fold(search.value);
  const found = await list(search, "cont");
  return found.filter((row) => fold(readText(row, search.key)).includes(wanted));
}

type Search = {
  readonly kind: ResourceKind;
  readonly key: string;
  readonly value: string;
  readonly ask: Call["ask"];
};

async function list(
  { kind, key, value, ask }: Search,
  condition: "eq" | "cont",
): Promise<readonly JsonObject[]> {
  const { index, label } = kind;
  try {
    const filters = [{ field: key, condition, value }];
    const page: unknown = await ask(index, { filters, limit: mostCandidates });
    // Every list's body is an object with its rows under the list's name; the client parsed it.
    return readListRows(index, page as JsonObject);
  } catch (error) {
    if (!(error instanceof ToolFailure) || error.failure.status !== 401) throw error;
    const next = `This key may not look for a ${label} by its ${key}: call again with the UUID.`;
    throw new ToolFailure({ ...error.failure, next });
  }
}

function notFound(
  kind: ResourceKind,
  given: string,
  candidates: readonly JsonObject[],
): ToolFailure {
  const { label, show, key } = kind;
  const by = key === undefined ? "UUID" : `UUID or ${key}`;
  const isNear = candidates.length > 0;
  return new ToolFailure({
    code: "not_found",
    message: `No ${label} has the ${by} ${quote(given)}.`,
    ...(isNear && { problems: candidates.map((row) => describeCandidate(kind, row)) }),
    effect: "none",
    retry: "never",
    next: isNear
      ? "Ask the user which of the candidates is meant, and call again with its id."
      : advise("not_found", { tool: show.tool, endpoint: show }),
  });
}

function describeCandidate({ names }: ResourceKind, row: JsonObject): CallProblem {
  const filled = names.filter((name) => readText(row, name) !== "");
  const texts = filled.map((name) => `${name} ${quote(readText(row, name))}`);
  const fix = `Use id ${quote(readText(row, "id"))}.`;
  return { field: "id", message: `near: ${texts.join(", ")}`, fix };
}

/** A text of a row, or an empty one for what is not set. */
function readText(row: JsonObject, field: string): string {
  const value = row[field];
  return typeof value === "string" ? value : "";
}
