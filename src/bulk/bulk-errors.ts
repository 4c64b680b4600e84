/** The key reaches another project than the plan was made in, or none of its links any more. */
export class OtherProject extends Error {
  override readonly name = "OtherProject";
}

/** What the plan was made of is too long ago. */
export class PlanExpired extends Error {
  override readonly name = "PlanExpired";
}

/** A row that cannot be done is mended first: a part of what somebody meant is something else. */
export class FaultyPlan extends Error {
  override readonly name = "FaultyPlan";
}
