import * as z from "zod";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { describeIds, findKind } from "../../../contract/resource-kind.ts";
import { writeFactText } from "../../approval/question-text.ts";
import { previewPath } from "../../previews/preview-pages.ts";
import type { CallProblem } from "../../results/call-problem.ts";
import { presentBody } from "../../results/present-body.ts";
import { readIfPossible } from "../../results/tool-failure.ts";
import type { Addition, Call } from "../tool.ts";
import { describeChanges, findSeen } from "./preview-publication.ts";
import { pickText, platforms, readState, userAgents, type Platform } from "./template-state.ts";
import { templateView } from "./view-resource.ts";

/** `preview_template`: a page for a person to look at, because no model sees how HTML looks. */

const { preview } = contract.pageTemplate;
const linkIds = describeIds(findKind(contract.links.show));
const [usual] = platforms;

export const previewAddition: Addition = {
  fields: {
    link_id: z.string().optional().describe(linkIds),
    platform: z.enum(platforms).meta({ default: usual }).optional(),
    html: z.boolean().optional(),
  },
  result: { preview_url: z.string().optional(), html: z.string().optional() },
  run: (_, given, call) => previewTemplate(given, call),
  view: templateView.uri,
};

async function previewTemplate(given: JsonObject, call: Call): Promise<JsonObject> {
  const { html: isAsked, platform = usual, ...asked } = given;
  // The argument was checked by the schema above.
  const device = platform as Platform;
  const body: unknown = await call.ask(preview, { ...asked, user_agent: userAgents[device] });
  // This is how the body of this endpoint is presented.
  const { html, ...unread } = presentBody(preview, body as JsonObject) as Page;
  if (call.showsViews) call.extras.views.push(await drawView(asked, device, html, call));
  const preview_url = await openInBrowser(html, call);
  return {
    ...(preview_url !== undefined && { preview_url }),
    ...((isAsked === true || preview_url === undefined) && { html }),
    ...unread,
  };
}

type Page = { readonly html: string; readonly problems?: readonly CallProblem[] };

/** Undefined where nothing listens, and for a page that is too long to be saved. */
async function openInBrowser(html: string, { keyContext }: Call): Promise<string | undefined> {
  const origin = await keyContext.pageOrigin();
  if (origin === undefined) return undefined;
  const previews = await keyContext.openPreviews();
  const token = await previews.save(keyContext.key_print, html);
  return token === undefined ? undefined : origin + previewPath + token;
}

/** What a client that shows views is given besides the page of the result. */
async function drawView(
  asked: JsonObject,
  device: Platform,
  html: string,
  call: Call,
): Promise<JsonObject> {
  const others = platforms.filter((platform) => platform !== device);
  const [changes, ...drawn] = await Promise.all([
    readIfPossible(compareWithLive(asked, call)),
    ...others.map((platform) =>
      readIfPossible(call.askFree(preview, { ...asked, user_agent: userAgents[platform] })),
    ),
  ]);
  const pages = others.map((platform, index) => [platform, drawn[index]]);
  return { device, pages: { ...Object.fromEntries(pages), [device]: html }, changes };
}

type ShownChange = { readonly name: string; readonly text: string };

async function compareWithLive(given: JsonObject, call: Call): Promise<readonly ShownChange[]> {
  const { live, draft } = await readState(call);
  const seen = await findSeen(live, { ...draft, ...pickText(given) }, call);
  return describeChanges(seen.now, seen.next).map((fact) => {
    return { name: fact.name, text: writeFactText(fact) };
  });
}
