/** The key reaches another project than the plan was made in, or none of its links any more. */
export class OtherProject extends Error {
  override readonly name = "OtherProject";
}

/** The plan is too old: the links that it was compared with may have changed. */
export class PlanExpired extends Error {
  override readonly name = "PlanExpired";
}

/** A plan with faulty rows is not applied in part: the part may not be what was meant. */
export class FaultyPlan extends Error {
  override readonly name = "FaultyPlan";
}

/** Too many plans or exports are made at once: the line is full, or it moved too slowly. */
export class LineBusy extends Error {
  override readonly name = "LineBusy";
  readonly retry_after_s: number;

  constructor(wait_ms: number) {
    super("Too many plans and exports are running at once; nothing was done.");
    this.retry_after_s = Math.ceil(wait_ms / 1000);
  }
}

/** The caller no longer waits for the work. */
export class WorkCancelled extends Error {
  override readonly name = "WorkCancelled";

  constructor() {
    super("The call was cancelled; nothing was changed.");
  }
}

export function throwIfCancelled({ aborted }: AbortSignal): void {
  if (aborted) throw new WorkCancelled();
}
