import type { Link } from "../../../src/contract/links.ts";
import type { Receipt } from "../../../src/state/job-runs.ts";
import type { PlanRow } from "../../../src/state/plans.ts";
import { isOvertaken, listOthers, readPlaces } from "./check-job.ts";
import type { SimPlan } from "./planned.ts";
import type { Model } from "./stage.ts";
import { isAlike, isSameLink } from "./truth.ts";

/** Checks what an undo plans and what it restores. */

export type UndoCheck = {
  readonly planned: SimPlan;
  readonly receipts: readonly Receipt[];
  readonly since: number;
  readonly before: ReadonlyMap<string, Link>;
};

/** Checks that done rows are undone from last to first, except those that others changed. */
export function checkUndoPlan(stage: Model, undone: UndoCheck, undoing: SimPlan): void {
  const { complain } = stage;
  const done = undone.receipts.filter(({ status }) => status === "done").toReversed();
  if (done.length !== undoing.rows.length) complain("the undo has other rows than were done");
  const undo = { create: "delete", update: "update", delete: "create" } as const;
  for (const [index, row] of done.entries()) {
    const found = undoing.rows[index]?.action;
    const name = undone.planned.name(row.position);
    const isOurs = listOthers(stage, { firstSince: undone.since }, row).length === 0;
    const isAsLeft = isLeftAlone(stage, undone, row);
    if (isOurs && found !== undo[row.action as keyof typeof undo]) {
      complain(`${name}, ${row.action}, would be undone as ${found}`);
    }
    if (!isAsLeft && found !== "conflict") complain(`${name} would be undone over others' work`);
  }
}

/** Whether a link is unchanged since its row was saved as done. */
function isLeftAlone({ truth, ended }: Model, { planned }: UndoCheck, row: PlanRow): boolean {
  const name = planned.name(row.position);
  const own = truth.writes.findLast((write) => write.row === name);
  if (own === undefined) return true;
  const left = truth.writes.findLast(
    ({ id, order }) => id === own.id && order < (ended.get(name) ?? 0),
  );
  return isSameLink(truth.links.get(own.id), (left ?? own).after);
}

export function checkRestored(stage: Model, { planned, since, before }: UndoCheck): void {
  const { truth, complain } = stage;
  const tainted = findTainted(stage, planned, since);
  for (const row of planned.rows.filter((each) => !tainted.has(each))) {
    const was = before.get(row.link_id ?? "");
    const name = planned.name(row.position);
    switch (row.action) {
      case "create":
        if (truth.findAt(row.path ?? "")) complain(`${name} is undone, but its link exists`);
        break;
      case "update":
        if (!isSameLink(truth.links.get(row.link_id ?? ""), was)) complain(`${name} is not undone`);
        break;
      case "delete":
        if (!isAlike(truth.findAt(row.path ?? ""), was)) complain(`${name} did not come back`);
        break;
      default:
    }
  }
}

/** Returns rows whose link or path others used, and rows that share a path with them. */
function findTainted(stage: Model, planned: SimPlan, since: number): ReadonlySet<PlanRow> {
  const { rows } = planned;
  const tainted = new Set(
    rows.filter(
      (row) =>
        listOthers(stage, { firstSince: since }, row).length > 0 ||
        isOvertaken(stage, { planned }, row),
    ),
  );
  for (let size = -1; size !== tainted.size;) {
    size = tainted.size;
    const places = new Set([...tainted].flatMap(readPlaces));
    for (const row of rows) {
      if (readPlaces(row).some((place) => places.has(place))) tainted.add(row);
    }
  }
  return tainted;
}
