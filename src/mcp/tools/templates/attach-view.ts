import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { writeFactText } from "../../approval/approval-request.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { describeChanges, findSeen } from "./preview-publication.ts";
import { pickText, readState } from "./template-state.ts";
import { platforms, userAgents, type Platform } from "./user-agents.ts";

/** What a client that shows views is given beside the page of `preview_template`. */

const { preview } = contract.pageTemplate;

/** The result waits at most this long for the other pages that the view shows. */
const viewTimeout_ms = 5000;

export async function attachTemplateView(
  asked: JsonObject,
  { device, html }: Shown,
  call: Call,
): Promise<void> {
  if (!call.showsViews) return;
  const others = platforms.filter((platform) => platform !== device);
  const [changes, ...drawn] = await Promise.all([
    readInTime(compareWithLive(asked, call)),
    ...others.map((platform) =>
      readInTime(call.askFree(preview, { ...asked, user_agent: userAgents[platform] })),
    ),
  ]);
  const besides = others.map((platform, index) => [platform, drawn[index]]);
  call.attachView({ device, pages: { ...Object.fromEntries(besides), [device]: html }, changes });
}

/** The page of the result, and whom it is for. */
type Shown = { readonly device: Platform; readonly html: string };

type ShownChange = { readonly name: string; readonly text: string };

async function compareWithLive(given: JsonObject, call: Call): Promise<readonly ShownChange[]> {
  const text = pickText(given);
  const { live, draft } = await readState(call);
  const seen = await findSeen(live, { ...draft, ...text }, call);
  const changes = describeChanges(seen.now, seen.next);
  return changes.map((fact) => ({ name: fact.name, text: writeFactText(fact) }));
}

/** Undefined for what does not come in time, or fails: the page can be shown without it. */
async function readInTime<Value>(coming: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), viewTimeout_ms);
  });
  try {
    return await Promise.race([coming, late]);
  } catch (error) {
    if (error instanceof ToolFailure) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
