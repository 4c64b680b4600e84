import * as z from "zod";
import { pickNamedApps, type App, type AppMember } from "../../bulk/select/project-apps.ts";
import { normalizeId } from "../../contract/fields.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { LinkFields } from "../../contract/links.ts";
import { describeIds, findKind } from "../../contract/resource-kind.ts";
import { readQuery } from "../../contract/rules/address-query.ts";
import { normalizePath } from "../../contract/rules/link-path.ts";
import { readPathOf } from "../../contract/rules/named-link.ts";
import { isBlank } from "../../contract/text.ts";
import type { VisitedApps, VisitedLink } from "../../visit/decide-visit.ts";
import { explainInstalls } from "../../visit/explain-installs.ts";
import { explainVisits } from "../../visit/explain-visits.ts";
import type { Access, Reading } from "../access/key-access.ts";
import type { CallProblem } from "../results/call-problem.ts";
import { refuseArguments, ToolFailure } from "../results/tool-failure.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import { buildInput, listFields, buildBothSchemas, type Fields } from "../schemas/input-schema.ts";
import { once } from "../schemas/once.ts";
import { buildOutputSchema, problems } from "../schemas/output-schema.ts";
import { findLink, findTarget } from "./targets.ts";
import { readVisitOptions } from "./visits.ts";
import { annotate, type Call, type Tool } from "./tool.ts";

const { links } = contract;
const name = "explain_link";
const result = {
  visits: z.looseObject({
    ios: z.looseObject({}),
    android: z.looseObject({}),
    desktop: z.looseObject({}),
  }),
  problems,
};

/** The tool that tells what a link's visitors meet, whether the link is saved yet or not. */
export function createExplainLink(): Tool {
  const fields = once(listOwnFields);
  const schema = once(() => buildInput(fields()));
  const told = Object.keys(links.create.body.shape);
  return {
    name,
    title: "Explain a link",
    description: "Show what a link's visitors see and any problems, by id or from unsaved fields.",
    group: "links",
    effect: "read",
    annotations: annotate({ effect: "read", idempotent: true, overwrites: false }),
    like: { what: "Fields", tool: links.create.tool },
    inputSchema: buildBothSchemas(fields, told, { isWordless: true }),
    outputSchema: once(() => buildOutputSchema(result)),
    readAccess,
    check: (given) => checkArguments(name, schema(), given),
    run: async (args, call) => {
      const { link, apps, query, hints } = await readSubject(args, call);
      const { known } = call.keyContext;
      const options = readVisitOptions(link, known, query);
      const { clipboard } = known;
      const plan = known.facts?.plan;
      const explained = explainVisits(link, apps, options);
      return {
        ...explained,
        problems: [...hints, ...explained.problems],
        ...explainInstalls(link, apps, { ...options, plan, clipboard }),
      };
    },
  };
}

function listOwnFields(): Fields {
  const options = { idText: describeIds(findKind(links.show)) };
  const { id } = listFields(links.show, options);
  return { ...listFields(links.create, options), ...(id && { id: id.optional() }) };
}

/** Any key that has to do with links may use it; to explain a draft nothing is asked. */
function readAccess(access: Access): Reading {
  const readings = [links.show, links.create, links.update].map((entry) => access.read(entry));
  const states = new Set(readings.map(({ state }) => state));
  const best = (["granted", "unknown"] as const).find((state) => states.has(state));
  return best === undefined ? access.read(links.show) : { state: best };
}

type Subject = {
  readonly link: VisitedLink;
  readonly apps: VisitedApps;
  /** Of an address that was given as the id: what its visitors are handed on with. */
  readonly query: string;
  /** What the caller may have meant instead. */
  readonly hints: readonly CallProblem[];
};

async function readSubject(args: JsonObject, call: Call): Promise<Subject> {
  const { id, ...fields } = args;
  const isById = typeof id === "string";
  if (isById === Object.keys(fields).length > 0) {
    const message = "explain_link takes either id or the fields of an unsaved link";
    throw refuseArguments(name, [{ field: "id", message }]);
  }
  if (!isById) {
    const [apps, hints] = await Promise.all([readDraftApps(fields, call), findSaved(fields, call)]);
    return { link: fields, apps, query: "", hints };
  }
  const target = await findTarget(findKind(links.show), id, call);
  const link = await call.ask(links.show, { id: target });
  const { ios_app_id, android_app_id } = link;
  const apps = await readApps({ id: ios_app_id }, { id: android_app_id }, call);
  return { link, apps, query: readQuery(id), hints: [] };
}

/** A draft with only a path is more likely to name a saved link. Other drafts ask for nothing. */
async function findSaved(fields: LinkFields, call: Call): Promise<readonly CallProblem[]> {
  const { path } = fields;
  if (isBlank(path) || Object.keys(fields).length > 1) return [];
  try {
    const wanted = normalizePath(path ?? "") ?? "";
    const { rows } = await findLink(wanted, call);
    if (!rows.some((row) => readPathOf(row) === wanted)) return [];
    return [{ field: "path", message: "A link with this path exists: use its id." }];
  } catch (error) {
    if (error instanceof ToolFailure) return [];
    throw error;
  }
}

/** Registered apps; the draft's own fields say which apps it would register. */
function readDraftApps({ ios_app, android_app }: LinkFields, call: Call): Promise<VisitedApps> {
  const ios = { id: ios_app?.id, name: ios_app?.bundle_id };
  const android = { id: android_app?.id, name: android_app?.package_name };
  return readApps(ios, android, call);
}

/** An app by its id, or else by its bundle id, package name or name. */
type AppChoice = Readonly<Partial<Record<"id" | "name", string | null | undefined>>>;

async function readApps(ios: AppChoice, android: AppChoice, call: Call): Promise<VisitedApps> {
  return {
    ios_app: await readApp("ios_app", ios, call),
    android_app: await readApp("android_app", android, call),
  };
}

/** Undefined where no one app is meant, or where the key may not read it. */
async function readApp(
  member: AppMember,
  { id, name: text }: AppChoice,
  { apps }: Call,
): Promise<App | undefined> {
  if (isBlank(id) && isBlank(text)) return undefined;
  const { rows = [] } = (await apps.list(member)) ?? {};
  if (!isBlank(id)) return rows.find((app) => app.id === normalizeId(id ?? ""));
  const [app, ...others] = pickNamedApps(rows, text ?? "");
  return others.length === 0 ? app : undefined;
}
