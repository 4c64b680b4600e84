import * as z from "zod";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { describeIds, findKind } from "../../../contract/resource-kind.ts";
import { previewPath } from "../../previews/preview-pages.ts";
import type { CallProblem } from "../../results/call-problem.ts";
import { presentBody } from "../../results/present-body.ts";
import type { Addition, Call } from "../tool.ts";
import { attachTemplateView } from "./attach-view.ts";
import { platforms, userAgents, type Platform } from "./user-agents.ts";
import { templateView } from "./view-resource.ts";

/** `preview_template`: a page for a person to look at, for no model sees how HTML looks. */

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
  const { html: isWanted, platform = usual, ...asked } = given;
  // The argument was checked by the schema above.
  const device = platform as Platform;
  const body: unknown = await call.ask(preview, { ...asked, user_agent: userAgents[device] });
  // So the body of this endpoint is presented.
  const { html, ...unread } = presentBody(preview, body as JsonObject) as Page;
  await attachTemplateView(asked, { device, html }, call);
  const preview_url = await openInBrowser(html, call);
  return {
    ...(preview_url !== undefined && { preview_url }),
    ...((isWanted === true || preview_url === undefined) && { html }),
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
