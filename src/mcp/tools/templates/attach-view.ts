import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { writeFactText } from "../../approval/approval-request.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { describeChanges } from "./preview-publication.ts";
import { pickText, readState } from "./template-state.ts";
import { userAgents } from "./user-agents.ts";

/** What a client that shows views is given beside the page of `preview_template`. */

const { preview } = contract.pageTemplate;

/** The result waits at most this long for the other pages that the view shows. */
const viewTimeout_ms = 5000;

export async function attachTemplateView(
  given: JsonObject,
  { html }: JsonObject,
  call: Call,
): Promise<void> {
  if (!call.showsViews) return;
  const [android, desktop, changes] = await Promise.all([
    readInTime(call.ask(preview, { ...given, user_agent: userAgents.android })),
    readInTime(call.ask(preview, { ...given, user_agent: userAgents.desktop })),
    readInTime(compareWithLive(given, call)),
  ]);
  call.attachView({ pages: { ios: html, android, desktop }, changes });
}

type ShownChange = { readonly name: string; readonly text: string };

async function compareWithLive(given: JsonObject, call: Call): Promise<readonly ShownChange[]> {
  const text = pickText(given);
  const { live, draft } = await readState(call);
  const changes = describeChanges(live, { ...draft, ...text });
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
