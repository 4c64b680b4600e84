/** Thrown for a plan that must be made again, for example because it is too old. */
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
