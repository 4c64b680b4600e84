/** Thrown for a plan that is too old, or was made for another server. */
export class PlanExpired extends Error {
  override readonly name = "PlanExpired";
}

/**
 * Thrown for a plan with invalid rows, which is never applied partially, because the user may not
 * want only that part.
 */
export class FaultyPlan extends Error {
  override readonly name = "FaultyPlan";
}
