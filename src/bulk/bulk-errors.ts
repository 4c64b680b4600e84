/** The key now belongs to another project, or none of the plan's links exist any more. */
export class OtherProject extends Error {
  override readonly name = "OtherProject";
}

/** The plan has expired, because its links may have changed since it was made. */
export class PlanExpired extends Error {
  override readonly name = "PlanExpired";
}

/**
 * A plan with invalid rows is never applied partially, because the user may not want only that
 * part.
 */
export class FaultyPlan extends Error {
  override readonly name = "FaultyPlan";
}
