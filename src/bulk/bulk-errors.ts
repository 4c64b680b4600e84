/** Errors that stop the planning or applying of bulk changes. */

/** Thrown if a plan must be made again, for example because it is too old. */
export class PlanExpired extends Error {
  override readonly name = "PlanExpired";
}

/** Thrown if a plan has invalid rows. Such a plan is never applied partially. */
export class FaultyPlan extends Error {
  override readonly name = "FaultyPlan";
}
