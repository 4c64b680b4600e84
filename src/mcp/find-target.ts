import { uuidPattern } from "../contract/fields.ts";
import { normalizeForSearch } from "../contract/link-path.ts";
import { advise } from "./advice.ts";
import { ToolFailure } from "./failure.ts";
import { quote } from "./inert.ts";
import type { CallProblem } from "./problems.ts";
import type { ResourceKind } from "./resource-kind.ts";
import { readRows } from "./present.ts";
import type { Call, JsonObject } from "./tool.ts";

/** How many are offered where none was meant exactly. */
const mostCandidates = 5;

/**
 * The UUID that an `id` argument means: itself, or whatever is looked up by path, bundle id or
 * package name. Not exactly one match is none.
 */
export async function findTarget(
  kind: ResourceKind,
  given: string,
  { ask, surface }: Pick<Call, "ask" | "surface">,
): Promise<string> {
  const { key } = kind;
  if (uuidPattern.test(given)) return given.toLowerCase();
  if (key === undefined) throw notFound(kind, given, []);
  const value = kind.name === "link" ? readPath(given, surface.linkHost) : given;
  // A blank filter would be ignored, and everything found.
  if (value.trim() === "") throw notFound(kind, given, []);
  const found = await search(kind, key, "eq", value, ask);
  const exact = found.filter((row) => row[key] === value);
  const [only] = exact;
  if (exact.length === 1 && typeof only?.["id"] === "string") return only["id"];
  const near = exact.length > 0 ? exact : await search(kind, key, "cont", value, ask);
  throw notFound(kind, given, near);
}

/** A path, or a whole address of one of the project's links. */
function readPath(given: string, linkHost: string | undefined): string {
  const isAddress = linkHost !== undefined && given.startsWith(`${linkHost}/`);
  return normalizeForSearch(isAddress ? given.slice(linkHost.length) : given);
}

async function search(
  { index }: ResourceKind,
  field: string,
  condition: "eq" | "cont",
  value: string,
  ask: Call["ask"],
): Promise<readonly JsonObject[]> {
  const filters = [{ field, condition, value }];
  // Every list's body is an object with its rows under the list's name; the client parsed it.
  const page: unknown = await ask(index, { filters, limit: mostCandidates });
  return readRows(index, page as JsonObject);
}

function notFound(
  kind: ResourceKind,
  given: string,
  candidates: readonly JsonObject[],
): ToolFailure {
  const { label, names, index } = kind;
  const by = kind.key === undefined ? "UUID" : `UUID or ${kind.key}`;
  return new ToolFailure({
    code: "not_found",
    message: `No ${label} has the ${by} ${quote(given)}.`,
    ...(candidates.length > 0 && {
      problems: candidates.map((row): CallProblem => {
        const said = names.flatMap((name) =>
          row[name] ? [`${name} ${quote(String(row[name]))}`] : [],
        );
        return {
          field: "id",
          message: `near: ${said.join(", ")}`,
          fix: `Use id ${quote(String(row["id"]))}.`,
        };
      }),
    }),
    effect: "none",
    retry: "never",
    next:
      candidates.length > 0
        ? "Ask the user which of the candidates is meant, and call again with its id."
        : advise("not_found", { tool: index.tool, endpoint: index }),
  });
}
