/** Thrown if the key now belongs to another project, or none of the plan's links exist any more. */
export class OtherProject extends Error {
  override readonly name = "OtherProject";
}

/** Thrown for an old plan, because its links may have changed since it was made. */
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
