import { budgets } from "../../../src/contract/limits.ts";
import type { Link } from "../../../src/contract/links.ts";
import type { Stage } from "./stage.ts";
import { isSameLink } from "./truth.ts";

/** Checks at the end of a seed. */

/** Checks that the service contains exactly the writes that were seen. */
export async function checkTruth({ time, truth, askAsOther, complain }: Stage): Promise<void> {
  const { body } = await time.drive(askAsOther("GET", "/links?limit=100"));
  // The lists of the service have this shape.
  const { links } = body as { readonly links: readonly Link[] };
  const isComplete = links.length === Math.min(100, truth.links.size);
  const isSame = links.every((link) => isSameLink(link, truth.links.get(link.id)));
  if (!isComplete || !isSame) complain("the service contains data that was not seen to be written");
}

/** Checks that no minute has more writes than the budget allows. */
export function checkBudget({ door, complain }: Stage): void {
  const { limit, window_ms } = budgets.link_writes;
  const over = door.counted.findIndex((at, index) => {
    const earlier = door.counted[index - limit];
    return earlier !== undefined && at - earlier < window_ms;
  });
  if (over >= 0) complain(`more than ${limit} writes came within a minute`);
}
