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
