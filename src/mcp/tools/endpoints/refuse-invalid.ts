import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { LinkFields } from "../../../contract/links.ts";
import { validationFailed, type FieldProblem } from "../../../contract/problem.ts";
import { checkAndroidApp, checkIosApp } from "../../../contract/rules/app-rules.ts";
import { checkLink } from "../../../contract/rules/link-rules.ts";
import { checkProject } from "../../../contract/rules/project-rules.ts";
import { explainEnd } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import type { Act } from "./prepare-act.ts";

const { links } = contract;

/**
 * Nobody is asked of what breaks the rules of its own fields: our own service would refuse it after
 * the yes. A deployment elsewhere may have other rules, and says so itself.
 */
export function refuseInvalid(act: Act, { keyContext }: Pick<Call, "keyContext">): void {
  if (!keyContext.checksConditions) return;
  const problems = listProblems(act);
  if (problems.length === 0) return;
  const { endpoint } = act;
  throw explainEnd({ tool: endpoint.tool, endpoint }, validationFailed(problems));
}

function listProblems(act: Act): readonly FieldProblem[] {
  const { endpoint, kind, input, target, changes, registered } = act;
  if (endpoint.effect === "destroy") return [];
  const apps = registered.flatMap(({ kind: { name }, fields }) => checkRecord(name, fields));
  if (endpoint.body === links.create.body) {
    // The arguments were checked by the schema of this body.
    const fields = input as LinkFields;
    return [...checkLink(fields, isNew(act) ? "create" : "update").problems, ...apps];
  }
  if (target.state !== "known") return apps;
  return checkRecord(kind.name, { ...target.record, ...changes });
}

/** Whether it is a link that is there cannot always be read; a new one's rules are the laxer. */
function isNew({ endpoint, target }: Act): boolean {
  return endpoint !== links.update && target.state !== "known";
}

/** A whole record: what is there, with what would change of it. */
function checkRecord(kind: string, fields: JsonObject): readonly FieldProblem[] {
  switch (kind) {
    case "ios_app":
      return checkIosApp(fields).problems;
    case "android_app":
      return checkAndroidApp(fields).problems;
    case "project":
      return checkProject(fields).problems;
    default:
      return [];
  }
}
