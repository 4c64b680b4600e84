import { budgets } from "../../../src/contract/limits.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { links } from "../../../src/contract/links.ts";
import type { SimPlan } from "./planned.ts";
import { missingId, type Model } from "./stage.ts";
import { draftFields } from "./wanted.ts";

/** Other users who work in the same project, mostly on the planned links. */

const mostSpent = budgets.link_writes.limit;
/** Much shorter than the lifetime of a plan. */
const mostJump_ms = 15 * 60_000;

export async function plantLinks(stage: Model): Promise<void> {
  const { chance, time } = stage;
  // Small projects are more likely, and their seeds are fast.
  const count = Math.min(chance.between(0, 30), chance.between(0, 30));
  for (let index = 0; index < count; index += 1) {
    // Each link has its own millisecond, so that their order is known.
    await time.drive(time.sleep(1));
    const body = { path: `old-${index}`, ...draftFields(chance) };
    await time.drive(stage.askAsOther("POST", "/links", body));
  }
}

export async function editAsOtherUser(stage: Model, { rows }: SimPlan): Promise<void> {
  const { chance, truth, askAsOther, figures } = stage;
  const planned = rows.filter(({ action }) => action !== "unchanged" && action !== "conflict");
  const row = chance.shuffle(planned)[0];
  const isPlanned = row !== undefined && chance.isLikely(0.75);
  const any = chance.shuffle([...truth.links.values()])[0];
  const link = isPlanned
    ? (truth.links.get(row.link_id ?? "") ?? truth.findAt(row.path ?? ""))
    : any;
  figures.add("acts of others");
  switch (chance.pick(["edit", "edit", "same", "delete", "create", "move"])) {
    case "edit":
      if (link) await askAsOther("PATCH", `/links/${link.id}`, draftFields(chance));
      return;
    case "same":
      // Another user makes exactly the planned change.
      if (link) await askAsOther("PATCH", `/links/${link.id}`, row?.fields ?? {});
      return;
    case "delete":
      if (link) await askAsOther("DELETE", `/links/${link.id}`);
      return;
    case "create":
      await askAsOther("POST", "/links", { ...draftFields(chance), path: choosePlace(stage, row) });
      return;
    case "move":
      if (link) await askAsOther("PATCH", `/links/${link.id}`, { path: choosePlace(stage, row) });
      return;
  }
}

/** Uses up most of the key's budget, as another user of the same key would. */
export async function spendBudget(stage: Model): Promise<void> {
  const { chance, time, figures } = stage;
  const { call } = stage.start().owner;
  const count = chance.between(mostSpent - 30, mostSpent);
  figures.add("budgets spent");
  // The service counts a request before it looks up the link.
  const calls = Array.from({ length: count }, () =>
    call(links.update, { id: missingId, name: "x" }).catch(() => undefined),
  );
  await time.drive(Promise.all(calls));
}

export function scheduleJump(stage: Model, within_ms: number): void {
  const { chance, time, service, figures, note } = stage;
  const jump_ms = chance.between(-mostJump_ms, mostJump_ms);
  time.setTimer(
    () => {
      figures.add("clock jumps");
      note(`the clock is ${jump_ms} ms ahead now`);
      service.setAhead(jump_ms);
    },
    chance.between(0, within_ms),
  );
}

function choosePlace(
  { chance }: Model,
  row: { readonly path: string | null; readonly fields: JsonObject | null } | undefined,
): string {
  const wanted = row?.fields?.["path"] ?? row?.path;
  if (typeof wanted === "string" && chance.isLikely(0.6)) return wanted;
  return `other-${chance.between(1, 1000)}`;
}
