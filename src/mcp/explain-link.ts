import type { z } from "zod";
import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import { explainVisits, explanation } from "../contract/link-explanation.ts";
import { encodePath, normalizePath } from "../contract/link-path.ts";
import type { LinkFields } from "../contract/links.ts";
import { isBlank } from "../contract/text.ts";
import type { VisitedApps, VisitedLink } from "../contract/visit.ts";
import type { Access, Reading } from "./access.ts";
import { checkArguments } from "./check-arguments.ts";
import { refuseArguments, ToolFailure } from "./failure.ts";
import { findTarget } from "./find-target.ts";
import { buildInput, publishBoth } from "./input-schema.ts";
import { once } from "./once.ts";
import { publishOutput } from "./output-schema.ts";
import { findKind } from "./resource-kind.ts";
import { annotate, type Arguments, type Call, type Tool } from "./tool.ts";

const { links, iosApps, androidApps } = contract;
const name = "explain_link";

/** The tool that tells what a link's visitors meet, before there is a link or after. */
export function createExplainLink(): Tool {
  const schema = once(buildSchema);
  return {
    name,
    title: "Explain a link",
    description: [
      "What visitors meet on iOS, Android and desktop, and what is wrong:",
      "of a link by id, or of fields before you save them.",
    ].join(" "),
    group: "links",
    effect: "read",
    annotations: annotate({ effect: "read", idempotent: true, overwrites: false }),
    fieldsLike: links.create.tool,
    inputSchema: publishBoth(schema, Object.keys(links.create.body.shape)),
    outputSchema: once(() => publishOutput(explanation.shape)),
    readAccess,
    check: (given) => checkArguments(name, schema(), given),
    run: async (args, call) => {
      const { link, apps } = await readSubject(args, call);
      const { linkHost, linkInReferrer } = call.surface;
      const path = normalizePath(link.path ?? "");
      const isAddressed = linkHost !== undefined && !isBlank(path);
      return explainVisits(link, apps, {
        link_in_referrer: linkInReferrer,
        address: isAddressed ? `${linkHost}/${encodePath(path ?? "")}` : undefined,
      });
    },
  };
}

function buildSchema(): z.ZodObject {
  const options = { idText: "UUID or path", takesApproval: false };
  const { id } = buildInput(links.show, options).shape;
  // zod types a shape's members as its core's schemas, of which every one here is a ZodType.
  return buildInput(links.create, options).extend({ id: (id as z.ZodType).optional() });
}

/** For whoever has to do with links; a draft is explained without asking anybody. */
function readAccess(access: Access): Reading {
  const readings = [links.show, links.create, links.update].map((entry) => access.read(entry));
  const best = (["granted", "unknown"] as const).find((state) =>
    readings.some((reading) => reading.state === state),
  );
  return best === undefined ? access.read(links.show) : { state: best };
}

type Subject = { readonly link: VisitedLink; readonly apps: VisitedApps };

async function readSubject(args: Arguments, call: Call): Promise<Subject> {
  const { id, ...fields } = args;
  const isById = typeof id === "string";
  if (isById === Object.keys(fields).length > 0) {
    const message = "explain_link takes either id, or the fields of a link that is not saved";
    throw refuseArguments(name, [{ field: "id", message }]);
  }
  if (!isById) return readDraft(fields, call);
  const link = await call.ask(links.show, {
    id: await findTarget(findKind(links.show), id, call),
  });
  const { ios_app_id, android_app_id } = link;
  return {
    link,
    apps: {
      ios_app: isBlank(ios_app_id) ? undefined : await find(call, iosApps.show, ios_app_id),
      android_app: isBlank(android_app_id)
        ? undefined
        : await find(call, androidApps.show, android_app_id),
    },
  };
}

/** An app that is registered counts as it is; the draft itself says what it would make. */
async function readDraft(draft: LinkFields, call: Call): Promise<Subject> {
  const { ios_app, android_app } = draft;
  const iosId = ios_app?.id ?? ios_app?.bundle_id;
  const androidId = android_app?.id ?? android_app?.package_name;
  const ios = isBlank(iosId) ? undefined : await find(call, iosApps.show, iosId);
  const android = isBlank(androidId) ? undefined : await find(call, androidApps.show, androidId);
  return { link: draft, apps: { ios_app: ios, android_app: android } };
}

/** The app's record; one that is not there, or that the key may not read, is not known. */
async function find<E extends Endpoint & { readonly params: object }>(
  call: Call,
  show: E,
  id: string | null | undefined,
) {
  try {
    const target = await findTarget(findKind(show), id ?? "", call);
    return await call.ask(show, { id: target } as never);
  } catch (error) {
    if (error instanceof ToolFailure && [401, 404, undefined].includes(error.failure.status)) {
      return undefined;
    }
    throw error;
  }
}
