import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { isSame } from "../../../contract/rules/writable-fields.ts";
import type { Effect } from "../../../state/history.ts";
import { describeLost, type Step, type StepPlan } from "../../../bulk/plan/undo-step.ts";

/**
 * What puts the links' page back: what is live first, for to publish replaces the draft, and then
 * the draft. There is no way to take a draft away but to empty it.
 */

const { save, publish, unpublish } = contract.pageTemplate;

/** `now` has no member for what the key may not read. */
export function planTemplate({ kind, id, before, after }: Effect, now: JsonObject): StepPlan {
  if ((before ?? null) === null || id === null) return { why: unread };
  const wanted = { ...now, ...before };
  if (!["body", "css", "live"].every((name) => name in wanted && name in now)) {
    return { why: unread };
  }
  const names = Object.keys(before ?? {}).filter((name) => !isSame(wanted[name], now[name]));
  const edited = names.filter((name) => !isSame(after?.[name], now[name]));
  const shared = { kind, id, lost: describeLost(edited, now, wanted) };
  const steps: Step[] = [];
  let current = now;
  const go = (endpoint: Step["endpoint"], input: JsonObject, next: JsonObject) => {
    steps.push({ ...shared, endpoint, input, now: current, wanted: next });
    current = next;
  };
  const live = wanted["live"] as JsonObject | null;
  if (!isSame(live, now["live"])) {
    if (live === null) go(unpublish, {}, { ...current, live });
    else go(publish, live, { ...current, ...live, live });
  }
  const { body, css } = wanted;
  const isDraft = isSame(body, current["body"]) && isSame(css, current["css"]);
  if (!isDraft) go(save, { body, css }, { ...current, body, css });
  return { steps };
}

const unread = "This key cannot read the whole page template, so it cannot be restored.";
