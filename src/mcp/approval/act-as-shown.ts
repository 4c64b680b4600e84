import { digestOf } from "../../text/digest.ts";
import { isChanged, isRefused, refuseChanged } from "../results/tool-failure.ts";
import { uncounted, type ApprovedOverwrite } from "./approve-overwrite.ts";

/** From a call that writes to its act, which is carried out on what was shown. */
type Steps<Act, Result> = {
  readonly prepare: () => Promise<Act>;
  readonly approve: (act: Act) => Promise<ApprovedOverwrite>;
  readonly carryOut: (act: Act) => Promise<Result>;
};

/** A target that changes again and again while somebody approves of an act on it is left alone. */
const mostTries = 4;

export async function actAsShown<Act, Result>(steps: Steps<Act, Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    const act = await steps.prepare();
    let overwrite = uncounted;
    try {
      overwrite = await steps.approve(act);
      const result = await steps.carryOut(act);
      await overwrite.end(true);
      return result;
    } catch (error) {
      await overwrite.end(!isRefused(error));
      // What was shown is not there any more: this would be another act, so it begins anew.
      if (!isChanged(error) || tries === mostTries) throw error;
    }
  }
}

type Looking = {
  readonly tool: string;
  readonly shown: unknown;
  readonly readNow: () => Promise<unknown>;
};

/**
 * A deployment that checks no conditions is read once more right before the act. What happens
 * between this reading and the act stays unseen there.
 */
export async function requireShown(
  { checksConditions }: { readonly checksConditions: boolean },
  { tool, shown, readNow }: Looking,
): Promise<void> {
  if (checksConditions) return;
  if (digestOf(await readNow()) !== digestOf(shown)) throw refuseChanged(tool);
}
